"""Which pods a burst binds, and which it leaves to kube-scheduler."""

import pytest
from msgspec.structs import replace

from extender.core.scheduler.burst import ANSWERED_SECONDS
from extender.store.assumed import Assumption
from shared import labels
from shared.model import ALL_NAMESPACES, Upsert
from tests.fakes.builders import make_gang, make_node, make_owner, make_pod, make_shape
from tests.unit.core.clusters import queued_job, released_job, store_of
from tests.unit.core.scheduler.bursting import NAMES, Cycle, cycle_of, names_of


def gang_of(size, name="j", count=None, **pod):
    """A Job of ``size`` and its first ``count`` pods without the gate."""
    owner = make_owner(name, size=size)
    made = range(size if count is None else count)
    return [owner, *(make_pod(f"{name}-{i}", owner=owner, index=i, **pod) for i in made)]


def burst(cycle, pod, names=NAMES):
    verdict = cycle.ask(pod, names)
    return {binding.pod: binding.node for binding in cycle.burst(pod, names, verdict)}


def test_the_rest_of_a_whole_gang_is_bound_with_what_its_bind_calls_would_have_written():
    gang = gang_of(3)
    cycle = cycle_of(gang)
    verdict = cycle.ask(gang[1], NAMES)
    bound = cycle.burst(gang[1], NAMES, verdict)
    assert [b.pod for b in bound] == ["default/j-1", "default/j-2"]
    for binding in bound:
        assert binding.annotations[labels.NODE] == binding.node
        assert binding.annotations[labels.PLAN_SIZE] == "3"
        assert binding.annotations[labels.DIRECT] == "true"
    assert gang[1].uid not in cycle.store.snapshot().bound


def test_nothing_of_a_gang_is_bound_before_its_last_member_exists():
    gang = gang_of(4)
    cycle = cycle_of(gang[:4])
    assert burst(cycle, gang[1]) == {}
    assert cycle.decide(gang[1], NAMES).awaited == "default/job/j"
    cycle.store.apply(Upsert(gang[4]))
    verdict = cycle.ask(gang[1], NAMES)
    bound = cycle.burst(gang[1], NAMES, verdict)
    assert [b.pod for b in bound] == ["default/j-1", "default/j-2", "default/j-3"]
    assert cycle.store.snapshot().placeholders == {}


def test_a_gang_that_needs_a_node_that_was_not_offered_is_left_to_kube_scheduler():
    gang = gang_of(6)
    cycle = cycle_of(gang)
    assert burst(cycle, gang[1], ("a",)) == {}


def test_a_member_in_its_cycle_is_bound_by_its_own_bind_call():
    gang = gang_of(4, count=3)
    cycle = cycle_of(gang)
    assert burst(cycle, gang[1]) == {}
    assert burst(cycle, gang[2]) == {}
    last = make_pod("j-3", owner=gang[0], index=3)
    cycle.store.apply(Upsert(last))
    assert names_of(burst(cycle, last)) == ["j-2"]


def test_a_pod_is_free_again_some_time_after_an_answer_that_came_to_nothing():
    single, other = (make_pod(name, annotations={}) for name in ("one", "two"))
    cycle = cycle_of(single, other)
    cycle.decide(single, ())
    assert burst(cycle, other) == {}
    cycle.now += ANSWERED_SECONDS
    assert names_of(burst(cycle, other)) == ["one"]


def test_members_that_wait_long_in_their_bind_calls_do_not_stop_the_burst_of_their_gang():
    gang = gang_of(6, count=4)
    cycle = cycle_of(gang)
    for pod in gang[1:5]:  # they fill the node that they wait for
        cycle.ask(pod, NAMES)
        cycle.decide(pod, ("a",))
    cycle.now += ANSWERED_SECONDS
    late = [make_pod(f"j-{i}", owner=gang[0], index=i) for i in (4, 5)]
    for pod in late:
        cycle.store.apply(Upsert(pod))
    assert names_of(burst(cycle, late[0], ("b",))) == ["j-5"]


