"""Which pods a burst binds, and which it leaves to kube-scheduler."""

import pytest
from msgspec.structs import replace

from extender.core.scheduler.burst import ANSWERED_SECONDS, STALL_SECONDS, next_asked
from extender.store.assumed import Assumption
from shared import labels
from shared.model import ALL_NAMESPACES, Upsert
from tests.fakes.builders import make_gang, make_node, make_owner, make_pod, make_shape
from tests.unit.core.clusters import queued_job, released_job, store_of
from tests.unit.core.scheduler.bursting import Cycle

NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
NAMES = ("a", "b")


def gang_of(size, name="j", count=None, **pod):
    """A Job of ``size`` and its first ``count`` pods without the gate."""
    owner = make_owner(name, size=size)
    made = range(size if count is None else count)
    return [owner, *(make_pod(f"{name}-{i}", owner=owner, index=i, **pod) for i in made)]


def cycle_of(*entities):
    return Cycle(store_of(NODES, *entities))


def burst(cycle, pod, names=NAMES):
    verdict = cycle.ask(pod, names)
    return {binding.pod: binding.node for binding in cycle.burst(pod, names, verdict)}


def names_of(bound):
    return sorted(key.partition("/")[2] for key in bound)


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
        make_pod(f"j-{role}-{i}", owner=owner, role=role, index=i, annotations={})
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


def gated_cycle(*jobs):
    """A cycle of which the queue has released one pod of each gang."""
    cycle = cycle_of(*jobs)
    for gang in cycle.run_queue():
        assert gang.in_burst
        cycle.remove_gate(gang.pods[-1].pod)
    return cycle


def asked(cycle, key):
    pod = cycle.store.snapshot().pods[key]
    return pod, cycle.ask(pod, NAMES)


def test_gates_are_removed_and_pods_bound_while_kube_scheduler_asks_about_the_last_one():
    cycle = gated_cycle(queued_job("j", 4))
    pod, verdict = asked(cycle, "default/j-3")
    outcome = cycle.decide(pod, NAMES, verdict)
    assert [b.pod for b in outcome.rest] == ["default/j-0", "default/j-1", "default/j-2"]
    assert outcome.gated == {b.uid for b in outcome.rest}
    for binding in outcome.rest:
        assert binding.annotations[labels.NODE] == binding.node
        assert binding.annotations[labels.PLAN_SIZE] == "4"
        assert labels.DIRECT not in binding.annotations  # the pods may be moved
        assert binding.annotations[labels.DECISION]


def test_gated_gangs_are_bound_together_and_those_that_kube_scheduler_may_ask_about_first():
    cycle = gated_cycle(queued_job("one", 3), queued_job("two", 2), queued_job("three", 1))
    pod, verdict = asked(cycle, "default/one-2")
    outcome = cycle.decide(pod, NAMES, verdict)
    names = [b.pod.partition("/")[2] for b in outcome.rest]
    assert names == ["one-0", "one-1", "three-0", "two-1", "two-0"]
    assert outcome.job is None


def test_the_watch_may_be_behind_the_release_of_the_pod():
    cycle = cycle_of(queued_job("j", 3))
    cycle.run_queue()
    pod = cycle.store.snapshot().pods["default/j-2"]
    verdict = cycle.ask(replace(pod, gates=()), NAMES)
    assert names_of(b.pod for b in cycle.burst(pod, NAMES, verdict)) == ["j-0", "j-1"]


def test_parameter_servers_with_our_gate_are_bound_before_workers():
    owner = make_owner("j", size=4)
    roles = ["ps", "ps", "worker", "worker"]
    gang = [
        make_pod(f"j-{i}", owner=owner, role=role, index=i, gated=True)
        for i, role in enumerate(roles)
    ]
    cycle = gated_cycle([owner, *gang])
    pod, verdict = asked(cycle, "default/j-3")
    outcome = cycle.decide(pod, NAMES, verdict)
    assert [b.pod for b in outcome.first] == ["default/j-0", "default/j-1"]
    assert [b.pod for b in outcome.rest] == ["default/j-2"]


def test_a_gated_gang_waits_for_its_turn_until_its_first_pod_is_released():
    cycle = cycle_of(queued_job("one", 2), queued_job("two", 2))
    releases = {gang.job: gang for gang in cycle.run_queue()}
    cycle.remove_gate(releases["default/job/one"].pods[-1].pod)
    pod, verdict = asked(cycle, "default/one-1")
    assert names_of(b.pod for b in cycle.burst(pod, NAMES, verdict)) == ["one-0"]


def test_a_gated_gang_of_which_a_hold_bound_the_released_pod_alone_is_bound_further():
    cycle = gated_cycle(queued_job("one", 2), queued_job("two", 3))
    pod, verdict = asked(cycle, "default/one-1")
    bound = []
    first = cycle.burst(pod, NAMES, verdict, lambda wanted: not (bound.append(wanted) or bound[2:]))
    assert [b.pod for b in first] == ["default/one-0", "default/two-2"]
    outcome = cycle.decide(pod, NAMES, verdict)
    assert [b.pod for b in next_asked(cycle.store.snapshot(), outcome)] == ["default/two-1"]


def test_one_pod_of_each_gang_is_released_when_a_hold_ends():
    cycle = gated_cycle(queued_job("one", 3), queued_job("two", 2))
    pod, verdict = asked(cycle, "default/one-2")
    outcome = cycle.decide(pod, NAMES, verdict)
    following = next_asked(cycle.store.snapshot(), outcome)
    assert [b.pod for b in following] == ["default/one-0"]  # two-1 has no gate any more


def test_a_gated_gang_goes_back_to_the_queue_if_one_of_its_nodes_is_not_offered():
    cycle = gated_cycle(queued_job("j", 6))
    pod, verdict = asked(cycle, "default/j-5")
    names = verdict.passed
    outcome = cycle.decide(pod, names, verdict)
    assert outcome.idle
    assert len(outcome.given_up) == 5
    (release,) = cycle.run_queue()
    assert not release.in_burst
    assert {one.plan_size for one in release.pods} == {6}
    assert {one.plan for one in release.pods} == {cycle.store.snapshot().reservations[pod.uid].plan}


def test_gated_pods_go_back_to_the_queue_if_no_burst_comes():
    cycle = gated_cycle(queued_job("j", 3))
    assert cycle.look().given_up == ()
    cycle.now += STALL_SECONDS - 0.1
    assert cycle.look().given_up == ()
    cycle.now += 0.1
    assert len(cycle.look().given_up) == 2
    assert cycle.look().given_up == ()
    (release,) = cycle.run_queue()
    assert [one.pod for one in release.pods] == ["default/j-0", "default/j-1"]


def test_a_pod_that_is_being_bound_does_not_go_back_to_the_queue():
    cycle = gated_cycle(queued_job("j", 3))
    cycle.look()
    pod, verdict = asked(cycle, "default/j-2")
    assert len(cycle.decide(pod, NAMES, verdict).rest) == 2
    cycle.now += 2 * STALL_SECONDS
    assert cycle.look().given_up == ()


def test_a_pod_that_kube_scheduler_has_asked_about_is_not_free_when_it_is_given_back():
    cycle = gated_cycle(queued_job("j", 4))
    pod, verdict = asked(cycle, "default/j-3")
    handed_out = cycle.decide(pod, NAMES, verdict).rest
    other, answer = asked(cycle, handed_out[0].pod)
    cycle.decide(other, (), answer)
    cycle.returned = tuple(b.uid for b in handed_out)
    assert [b.pod for b in cycle.decide(pod, NAMES, verdict).rest] == ["default/j-1", "default/j-2"]
