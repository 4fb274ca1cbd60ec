"""Claims and volumes: the fields that we read are the ones that the API server keeps."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from shared.kube import parse, paths
from shared.kube.errors import NotFoundError
from shared.model import NodeSelectorTerm, Requirement
from tests.conformance.conftest import Server, loaded

AMOUNT = {"storage": "1Gi"}
LINE = {"key": "zone", "operator": "In", "values": ["a", "b"]}
VOLUME: dict[str, Any] = {
    "capacity": AMOUNT,
    "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
    "storageClassName": "without-provisioner",
    "hostPath": {"path": "/nowhere"},
}


@pytest.fixture
async def volume_name(server: Server) -> AsyncIterator[str]:
    """Return a name that no volume has; its volume is deleted after the test."""
    yield f"of-{server.namespace}"
    with suppress(NotFoundError):
        await server.client.delete(f"{paths.VOLUMES}/of-{server.namespace}", grace_seconds=0)


async def test_a_new_claim_is_unbound_and_has_its_access_modes(server: Server) -> None:
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "unknown",
        "resources": {"requests": AMOUNT},
    }
    await server.create(paths.VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    made = await server.client.get(paths.namespaced(paths.VOLUME_CLAIMS, server.namespace, "c"))
    claim = parse.decode_volume_claim(made)
    assert (claim.key, claim.volume, claim.many_nodes) == (f"{server.namespace}/c", "", True)
    assert claim.uid == loaded(made)["metadata"]["uid"] != ""
    assert claim.created_at > 0
    assert not claim.deleting


@pytest.mark.parametrize(
    ("more", "affinity"),
    [
        ({}, None),
        (
            {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [LINE]}]}}},
            (NodeSelectorTerm((Requirement("zone", "In", ("a", "b")),)),),
        ),
    ],
    ids=["without affinity", "with affinity"],
)
async def test_a_volume_keeps_the_nodes_that_reach_it(
    server: Server,
    volume_name: str,
    more: dict[str, Any],
    affinity: tuple[NodeSelectorTerm, ...] | None,
) -> None:
    body = {"metadata": {"name": volume_name}, "spec": VOLUME | more}
    await server.client.post(paths.VOLUMES, body)
    volume = parse.decode_volume(await server.client.get(f"{paths.VOLUMES}/{volume_name}"))
    assert (volume.key, volume.affinity, volume.zonal) == (volume_name, affinity, False)


async def test_claims_of_all_namespaces_are_listed_together(server: Server) -> None:
    body = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": AMOUNT}},
    }
    await server.create(paths.VOLUME_CLAIMS, body)
    listed = loaded(await server.client.get(paths.VOLUME_CLAIMS))["items"]
    ours = [one for one in listed if one["metadata"]["namespace"] == server.namespace]
    assert [one["metadata"]["name"] for one in ours] == ["c"]