@pytest.mark.parametrize(("size", "first"), [(200, 128), (4001, 200)])
def test_of_a_large_gang_a_part_is_handed_out_at_a_time(size, first):
    nodes = [make_node("big", cpu=str(size), memory="64Ti", pods=size)]
    gang = gang_of(size)
    cycle = Cycle(store_of(nodes, gang))
    verdict = cycle.ask(gang[1], ("big",))
    outcome = cycle.decide(gang[1], ("big",), verdict)
    assert len(outcome.rest) == first


def ps_gang():
    owner = make_owner("j", size=4)
    made = [
        make_pod(f"j-{role}-{i}", owner=owner, role=role, index=2 * (role == "worker") + i)
        for role in ("ps", "worker")
        for i in range(2)
    ]
    return [owner, *made]


def test_parameter_servers_are_bound_before_workers():
    gang = ps_gang()
    cycle = cycle_of(gang)
    worker = gang[3]
    cycle.ask(worker, NAMES)
    outcome = cycle.decide(worker, NAMES)
    assert [b.pod for b in outcome.first] == ["default/j-ps-0", "default/j-ps-1"]
    assert [b.pod for b in outcome.rest] == ["default/j-worker-1"]


def test_workers_wait_for_the_parameter_server_that_kube_scheduler_asks_about():
    gang = ps_gang()
    cycle = cycle_of(gang)
    server, worker = gang[1], gang[3]
    cycle.ask(server, NAMES)
    outcome = cycle.decide(server, NAMES)
    assert [b.pod for b in outcome.first] == ["default/j-ps-1"]
    assert outcome.rest == ()
    cycle.store.assume(Assumption.bound(gang[2].uid, "a", at=cycle.now))
    cycle.ask(worker, NAMES)
    outcome = cycle.decide(worker, NAMES)
    assert (outcome.first, outcome.after) == ((), (server.uid,))
    assert [b.pod for b in outcome.rest] == ["default/j-worker-1"]


def single(name, **pod):
    return make_pod(name, annotations={labels.MIN_AVAILABLE: "1"}, **pod)


def test_single_pods_that_wait_are_bound_the_oldest_first():
    pods = [single(f"s{i}", created_at=float(9 - i)) for i in range(4)]
    cycle = cycle_of(pods)
    bound = cycle.burst(pods[0], NAMES, cycle.ask(pods[0], NAMES))
    assert [b.pod for b in bound] == ["default/s3", "default/s2", "default/s1"]


def test_a_pod_in_its_cycle_keeps_its_room():
    pods = [single(f"s{i}", cpu="4", created_at=float(i)) for i in range(4)]
    cycle = cycle_of(pods)
    first = cycle.ask(pods[0], NAMES).passed
    assert burst(cycle, pods[0]) == {"default/s1": "b" if first == ("a",) else "a"}


def test_other_gangs_of_the_namespace_are_bound_too():
    one, two, part = gang_of(3, "one"), gang_of(3, "two"), gang_of(3, "part", count=2)
    cycle = cycle_of(one, two, part)
    assert names_of(burst(cycle, one[1])) == ["one-1", "one-2", "two-0", "two-1", "two-2"]
    assert "default/job/part" not in cycle.store.snapshot().placeholders


def test_no_other_gang_is_planned_while_a_job_waits_for_room():
    one, two = released_job("one", ["a", "b"]), gang_of(2, "two")
    cycle = cycle_of(one, two)
    cycle.may_plan = False
    assert names_of(burst(cycle, one[1])) == ["one-1"]


def test_a_gang_that_the_queue_plans_is_left_to_the_queue():
    one, two = gang_of(2, "one"), gang_of(2, "two")
    cycle = cycle_of(one, two)
    cycle.queued = ("default/job/two",)
    assert names_of(burst(cycle, one[1])) == ["one-1"]


ALONE = {
    "of another namespace": single("x", namespace="other"),
    "of another priority": single("x", priority=7),
    "of another scheduler": single("x", scheduler_name="other"),
    "with other volumes": single("x", claims=["data"]),
    "with a preference": replace(single("x"), prefers=True),
    "with a gate": single("x", gated=True),
    "with a host port": single("x", shape=make_shape(host_ports=[80])),
    "with what is not modelled": single("x", shape=make_shape(unmodelled=["podAffinity"])),
    "with a spec that is too large": replace(single("x"), excess="too many terms"),
    "in an in-tree group": replace(single("x"), scheduling_group="g"),
}


