"""The objects of the kind Migration: creation, status, removal and validation."""

import copy
import json
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from devcluster import api
from devcluster.credentials.bootstrap import deploy_manifests
from shared.kube import migrations, moving, paths
from shared.kube.client import _Call
from shared.kube.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    ThrottledError,
)
from shared.model import Migration, MigrationPhase, Requirement, Toleration, Uid
from tests.conformance.conftest import OTHER_UID, PATIENCE_SECONDS, REAL, Server, loaded
from tests.fakes.builders import make_owner, make_shape, make_term
from tests.fakes.eventually import eventually
from tests.fakes.migrations import make_member, make_migration

P = MigrationPhase
TEMPLATE = {"spec": {"containers": [{"name": "main", "anything": {"deep": [1, None, "x"]}}]}}


@pytest.fixture(autouse=True)
async def kinds(server: Server) -> None:
    """Define Migrations in the real server (the fake has them), and create their Job."""
    if server.cluster is not None:
        await api.apply(server.client, deploy_manifests("base/crd.yaml"))
        await eventually(lambda: _is_served(server), PATIENCE_SECONDS)
    await server.job("job")


async def _is_served(server: Server) -> bool:
    try:
        return bool(await server.client.get(paths.MIGRATIONS))
    except (NotFoundError, ThrottledError):  # its storage is being made ready
        return False


def wanted(server: Server, **fields: Any) -> Migration:
    """A migration with everything in its spec."""
    shape = make_shape(
        requests={"nvidia.com/gpu": "1"},
        node_selector={"zone": "z"},
        affinity=[make_term(Requirement("rack", "In", ("r",)))],
        tolerations=[Toleration("k", "Exists", "", "NoSchedule")],
        host_ports=[80],
    )
    member = make_member("pod-0", shape=shape, index=3)
    owner = make_owner("job", uid=str(server.job_uid))
    made = make_migration(
        member, owner=owner, why="because", gain_seconds=1.5, cost_seconds=2.0, **fields
    )
    return with_fields(made, namespace=server.namespace)


async def made(server: Server, **fields: Any) -> Migration:
    answer = await moving.create_migration(
        server.client, wanted(server, **fields), {Uid("default-pod-0"): TEMPLATE}
    )
    assert answer is not None
    return migrations.decode(answer)


async def read(server: Server, one: Migration) -> Migration:
    return migrations.decode(await server.client.get(paths.migration(one.namespace, one.name)))


def with_status(one: Migration) -> Migration:
    """The same with everything in its status."""
    member = with_fields(
        one.members[0],
        replacement="pod-1",
        replacement_uid="uid-1",
        node="b",
        acked_step=0,
        ack_bytes=7,
        ack_seconds=0.25,
        resumed_step=2**40,
    )
    return with_fields(
        one,
        phase=P.RESUMING,
        reason="DisruptionBudget",
        message="words",
        request="request-1",
        deadline=1000.5,
        ask_until=1001.25,
        hold_until=1002.125,
        transitions=((P.REQUESTED, 999.0), (P.RESUMING, 999.000001)),
        members=(member,),
    )


async def test_a_migration_comes_back_as_it_was_written(server: Server) -> None:
    one = await made(server)
    assert one.created_at > 0
    sent = migrations.manifest(wanted(server), {Uid("default-pod-0"): TEMPLATE})
    assert one.digest == migrations.digest(sent["spec"]), "or its signature would not verify"
    blank = {"uid": Uid(""), "resource_version": "", "created_at": 0.0, "digest": ""}
    expected = with_fields(wanted(server), **blank)
    assert with_fields(one, **blank) == expected
    raw = loaded(await server.client.get(paths.migration(one.namespace, one.name)))
    assert raw["spec"]["members"][0]["template"] == TEMPLATE
    assert raw["metadata"]["ownerReferences"][0]["uid"] == server.job_uid


async def test_the_name_of_a_migration_is_taken_once(server: Server) -> None:
    await made(server)
    assert await moving.create_migration(server.client, wanted(server), {}) is None


