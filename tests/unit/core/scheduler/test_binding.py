"""The decision of the bind barrier, and every outcome of a call to bind."""

import pytest

from extender.core.parameters.combined import CoreParameters
from extender.core.scheduler import binding
from extender.store.assumed import Assumption
from shared import labels
from tests.fakes.builders import make_gang, make_node, make_pod
from tests.unit.core.clusters import released_job, snapshot_of, store_of

NODES = [make_node("a"), make_node("b")]
PARAMS = CoreParameters()


def test_a_gang_is_bound_when_its_last_member_arrives():
    job = released_job("j", ["a", "a", "b"])
    snapshot = snapshot_of(NODES, job)
    uids = [pod.uid for pod in job[1:]]
    assert binding.burst(snapshot, job[1], uids[:2], PARAMS) is None
    burst = binding.burst(snapshot, job[1], uids, PARAMS)
    assert burst is not None
    assert burst.first == ()
    assert burst.rest == tuple(uids)


def test_ps_go_before_workers():
    gang = make_gang(
        "j",
        workers=2,
        ps=2,
        reservation="a",
        plan="p",
        plan_size=4,
        annotations={"shuntyard.io/min-available": "4"},
    )
    burst = binding.burst(snapshot_of(NODES, gang), gang[0], [p.uid for p in gang], PARAMS)
    assert burst is not None
    assert [uid.split("-")[2] for uid in burst.first] == ["ps", "ps"]
    assert [uid.split("-")[2] for uid in burst.rest] == ["worker", "worker"]


def test_after_a_crash_the_rest_of_a_burst_needs_only_the_rest():
    job = released_job("j", ["a", "a", "b"], bound=2)
    burst = binding.burst(snapshot_of(NODES, job), job[3], [job[3].uid], PARAMS)
    assert burst is not None
    assert burst.rest == (job[3].uid,)


def test_a_member_of_a_whole_gang_does_not_wait_for_other_late_ones():
    job = released_job("j", ["a", "a", "b", "b"], bound=2, size=2)
    burst = binding.burst(snapshot_of(NODES, job), job[3], [job[3].uid], PARAMS)
    assert burst is not None
    assert burst.rest == (job[3].uid,)


def test_a_member_without_a_reservation_keeps_the_gang_waiting():
    job = released_job("j", ["a", "a", "b"])
    gone = job[:3]
    arrived = [pod.uid for pod in gone[1:]]
    assert binding.burst(snapshot_of(NODES, gone), gone[1], arrived, PARAMS) is None


def test_a_member_without_the_gate_delays_no_gang():
    job = released_job("j", ["a", "a"])
    stray = make_pod("stray", owner=job[0])
    arrived = [pod.uid for pod in job[1:]]
    burst = binding.burst(snapshot_of(NODES, job, stray), job[1], arrived, PARAMS)
    assert burst is not None
    assert burst.rest == tuple(arrived)


def test_a_pod_of_another_scheduler_is_plainly_bound():
    pod = make_pod(scheduler_name="other")
    assert binding.burst(snapshot_of(NODES, pod), pod, [pod.uid], PARAMS) == binding.Burst(
        (), (pod.uid,)
    )


def test_no_plan_of_ours_speaks_against_a_pod_of_another_scheduler():
    gang = {"labels": {labels.JOB: "j"}, "annotations": {labels.MIN_AVAILABLE: "4"}}
    pods = {name: make_pod(name, scheduler_name=name, **gang) for name in ("other", "shuntyard")}
    snapshot = snapshot_of(NODES, [*pods.values()])
    errors = {n: binding.objection(snapshot, p.key, p.uid, "a", PARAMS) for n, p in pods.items()}
    assert errors == {"other": None, "shuntyard": binding.NO_RESERVATION}
    gone = binding.objection(snapshot, pods["other"].key, pods["other"].uid, "gone", PARAMS)
    assert gone == binding.NODE_GONE


JOB = released_job("j", ["a"])
POD = JOB[1]
OBJECTIONS = {
    "nothing": ([NODES, JOB], (POD.key, POD.uid, "a"), None),
    "the pod is gone": ([NODES], (POD.key, POD.uid, "a"), binding.POD_GONE),
    "another pod has the name": ([NODES, JOB], (POD.key, "other", "a"), binding.POD_GONE),
    "the node is gone": ([NODES[1], JOB], (POD.key, POD.uid, "a"), binding.NODE_GONE),
    "the plan changed": ([NODES, JOB], (POD.key, POD.uid, "b"), binding.PLAN_CHANGED),
    "it is being deleted": (
        [NODES, make_pod("d", deleting=True)],
        ("default/d", "default-d", "a"),
        binding.POD_LEAVING,
    ),
    "it is bound elsewhere": (
        [NODES, make_pod("d", node="a")],
        ("default/d", "default-d", "b"),
        binding.BOUND_ELSEWHERE,
    ),
}


@pytest.mark.parametrize(("entities", "call", "want"), OBJECTIONS.values(), ids=OBJECTIONS.keys())
def test_a_binding_is_refused_with_its_cause(entities, call, want):
    assert binding.objection(snapshot_of(*entities), *call, PARAMS) == want


def test_a_repeated_call_finds_the_pod_bound():
    store = store_of(NODES, JOB)
    assert not binding.is_bound(store.snapshot(), POD.uid, "a")
    store.assume(Assumption.bound(POD.uid, "a", at=0.0))
    assert binding.is_bound(store.snapshot(), POD.uid, "a")
