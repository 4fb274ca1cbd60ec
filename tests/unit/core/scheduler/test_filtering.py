"""Answers to filter about the offered nodes."""

import pytest
from msgspec.structs import replace

from extender.core.parameters.combined import CoreParameters
from extender.core.scheduler import filtering
from shared import labels
from tests.fakes.builders import make_node, make_owner, make_pod, make_shape
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

NODES = [make_node("a", cpu="4"), make_node("b", cpu="4"), make_node("c", cpu="4")]
NAMES = ["c", "a", "b"]


def judge(snapshot, pod, names=NAMES):
    return filtering.filter_nodes(snapshot, pod, names, CoreParameters())


def test_a_pod_of_another_scheduler_passes_unchanged():
    pod = make_pod(scheduler_name="default-scheduler")
    assert judge(snapshot_of(NODES), pod).passed == ("c", "a", "b")


def test_a_pod_with_a_reservation_passes_on_its_planned_node_alone():
    job = released_job("j", ["b", "a"])
    verdict = judge(snapshot_of(NODES, job), job[1])
    assert verdict.passed == ("b",)
    assert verdict.not_offered is None


def test_if_a_node_passes_the_others_have_no_message():
    job = released_job("j", ["b", "a"])
    assert judge(snapshot_of(NODES, job), job[1]).failed == {}
    pod = make_pod("single", cpu="3")
    assert judge(snapshot_of(NODES, job, pod), pod).failed == {}


def test_a_planned_node_that_was_not_offered_is_reported():
    job = released_job("j", ["b", "a"])
    verdict = judge(snapshot_of(NODES, job), job[1], ["c", "a"])
    assert verdict.passed == ()
    assert verdict.failed == dict.fromkeys(["c", "a"], filtering.PLANNED_NOT_OFFERED)
    assert verdict.not_offered == "b"


def test_a_pod_the_watch_has_not_shown_is_judged_by_its_own_annotation():
    assert judge(snapshot_of(NODES), make_pod(reservation="a")).passed == ("a",)


def test_an_old_annotation_does_not_outlive_the_store_s_view():
    pod = make_pod(plan="p", plan_size=1)
    stale = make_pod(reservation="a", plan="p", plan_size=1)
    assert judge(snapshot_of(NODES, pod), stale).passed == ("c", "a", "b")


def test_a_gang_without_the_gate_is_refused_until_it_has_reservations():
    owner = make_owner(size=4)
    pod = make_pod(owner=owner)
    verdict = judge(snapshot_of(NODES, owner, pod), pod)
    assert verdict == filtering.WITHOUT_RESERVATIONS
    assert verdict.nowhere == filtering.NO_RESERVATIONS


def test_a_member_of_an_in_tree_gang_passes_where_reservations_leave_room():
    job = released_job("j", ["b"], cpu="3")
    pod = replace(make_pod("m", owner=make_owner("g", size=4), cpu="2"), scheduling_group="g")
    assert judge(snapshot_of(NODES, job, pod), pod).passed == ("c", "a")


def test_a_single_pod_without_the_gate_passes_on_the_best_node_that_has_room():
    job = released_job("j", ["b"], cpu="1")
    pod = make_pod("single", cpu="2")
    assert judge(snapshot_of(NODES, job, pod), pod).passed == ("b",)  # the fullest it fits on
    assert judge(snapshot_of(NODES, job, pod), pod, ["c", "a"]).passed == ("a",)
    wide = make_pod("wide", cpu="4")
    assert judge(snapshot_of(NODES, job, wide), wide).passed == ("a",)
    assert judge(snapshot_of(NODES, job, wide), wide, ["b"]).failed == {
        "b": filtering.NO_ROOM_BESIDE_RESERVATIONS
    }


SINGLE = make_pod("single", cpu="2")
OTHERS = {
    "it prefers some nodes": replace(SINGLE, prefers=True),
    "it claims a volume": replace(SINGLE, claims=("data",)),
    "it requests a topology": replace(SINGLE, annotations={labels.PREFERRED_TOPOLOGY: "zone"}),
    "it uses a host port": make_pod("single", shape=make_shape(cpu="2", host_ports=[80])),
}


@pytest.mark.parametrize("pod", OTHERS.values(), ids=OTHERS)
def test_of_a_single_pod_that_we_do_not_know_all_of_kube_scheduler_chooses_the_node(pod):
    snapshot = snapshot_of(NODES, released_job("j", ["b"], cpu="3"), pod)
    assert judge(snapshot, pod).passed == ("c", "a")


def test_two_pods_of_a_job_of_which_one_is_enough_are_no_single_pods():
    pods = [make_pod(f"j-{i}", job="j", cpu="1") for i in range(2)]
    sizes = {labels.MIN_AVAILABLE: "1"}
    pods = [replace(pod, annotations={**pod.annotations, **sizes}) for pod in pods]
    assert judge(snapshot_of(NODES, *pods), pods[0]).passed == ("c", "a", "b")


def test_an_unmodelled_pod_is_not_held_to_its_planned_node():
    job = queued_job("j", 1)
    pod = make_pod("free", plan="p", plan_size=1, reservation="a", shape=None)
    loose = make_pod("loose", plan="p", plan_size=1)
    assert judge(snapshot_of(NODES, job, loose), loose).passed == ("c", "a", "b")
    assert judge(snapshot_of(NODES, job, pod), pod).passed == ("a",)


def test_names_that_were_not_in_the_request_are_never_returned():
    job = released_job("j", ["b"])
    for names in (["a"], ["b"], ["x", "b"], []):
        verdict = judge(snapshot_of(NODES, job), job[1], names)
        answered = {*verdict.passed, *verdict.failed, *verdict.unresolvable}
        assert answered <= set(names)


GPU = "nvidia.com/gpu"
SLICED = [
    make_node(
        name,
        cpu="4",
        allocatable={GPU: "4"},
        labels={f"{GPU}.count": "1", f"{GPU}.replicas": "4"},
    )
    for name in "ab"
]
APART = {
    "off the device of another pod of its job": ({}, ("b",)),
    "anywhere, if its job shares devices": ({labels.SHARE: "allowed"}, ("a", "b")),
}


@pytest.mark.parametrize(("notes", "want"), APART.values(), ids=APART)
def test_a_pod_that_may_run_alone_goes(notes, want):
    shape = make_shape(cpu="1", requests={GPU: "1"})
    own = {"job": "j", "annotations": notes | {labels.MIN_AVAILABLE: "1"}, "shape": shape}
    first, pod = make_pod("j-0", node="a", **own), make_pod("j-1", **own)
    assert set(judge(snapshot_of(SLICED, first, pod), pod, ["a", "b"]).passed) == set(want)


def test_a_pod_that_requests_two_replicas_needs_two_devices():
    two = make_shape(cpu="1", requests={GPU: "2"})
    pod = make_pod("j-0", job="j", shape=two)
    assert judge(snapshot_of(SLICED, pod), pod, ["a", "b"]).passed == ()
