"""The life of a pod: gated, released, bound, deleted."""

import json
from typing import Any

import pytest

from shared import labels
from shared.kube import parse, paths, writes
from shared.kube.client import PatchKind
from shared.kube.errors import ConflictError, InvalidError, NotFoundError
from shared.model import NodeName, NodeSelectorTerm, Pod, Requirement
from tests.conformance.conftest import NODE, OTHER_UID, Server, ref

GATED = [{"name": labels.GATE}, {"name": "example.org/other"}]
PIN = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("node-1",)),))
SPARE = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("node-2",)),))
ZONE = Requirement("zone", "In", ("z",))
HOST = Requirement(labels.HOSTNAME_LABEL, "In", ("node-1", "node-2"))


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def term(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


async def read(server: Server, name: str = "a") -> Pod:
    return parse.decode_pod(await server.client.get(paths.pod(server.namespace, name)))


async def test_one_patch_releases_pins_and_annotates(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED)
    await writes.release(
        server.client,
        *ref(pod),
        gates=("example.org/other",),
        annotations={labels.NODE: NODE},
        terms=(PIN, SPARE),
        resource_version=pod["metadata"]["resourceVersion"],
    )
    released = await read(server)
    assert released.gates == ("example.org/other",)
    assert released.shape.affinity == (PIN, SPARE)
    assert released.annotations[labels.NODE] == NODE


async def test_the_condition_outlives_the_last_gate_until_a_scheduler_looks(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED)
    assert [c["reason"] for c in pod["status"]["conditions"]] == ["SchedulingGated"]
    await writes.release(server.client, *ref(pod), gates=(), annotations={})
    assert (await read(server)).gates == ()
    conditions = (await server.get("a"))["status"]["conditions"]
    assert [c["reason"] for c in conditions] == ["SchedulingGated"]


async def test_a_release_twice_is_a_release_once(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED)
    for _ in range(2):
        await writes.release(
            server.client, *ref(pod), gates=(), annotations={labels.NODE: NODE}, terms=None
        )
    assert (await read(server)).gates == ()


async def test_a_gate_is_removed_by_name(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED)
    body = {"spec": {"schedulingGates": [{"$patch": "delete", "name": labels.GATE}]}}
    await writes.patch_pod(server.client, *ref(pod), body, kind=PatchKind.STRATEGIC)
    assert (await read(server)).gates == ("example.org/other",)


async def test_a_gate_cannot_be_added(server: Server) -> None:
    pod = await server.pod("a")
    body = {"spec": {"schedulingGates": [{"name": labels.GATE}]}}
    with pytest.raises(InvalidError):
        await writes.patch_pod(server.client, *ref(pod), body)


async def test_a_term_may_be_narrowed_while_gated(server: Server) -> None:
    spec = affinity(term("zone", "z"))
    pod = await server.pod("a", schedulingGates=GATED, affinity=spec)
    terms = (NodeSelectorTerm(expressions=(ZONE, HOST)),)
    await writes.release(server.client, *ref(pod), gates=(), annotations={}, terms=terms)
    assert (await read(server)).shape.affinity == terms


WIDENINGS: dict[str, tuple[NodeSelectorTerm, ...]] = {
    "another term": (NodeSelectorTerm(expressions=(ZONE,)), PIN),
    "the requirement replaced": (PIN,),
    "the requirement moved": (NodeSelectorTerm(expressions=(HOST, ZONE)),),
}


@pytest.mark.parametrize("terms", WIDENINGS.values(), ids=WIDENINGS)
async def test_terms_may_only_be_narrowed(
    server: Server, terms: tuple[NodeSelectorTerm, ...]
) -> None:
    spec = affinity(term("zone", "z"))
    pod = await server.pod("a", schedulingGates=GATED, affinity=spec)
    with pytest.raises(InvalidError):
        await writes.release(server.client, *ref(pod), gates=(), annotations={}, terms=terms)


async def test_affinity_is_fixed_once_the_gates_are_gone(server: Server) -> None:
    pod = await server.pod("a")
    with pytest.raises(InvalidError):
        await writes.release(server.client, *ref(pod), gates=(), annotations={}, terms=(PIN,))


async def test_a_node_selector_may_grow_while_gated(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED, nodeSelector={"zone": "z"})
    body = {"spec": {"nodeSelector": {"rack": "r"}}}
    await writes.patch_pod(server.client, *ref(pod), body)
    assert (await read(server)).shape.node_selector == (("rack", "r"), ("zone", "z"))
    with pytest.raises(InvalidError):
        await writes.patch_pod(server.client, *ref(pod), {"spec": {"nodeSelector": {"zone": "y"}}})


async def test_the_rest_of_the_spec_is_fixed(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED)
    with pytest.raises(InvalidError):
        await writes.patch_pod(server.client, *ref(pod), {"spec": {"priorityClassName": "other"}})


async def test_a_binding_binds_and_annotates(server: Server) -> None:
    pod = await server.pod("a", metadata={"annotations": {"mine": "1", "both": "1"}})
    await writes.bind(server.client, *ref(pod), NODE, {"decision": "{}", "both": "2"})
    bound = await read(server)
    assert bound.node_name == NODE
    live = json.loads(await server.client.get(paths.pod(server.namespace, "a")))
    assert live["metadata"]["annotations"] == {"mine": "1", "both": "2", "decision": "{}"}
    assert bound.scheduled_at > 0
    assert bound.phase == "Pending"


async def test_a_bound_pod_is_not_bound_again(server: Server) -> None:
    pod = await server.pod("a")
    await writes.bind(server.client, *ref(pod), NODE)
    with pytest.raises(ConflictError, match="already assigned"):
        await writes.bind(server.client, *ref(pod), NodeName("node-2"))
    assert (await read(server)).node_name == NODE


async def test_a_gated_pod_is_not_bound(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=GATED)
    with pytest.raises(ConflictError, match="schedulingGates"):
        await writes.bind(server.client, *ref(pod), NODE)


async def test_another_pod_of_the_name_is_not_bound(server: Server) -> None:
    key, _ = ref(await server.pod("a"))
    with pytest.raises(ConflictError):
        await writes.bind(server.client, key, OTHER_UID, NODE)
    assert (await read(server)).node_name is None


async def test_a_missing_pod_is_not_bound(server: Server) -> None:
    key, uid = ref(await server.pod("a"))
    await writes.delete_pod(server.client, key, uid)
    with pytest.raises(NotFoundError):
        await writes.bind(server.client, key, uid, NODE)


async def test_a_pod_being_deleted_is_not_bound(server: Server) -> None:
    pod = await server.pod("a", metadata={"finalizers": ["example.org/hold"]})
    await writes.delete_pod(server.client, *ref(pod))
    assert (await read(server)).deleting
    with pytest.raises(ConflictError, match="being deleted"):
        await writes.bind(server.client, *ref(pod), NODE)
    await writes.patch_pod(server.client, *ref(pod), {"metadata": {"finalizers": None}})
    with pytest.raises(NotFoundError):
        await read(server)


async def test_another_pod_of_the_name_is_not_deleted(server: Server) -> None:
    key, _ = ref(await server.pod("a"))
    with pytest.raises(ConflictError):
        await writes.delete_pod(server.client, key, OTHER_UID)
    assert (await read(server)).deleting is False


async def test_a_bound_pod_stays_until_its_node_lets_go(server: Server) -> None:
    pod = await server.pod("a", terminationGracePeriodSeconds=17)
    await writes.bind(server.client, *ref(pod), NODE)
    await writes.delete_pod(server.client, *ref(pod))
    assert (await read(server)).deleting
    assert (await server.get("a"))["metadata"]["deletionGracePeriodSeconds"] == 17
    await writes.delete_pod(server.client, *ref(pod), grace_seconds=0)
    with pytest.raises(NotFoundError):
        await read(server)


async def test_an_unbound_pod_goes_at_once(server: Server) -> None:
    pod = await server.pod("a")
    await writes.delete_pod(server.client, *ref(pod))
    with pytest.raises(NotFoundError):
        await read(server)
