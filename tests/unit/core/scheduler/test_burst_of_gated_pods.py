"""Which pods with our gate a burst binds, and which go back to the queue."""

from msgspec.structs import replace

from extender.core.scheduler.burst import STALL_SECONDS, next_asked
from shared import labels
from tests.fakes.builders import make_owner, make_pod
from tests.unit.core.clusters import queued_job
from tests.unit.core.scheduler.bursting import NAMES, cycle_of, names_of


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
