"""Creating, reading, listing, patching and deleting, as our code expects them."""

import pytest

from shared import labels
from shared.kube import parse, paths, writes
from shared.kube.client import PatchKind
from shared.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NotFoundError,
)
from shared.model import OwnerReference, Uid
from tests.conformance.conftest import OTHER_UID, Server, ref

GATED = [{"name": labels.GATE}]
LEASE = {"holderIdentity": "me_1", "leaseDurationSeconds": 15}


async def test_a_created_object_gets_uid_version_and_time(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED)
    parsed = parse.decode_pod(await server.client.get(paths.pod(server.namespace, "a")))
    assert parsed.uid == pod["metadata"]["uid"] != ""
    assert parsed.resource_version == pod["metadata"]["resourceVersion"]
    assert parsed.created_at > 0
    assert parsed.phase == "Pending"
    assert parsed.gates == (labels.GATE,)
    assert parsed.scheduler_name == "default-scheduler"


async def test_limits_become_requests_where_there_are_none(server: Server) -> None:
    resources = {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "100m"}}
    containers = [{"name": "main", "image": "none", "resources": resources}]
    await server.pod("a", containers=containers)
    parsed = parse.decode_pod(await server.client.get(paths.pod(server.namespace, "a")))
    assert dict(parsed.shape.requests) == {"cpu": 100, "memory": 2**30, "pods": 1}


async def test_generated_names_differ(server: Server) -> None:
    metadata = {"name": "", "generateName": "twin-"}
    twins = [await server.pod(metadata=metadata) for _ in range(2)]
    names = {twin["metadata"]["name"] for twin in twins}
    assert len(names) == 2
    assert all(name.startswith("twin-") for name in names)


async def test_a_second_object_of_the_same_name_is_refused(server: Server) -> None:
    await server.pod("a")
    with pytest.raises(AlreadyExistsError):
        await server.pod("a")


async def test_a_missing_object_is_not_found(server: Server) -> None:
    with pytest.raises(NotFoundError) as caught:
        await server.get("missing")
    assert caught.value.status == 404
    assert caught.value.reason == "NotFound"
    assert "missing" in caught.value.message


async def test_pages_together_are_the_collection_of_one_moment(server: Server) -> None:
    for name in "abcde":
        await server.pod(name)
    page = await server.listed(limit="2")
    version, names = page["metadata"]["resourceVersion"], []
    await server.pod("ab")
    while True:
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue")
        if not token:
            break
        page = await server.listed(**{"limit": "2", "continue": token})
        assert page["metadata"]["resourceVersion"] == version
    assert names == ["a", "b", "c", "d", "e"]


async def test_version_zero_lists_without_a_moment(server: Server) -> None:
    await server.pod("a")
    assert "resourceVersion" in (await server.listed(resourceVersion="0"))["metadata"]


SELECTORS = {
    "label": ({"labelSelector": "job=j"}, ["a"]),
    "no label": ({"labelSelector": "!job"}, ["c"]),
    "other label": ({"labelSelector": "job!=j"}, ["b", "c"]),
    "one of": ({"labelSelector": "job in (j, k)"}, ["a", "b"]),
    "name": ({"fieldSelector": "metadata.name=b"}, ["b"]),
    "unbound": ({"fieldSelector": "spec.nodeName="}, ["a", "b", "c"]),
    "phase": ({"fieldSelector": "status.phase!=Pending"}, []),
    "scheduler": ({"fieldSelector": "spec.schedulerName=shuntyard"}, []),
}


@pytest.mark.parametrize(("params", "names"), SELECTORS.values(), ids=SELECTORS)
async def test_selectors_select(server: Server, params: dict[str, str], names: list[str]) -> None:
    await server.pod("a", metadata={"labels": {"job": "j"}})
    await server.pod("b", metadata={"labels": {"job": "k"}})
    await server.pod("c")
    found = await server.listed(**params)
    assert [item["metadata"]["name"] for item in found["items"]] == names


