"""What is observed: rooms, jobs, reservations, and deltas that come late, twice or out of order."""

import numpy as np
import pytest
from msgspec.structs import replace

from extender.store.invariants import InvariantError
from extender.store.store import ClusterStore
from extender.store.versions import MOST_REMEMBERED
from shared.model import Delete, HostPort, NodeName, Pod, PodKey, Replace, Uid, Upsert
from tests.fakes.builders import (
    make_gang,
    make_namespace,
    make_node,
    make_owner,
    make_pod,
    make_priority_class,
    make_quota,
    make_shape,
    reference_to,
)
from tests.fakes.reports import make_pod_report, make_report

TAKES = {
    "bound": (make_pod(node="node-0"), 1000),
    "bound by another scheduler": (make_pod(node="node-0", scheduler_name="other"), 1000),
    "bound and deleting": (make_pod(node="node-0", deleting=True), 1000),
    "bound and succeeded": (make_pod(node="node-0", phase="Succeeded"), 0),
    "bound and failed": (make_pod(node="node-0", phase="Failed"), 0),
    "bound somewhere else": (make_pod(node="node-9"), 0),
    "reserved": (make_pod(reservation="node-0"), 1000),
    "reserved elsewhere than bound": (make_pod(reservation="node-9", node="node-0"), 1000),
    "reserved, but still gated": (make_pod(reservation="node-0", gated=True), 0),
    "reserved, but not of our scheduler": (
        make_pod(reservation="node-0", scheduler_name="other"),
        0,
    ),
    "reserved, but can no longer be bound": (make_pod(reservation="node-0", deleting=True), 0),
    "reserved and failed before it was bound": (make_pod(reservation="node-0", phase="Failed"), 0),
    "gated": (make_pod(gated=True), 0),
    "waiting": (make_pod(), 0),
}


@pytest.mark.parametrize(("pod", "want_cpu"), TAKES.values(), ids=TAKES)
@pytest.mark.parametrize("node_first", [True, False], ids=["node first", "pod first"])
def test_a_pod_takes_room_while_it_is(store, pod: Pod, want_cpu: int, node_first: bool) -> None:
    deltas = [Upsert(make_node("node-0")), Upsert(pod)]
    for delta in deltas if node_first else reversed(deltas):
        store.apply(delta)
    room = store.snapshot().node_table
    assert room.used[0, room.resources.index("cpu")] == want_cpu
    assert room.used[0, room.resources.index("pods")] == bool(want_cpu)
    store.apply(Delete("Pod", pod.key, pod.uid))
    assert not store.snapshot().node_table.used.any()


def test_room_is_in_order_of_name_with_fixed_columns(store) -> None:
    store.apply(Upsert(make_node("b", allocatable={"nvidia.com/gpu": "4", "z": "1"})))
    store.apply(Upsert(make_node("a", allocatable={"hugepages-2Mi": "0"})))
    room = store.snapshot().node_table
    assert room.resources == ("cpu", "memory", "pods", "nvidia.com/gpu", "z")
    assert room.index == {"a": 0, "b": 1}
    assert [node.name for node in room.nodes] == ["a", "b"]
    assert room.allocatable.tolist() == [
        [8000, 32 * 2**30, 110, 0, 0],
        [8000, 32 * 2**30, 110, 4, 1],
    ]


def test_room_does_not_depend_on_the_order_of_events() -> None:
    nodes = [make_node(f"node-{i}", allocatable={f"example.com/{i}": "2"}) for i in range(5)]
    pods = [make_pod(f"pod-{i}", node=f"node-{i}", cpu=str(i)) for i in range(5)]
    events = [Upsert(entity) for entity in (*nodes, *pods)]
    forth, back = ClusterStore("shuntyard"), ClusterStore("shuntyard")
    for one, other in zip(events, reversed(events), strict=True):
        forth.apply(one)
        back.apply(other)
    assert forth.snapshot().node_table.resources == back.snapshot().node_table.resources
    assert np.array_equal(forth.snapshot().node_table.used, back.snapshot().node_table.used)