async def test_a_status_comes_back_as_it_was_written_and_changes_no_spec(server: Server) -> None:
    one = with_status(await made(server))
    answer = migrations.decode(await moving.write_status(server.client, one))
    assert with_fields(answer, resource_version=one.resource_version) == one
    assert await read(server, one) == answer
    calm = with_fields(answer, phase=P.COMPLETED, reason="", message="", deadline=0.0)
    again = migrations.decode(await moving.write_status(server.client, calm))
    assert (again.reason, again.message, again.deadline) == ("", "", 0.0)


async def test_a_status_is_not_written_over_another(server: Server) -> None:
    one = await made(server)
    await moving.write_status(server.client, with_status(one))
    with pytest.raises(ConflictError):
        await moving.write_status(server.client, with_fields(one, phase=P.ABORTED))
    with pytest.raises(ConflictError):
        await moving.write_status(server.client, with_fields(one, uid=OTHER_UID))
    assert (await read(server, one)).phase is P.RESUMING


async def test_a_status_in_a_created_object_is_dropped(server: Server) -> None:
    body = migrations.manifest(wanted(server)) | {"status": {"phase": "Evicting"}}
    await server.client.post(paths.migrations(server.namespace), body)
    assert (await read(server, wanted(server))).phase is P.REQUESTED


async def test_only_the_migration_that_was_read_is_removed(server: Server) -> None:
    one = await made(server)
    await moving.write_status(server.client, with_status(one))
    with pytest.raises(ConflictError):
        await moving.remove_migration(server.client, one)
    await moving.remove_migration(server.client, await read(server, one))
    with pytest.raises(NotFoundError):
        await read(server, one)


NONSENSE: dict[str, dict[str, Any]] = {
    "no members": {"members": []},
    "an unknown trigger": {"trigger": "whim"},
    "an unknown mover": {"mover": "push"},
    "a job that is no key": {"job": "just-a-name"},
    "an amount below zero": {"members": [{"requests": {"cpu": -1}}]},
    "an amount that is a text": {"members": [{"requests": {"cpu": "1"}}]},
    "a member without a target": {"members": [{"target": None}]},
    "the same pod twice": {"members": [{}, {}]},
    "a port out of range": {"members": [{"hostPorts": [{"ip": "", "protocol": "", "port": 0}]}]},
}


@REAL
@pytest.mark.parametrize("changes", NONSENSE.values(), ids=NONSENSE)
async def test_the_schema_refuses_invalid_values(server: Server, changes: dict[str, Any]) -> None:
    body = copy.deepcopy(migrations.manifest(wanted(server)))
    template = body["spec"]["members"][0]
    members = [{**template, **member} for member in changes.get("members", [{}])]
    body["spec"] |= {**changes, "members": members}
    with pytest.raises(InvalidError):
        await server.client.post(paths.migrations(server.namespace), body)


@REAL
async def test_the_schema_refuses_an_unknown_phase(server: Server) -> None:
    one = await made(server)
    path = paths.migration(one.namespace, one.name, "status")
    with pytest.raises(InvalidError):
        await server.client.patch(path, {"status": {"phase": "Dancing"}})


@REAL
async def test_a_spec_does_not_change(server: Server) -> None:
    one = await made(server)
    path = paths.migration(one.namespace, one.name)
    for change in ({"job": "a/b/c"}, {"mover": "suspend"}, {"trigger": "count"}):
        with pytest.raises(InvalidError, match="does not change"):
            await server.client.patch(path, {"spec": change})


@REAL
async def test_kubectl_shows_the_phase(server: Server) -> None:
    await moving.write_status(server.client, with_status(await made(server)))
    path = f"{paths.migrations(server.namespace)}?limit=1"
    assert server.client is not None
    table = await _table(server, path)
    names = [column["name"] for column in table["columnDefinitions"]]
    cells = dict(zip(names, table["rows"][0]["cells"], strict=True))
    assert (cells["From"], cells["To"], cells["Phase"]) == ("a", "b", "Resuming")
    assert (cells["Saved"], cells["Resumed"]) == (0, 2**40)


async def _table(server: Server, path: str) -> dict[str, Any]:
    """Read as kubectl does; our client has no use for it."""
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    async with await server.client._open(_Call("GET", path, headers=headers)) as response:
        return json.loads(await response.read())