async def test_a_patch_that_changes_nothing_makes_no_version(server: Server) -> None:
    pod = await server.pod("a", metadata={"labels": {"job": "j"}})
    body = {"metadata": {"labels": {"job": "j"}}}
    await writes.patch_pod(server.client, *ref(pod), body)
    after = await server.get("a")
    assert after["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]


async def test_a_patch_for_another_uid_is_a_conflict(server: Server) -> None:
    key, _ = ref(await server.pod("a"))
    body = {"metadata": {"labels": {"job": "j"}}}
    with pytest.raises(ConflictError):
        await writes.patch_pod(server.client, key, OTHER_UID, body)


async def test_a_patch_of_an_old_version_is_a_conflict(server: Server) -> None:
    pod = await server.pod("a")
    body = {"metadata": {"labels": {"job": "j"}}}
    version = pod["metadata"]["resourceVersion"]
    await writes.patch_pod(server.client, *ref(pod), body, resource_version=version)
    body = {"metadata": {"labels": {"job": "k"}}}
    with pytest.raises(ConflictError):
        await writes.patch_pod(server.client, *ref(pod), body, resource_version=version)


async def test_a_patch_of_a_missing_pod_is_not_found(server: Server) -> None:
    key, uid = ref(await server.pod("a"))
    await writes.delete_pod(server.client, key, uid)
    with pytest.raises(NotFoundError):
        await writes.patch_pod(server.client, key, uid, {"metadata": {"labels": {"job": "j"}}})


async def test_a_merge_patch_removes_a_field_with_null(server: Server) -> None:
    pod = await server.pod("a", metadata={"annotations": {"keep": "1", "drop": "1"}})
    body = {"metadata": {"annotations": {"drop": None}}}
    await writes.patch_pod(server.client, *ref(pod), body)
    assert (await server.get("a"))["metadata"]["annotations"] == {"keep": "1"}


async def test_a_json_patch_tests_first(server: Server) -> None:
    pod = await server.pod("a")
    path = paths.pod(server.namespace, "a")
    label = {"op": "add", "path": "/metadata/labels", "value": {"job": "j"}}
    wrong = {"op": "test", "path": "/metadata/uid", "value": OTHER_UID}
    right = {"op": "test", "path": "/metadata/uid", "value": pod["metadata"]["uid"]}
    with pytest.raises(InvalidError):
        await server.client.patch(path, [wrong, label], kind=PatchKind.JSON)
    await server.client.patch(path, [right, label], kind=PatchKind.JSON)
    assert (await server.get("a"))["metadata"]["labels"] == {"job": "j"}


async def test_apply_creates_and_then_changes(server: Server) -> None:
    path = paths.namespaced("/api/v1/configmaps", server.namespace, "c")
    for value in ("1", "2"):
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c"},
            "data": {"k": value},
        }
        params = {"fieldManager": "shuntyard-test"}
        await server.client.patch(path, body, kind=PatchKind.APPLY, params=params)
    assert (await server.get("c", "/api/v1/configmaps"))["data"] == {"k": "2"}


async def test_a_condition_is_set_and_the_spec_left_alone(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED)
    for reason in ("NoRoom", "GangDoesNotFit"):
        await writes.patch_pod_condition(
            server.client,
            *ref(pod),
            type=labels.QUEUED_CONDITION,
            status="True",
            reason=reason,
            message="for people",
            at=1_700_000_000.0,
        )
    parsed = parse.decode_pod(await server.client.get(paths.pod(server.namespace, "a")))
    assert parsed.queued_reason == "GangDoesNotFit"
    assert parsed.gates == (labels.GATE,)
    types = [c["type"] for c in (await server.get("a"))["status"]["conditions"]]
    assert sorted(types) == ["PodScheduled", labels.QUEUED_CONDITION]


async def test_a_condition_for_another_uid_is_a_conflict(server: Server) -> None:
    key, _ = ref(await server.pod("a"))
    with pytest.raises(ConflictError):
        await writes.patch_pod_condition(
            server.client, key, OTHER_UID, type="T", status="True", reason="R", message="", at=1.0
        )


async def test_the_status_is_not_changed_through_the_spec(server: Server) -> None:
    pod = await server.pod("a")
    body = {"status": {"phase": "Failed"}, "metadata": {"labels": {"job": "j"}}}
    await writes.patch_pod(server.client, *ref(pod), body)
    assert (await server.get("a"))["status"]["phase"] == "Pending"


async def test_an_event_is_written_about_an_object(server: Server) -> None:
    pod = await server.pod("a")
    await writes.create_event(
        server.client,
        namespace=server.namespace,
        about=OwnerReference("v1", "Pod", "a", Uid(pod["metadata"]["uid"])),
        reason="GangDoesNotFit",
        note="x" * 2000,
        warning=True,
        action="Waiting",
        controller="shuntyard.io/extender",
        instance="host-1",
        at=1_700_000_000.25,
    )
    (event,) = (await server.listed(paths.EVENTS))["items"]
    assert event["reason"] == "GangDoesNotFit"
    assert event["regarding"]["name"] == "a"
    assert event["eventTime"] == "2023-11-14T22:13:20.250000Z"
    assert event["type"] == "Warning"


async def test_an_event_without_a_reporter_is_invalid(server: Server) -> None:
    body = {
        "metadata": {"generateName": "a."},
        "eventTime": "2023-11-14T22:13:20.250000Z",
        "type": "Normal",
        "reason": "R",
        "action": "A",
        "regarding": {"kind": "Pod", "namespace": server.namespace, "name": "a"},
    }
    with pytest.raises(InvalidError):
        await server.create(paths.EVENTS, body)


async def test_a_lease_is_replaced_by_version(server: Server) -> None:
    lease = await server.create(paths.LEASES, {"metadata": {"name": "l"}, "spec": LEASE})
    path = paths.lease(server.namespace, "l")
    renewed = {**lease, "spec": {**LEASE, "renewTime": "2023-11-14T22:13:20.250000Z"}}
    await server.client.put(path, renewed)
    with pytest.raises(ConflictError):
        await server.client.put(path, {**lease, "spec": {**LEASE, "holderIdentity": "you_1"}})
    assert (await server.get("l", paths.LEASES))["spec"]["holderIdentity"] == "me_1"


async def test_a_collection_is_deleted_by_one_request(server: Server) -> None:
    for name in "ab":
        await server.pod(name)
    await server.client.delete(paths.pods(server.namespace), grace_seconds=0)
    assert (await server.listed())["items"] == []


async def test_a_namespace_must_exist(server: Server) -> None:
    body = {"metadata": {"name": "c"}}
    with pytest.raises(NotFoundError):
        await server.client.post(paths.namespaced("/api/v1/configmaps", "nowhere"), body)