def test_more_nodes_and_resources_than_the_arrays_began_with(store) -> None:
    for i in range(150):
        resources = {f"example.com/r{j}": "1" for j in range(i % 20)}
        store.apply(Upsert(make_node(f"node-{i:03}", allocatable=resources)))
        store.apply(Upsert(make_pod(f"pod-{i}", node=f"node-{i:03}", requests=resources)))
    room = store.snapshot().node_table
    assert room.used.shape == (150, 22)
    assert room.used.sum(axis=0)[2] == 150


def test_a_resource_that_no_node_offers_is_no_column(store) -> None:
    store.apply(Upsert(make_node("node-0", allocatable={"nvidia.com/gpu": "1"})))
    store.apply(Upsert(make_pod(node="node-0", requests={"example.com/odd": "3"})))
    assert store.snapshot().node_table.resources == ("cpu", "memory", "pods", "nvidia.com/gpu")
    store.apply(Upsert(make_node("node-0", allocatable={"example.com/odd": "5"})))
    room = store.snapshot().node_table
    assert room.resources == ("cpu", "memory", "pods", "example.com/odd")
    assert room.used[0, 3] == 3


def test_host_ports_are_taken_until_the_last_pod_that_has_them_leaves(store) -> None:
    store.apply(Upsert(make_node("node-0")))
    for name in ("a", "b"):
        store.apply(Upsert(make_pod(name, node="node-0", shape=make_shape(host_ports=[80]))))
    taken = (frozenset({HostPort("0.0.0.0", "TCP", 80)}),)
    assert store.snapshot().node_table.ports == taken
    store.apply(Delete("Pod", "default/a"))
    assert store.snapshot().node_table.ports == taken
    store.apply(Delete("Pod", "default/b"))
    assert store.snapshot().node_table.ports == (frozenset(),)


def test_a_node_that_comes_back_finds_its_pods(store) -> None:
    store.apply(Upsert(make_node("node-0", uid="first")))
    store.apply(Upsert(make_pod(node="node-0")))
    store.apply(Delete("Node", "node-0", "first"))
    assert store.snapshot().node_table.nodes == ()
    assert store.snapshot().bound == {"default-pod-0": "node-0"}
    store.apply(Upsert(make_node("node-0", uid="second")))
    assert store.snapshot().node_table.used[0, 0] == 1000


def test_jobs_are_in_order_of_age_and_hold_our_pods_only(store) -> None:
    old = [make_pod(name, job="a", created_at=1.0) for name in ("y", "x")]
    young = make_pod("w", job="a", created_at=2.0)
    other = make_pod("v", job="a", scheduler_name="default-scheduler")
    for pod in (young, *old, other):
        store.apply(Upsert(pod))
    assert {k: [p.name for p in v] for k, v in store.snapshot().jobs.items()} == {
        "default/group/a": ["x", "y", "w"]
    }
    assert len(store.snapshot().pods) == 4


WAITS = {
    "a gated pod": (make_pod(gated=True), True),
    "a released pod": (make_pod(reservation="node-0"), True),
    "a bound pod": (make_pod(node="node-0"), False),
    "a finished pod": (make_pod(phase="Failed"), False),
    "a pod that is deleted": (make_pod(deleting=True), False),
    "a pod of another scheduler": (make_pod(scheduler_name="other"), False),
}


@pytest.mark.parametrize(("pod", "want"), WAITS.values(), ids=WAITS)
def test_a_job_waits_because_of(store, pod: Pod, want: bool) -> None:
    store.apply(Upsert(pod))
    assert bool(store.snapshot().waiting) is want


def test_a_job_waits_until_its_last_pod_is_bound(store) -> None:
    gang = make_gang("a", ps=1, workers=1)
    for pod in gang:
        store.apply(Upsert(pod))
    for pod in gang:
        assert store.snapshot().waiting == {"default/group/a"}
        store.apply(Upsert(replace(pod, node_name=NodeName("node-0"), resource_version="2")))
    assert store.snapshot().waiting == frozenset()


def test_a_reservation_says_what_its_annotations_say(store) -> None:
    store.apply(Upsert(make_pod("a", reservation="node-0", plan="p7", plan_size=4)))
    store.apply(
        Upsert(make_pod("b", reservation="node-0", annotations={"shuntyard.io/plan-size": "x"}))
    )
    reservations = store.snapshot().reservations
    assert (reservations[Uid("default-a")].plan, reservations[Uid("default-a")].plan_size) == (
        "p7",
        4,
    )
    assert (reservations[Uid("default-b")].plan, reservations[Uid("default-b")].plan_size) == (
        "",
        0,
    )
    assert not reservations[Uid("default-a")].assumed