@pytest.mark.parametrize("other", ALONE.values(), ids=ALONE.keys())
def test_kube_scheduler_is_asked_about_a_pod(other):
    pod = single("s")
    cycle = cycle_of(pod, other)
    assert burst(cycle, pod) == {}
    cycle = cycle_of(pod, other)
    verdict = cycle.ask(other, NAMES)
    assert cycle.burst(other, NAMES, verdict) == []


def test_a_pod_that_is_leaving_is_not_bound():
    pods = [single("s"), single("x", deleting=True)]
    assert burst(cycle_of(pods), pods[0]) == {}


@pytest.mark.parametrize(
    ("repels", "bound"), [(("default",), 0), ((ALL_NAMESPACES,), 0), (("o",), 1)]
)
def test_nothing_is_bound_where_anti_affinity_of_a_pod_may_be_about_it(repels, bound):
    other = make_pod("other", scheduler_name="other", node="a", cpu="100m")
    pods = [single("s0"), single("s1")]
    cycle = cycle_of(pods, replace(other, repels=repels))
    assert len(burst(cycle, pods[0])) == bound


def test_nothing_is_bound_while_only_kube_scheduler_knows_where_a_pod_goes():
    free = make_pod("free", shape=make_shape(unmodelled=["podAffinity"]), annotations={})
    free = replace(free, annotations={labels.MIN_AVAILABLE: "1"})
    pods = [single("s0"), single("s1")]
    cycle = cycle_of(pods, free)
    verdict = cycle.ask(free, NAMES)
    assert len(verdict.passed) == 2
    assert cycle.burst(free, NAMES, verdict) == []
    assert burst(cycle, pods[0]) == {}
    cycle.store.assume(Assumption.bound(free.uid, "a", at=cycle.now))
    assert names_of(burst(cycle, pods[0])) == ["s1"]


def test_a_seat_on_a_node_that_is_too_full_is_left_to_kube_scheduler():
    gang = gang_of(3)
    cycle = cycle_of(gang)
    verdict = cycle.ask(gang[1], NAMES)
    (node,) = verdict.passed
    late = make_pod("late", scheduler_name="other", node=node, cpu="2")
    cycle.store.apply(Upsert(late))
    assert cycle.burst(gang[1], NAMES, verdict) == []


def test_members_with_our_gate_are_bound_once_they_are_released():
    released, gated = released_job("j", ["a", "a", "b"]), queued_job("q", 2)
    cycle = cycle_of(released, gated)
    assert names_of(burst(cycle, released[1])) == ["j-1", "j-2"]


def test_a_loose_member_keeps_its_gang_with_kube_scheduler():
    loose = make_gang("j", workers=3, plan="p", annotations={labels.MIN_AVAILABLE: "3"})
    cycle = cycle_of(loose)
    verdict = cycle.ask(loose[0], NAMES)
    assert cycle.burst(loose[0], NAMES, verdict) == []


def test_a_bound_pod_that_kube_scheduler_asks_about_late_gets_its_own_node():
    pod = single("s")
    cycle = cycle_of(pod)
    cycle.store.assume(Assumption.bound(pod.uid, "b", at=cycle.now))
    assert cycle.ask(pod, NAMES).passed == ("b",)
    refused = cycle.ask(pod, ("a",))
    assert (refused.passed, refused.not_offered, refused.nowhere) == ((), None, "")


def test_a_pod_that_is_handed_out_is_not_handed_out_again_unless_it_is_given_back():
    gang = gang_of(4)
    cycle = cycle_of(gang)
    cycle.ask(gang[1], NAMES)
    first = cycle.decide(gang[1], NAMES)
    assert [b.pod for b in first.rest] == ["default/j-1", "default/j-2", "default/j-3"]
    assert cycle.decide(gang[1], NAMES).idle
    cycle.returned = (gang[3].uid,)
    assert [b.pod for b in cycle.decide(gang[1], NAMES).rest] == ["default/j-2"]