def test_the_snapshot_is_the_same_until_something_changes(store) -> None:
    pod = make_pod(node="node-0")
    store.apply(Upsert(make_node("node-0")))
    store.apply(Upsert(pod))
    before = store.snapshot()
    store.apply(Upsert(make_pod(node="node-0")))
    store.apply(Delete("Pod", "default/unknown", "unknown"))
    store.forget(Uid("unknown"))
    assert store.expire(100.0) == ()
    assert store.snapshot() is before
    store.apply(Delete("Pod", pod.key, pod.uid))
    after = store.snapshot()
    assert after.generation == before.generation + 1 == store.generation
    assert before.pods == {pod.key: pod}
    assert before.node_table.used[0, 0] == 1000
    assert after.pods == {}
    assert after.node_table.nodes is before.node_table.nodes


def test_a_heartbeat_of_a_node_is_no_change(store) -> None:
    store.apply(Upsert(make_node("a")))
    before = store.snapshot()
    store.apply(Upsert(replace(make_node("a"), resource_version="99")))
    assert store.snapshot() is before
    store.apply(Upsert(replace(make_node("a"), resource_version="100", unschedulable=True)))
    assert store.snapshot().node_table.nodes[0].unschedulable


def test_a_snapshot_cannot_be_written_to(store) -> None:
    store.apply(Upsert(make_node("node-0")))
    snapshot = store.snapshot()
    with pytest.raises(ValueError, match="read-only"):
        snapshot.node_table.used[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        snapshot.node_table.classes.mask(make_shape())[0] = False
    with pytest.raises(TypeError):
        snapshot.pods[PodKey("a/b")] = make_pod()  # type: ignore[index] - that is the point


def test_a_late_delete_of_the_earlier_pod_leaves_its_successor(store) -> None:
    store.apply(Upsert(make_pod("a", uid="new", node="node-0")))
    store.apply(Delete("Pod", "default/a", "old"))
    assert store.snapshot().pods[PodKey("default/a")].uid == "new"


def test_a_pod_recreated_under_its_name_takes_over_and_stays(store) -> None:
    old = make_pod("a", uid="old", created_at=1.0, node="node-0")
    new = make_pod("a", uid="new", created_at=1.0, gated=True)
    for pod in (old, new, old):
        store.apply(Upsert(pod))
    assert store.snapshot().pods == {"default/a": new}
    assert store.snapshot().bound == {}


def test_an_older_pod_that_arrives_late_is_not_taken(store) -> None:
    store.apply(Upsert(make_pod("a", uid="new", created_at=2.0)))
    store.apply(Upsert(make_pod("a", uid="old", created_at=1.0)))
    assert store.snapshot().pods[PodKey("default/a")].uid == "new"


def test_a_list_is_true_even_where_clocks_differ(store) -> None:
    store.apply(Upsert(make_pod("a", uid="old", created_at=2.0)))
    store.apply(Replace("Pod", "Pod", (make_pod("a", uid="new", created_at=1.0),)))
    assert store.snapshot().pods[PodKey("default/a")].uid == "new"


def test_the_uid_of_a_pod_is_held_once_whatever_was_observed_since(store) -> None:
    first, later = (make_pod("a", uid=str(10**6), node=node) for node in (None, "node-0"))
    assert first.uid is not later.uid
    store.apply(Upsert(first))
    store.apply(Upsert(later))
    snapshot = store.snapshot()
    assert snapshot.pods[PodKey("default/a")] == later
    held = [snapshot.pods[PodKey("default/a")].uid, *snapshot.bound]
    assert [uid is first.uid for uid in held] == [True, True]


def test_what_was_deleted_does_not_come_back(store) -> None:
    pod = make_pod("a", node="node-0")
    store.apply(Upsert(pod))
    store.apply(Delete("Pod", pod.key, pod.uid))
    store.apply(Upsert(pod))
    store.apply(Replace("Pod", "Pod", (pod,)))
    assert store.snapshot().pods == {}


def test_a_list_removes_what_it_lacks_and_keeps_the_rest(store) -> None:
    kept, lost, new = make_pod("a", node="node-0"), make_pod("b", node="node-0"), make_pod("c")
    store.apply(Upsert(make_node("node-0")))
    for pod in (kept, lost):
        store.apply(Upsert(pod))
    store.apply(Replace("Pod", "Pod", (kept, new)))
    assert sorted(store.snapshot().pods) == ["default/a", "default/c"]
    assert store.snapshot().node_table.used[0, 0] == 1000


def test_a_pod_missing_from_one_list_may_be_in_the_next(store) -> None:
    pod = make_pod("a")
    for listed in ((pod,), (), (pod,)):
        store.apply(Replace("Pod", "Pod", listed))
    assert store.snapshot().pods == {pod.key: pod}


def test_a_list_of_one_source_leaves_owners_of_other_sources(store) -> None:
    job, other = make_owner("a"), make_owner("b")
    stateful_set = make_owner("a", kind="StatefulSet")
    store.apply(Replace("Owner", "Job", (job, other)))
    store.apply(Replace("Owner", "StatefulSet", (stateful_set,)))
    store.apply(Replace("Owner", "Job", (other,)))
    assert set(map(id, store.snapshot().owners)) == {id(other), id(stateful_set)}


def test_other_objects_are_found_by_the_names_decisions_use(store) -> None:
    owner, namespace, level = make_owner(), make_namespace("x"), make_priority_class("low")
    quotas = [make_quota("b", namespace="x"), make_quota("a", namespace="x")]
    for entity in (owner, namespace, level, *quotas):
        store.apply(Upsert(entity))
    snapshot = store.snapshot()
    assert snapshot.owners.of("default", reference_to(owner)) is owner
    assert snapshot.namespaces == {"x": namespace}
    assert snapshot.priority_classes == {"low": level}
    assert snapshot.quotas == {"x": (quotas[1], quotas[0])}
    for entity in (owner, namespace, level, *quotas):
        store.apply(Delete(type(entity).__name__, entity.key))
    assert store.export().entities == ()


def test_a_delta_of_no_kind_is_refused(store) -> None:
    with pytest.raises(KeyError, match="Service"):
        store.apply(Delete("Service", "default/a"))


def test_a_wrong_index_is_found() -> None:
    store = ClusterStore("shuntyard")
    store.apply(Upsert(make_node("node-0")))
    store.apply(Upsert(make_pod(node="node-0")))
    store._nodes.occupy(NodeName("node-0"), Uid("ghost"), make_shape())
    store._snapshot = None
    with pytest.raises(InvariantError, match=r"used: kept .*2000.* right .*1000"):
        store.check_invariants()


def test_only_the_latest_removals_are_remembered(store) -> None:
    for i in range(MOST_REMEMBERED + 5):
        store.apply(Delete("Pod", "default/a", f"uid-{i}"))
    remembered = store.export().removed
    assert (len(remembered), remembered[0]) == (MOST_REMEMBERED, "uid-5")


def test_a_report_is_kept_until_the_next_one_or_until_its_node_goes(store) -> None:
    store.apply(Upsert(make_node("node-0")))
    first, second = make_report(sequence=1), make_report(pods=[make_pod_report("a")], sequence=2)
    before = store.snapshot()
    store.report(first)
    assert before.reports == {}
    assert store.snapshot().generation == before.generation + 1
    store.report(second)
    assert store.reported(NodeName("node-0")) is second
    assert store.snapshot().reports == {"node-0": second}
    assert store.snapshot().node_table is before.node_table
    store.apply(Upsert(make_node("node-0", unschedulable=True)))
    assert store.snapshot().reports == {"node-0": second}


GOING = {
    "deleted": Delete("Node", "node-0"),
    "not in a list": Replace("Node", "Node", (make_node("node-1"),)),
    "another one of its name": Upsert(make_node("node-0", uid="second")),
}


@pytest.mark.parametrize("delta", GOING.values(), ids=GOING)
def test_a_report_goes_with_its_node(store, delta) -> None:
    store.apply(Upsert(make_node("node-0")))
    store.report(make_report())
    store.apply(delta)
    assert store.snapshot().reports == {}
    store.check_invariants()


def test_a_report_of_a_node_that_is_not_there_is_nothing(store) -> None:
    generation = store.generation
    store.report(make_report("nowhere"))
    assert (store.generation, store.snapshot().reports) == (generation, {})
