"""A gang that loses members: whether it was whole, and its back-off."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import DeletePod
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.store.assumed import Assumption
from extender.store.store import ClusterStore
from shared import labels
from shared.model import Delete, Upsert
from tests.fakes.builders import make_node, make_owner, make_pod, pinned_to
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, store_of

PARAMS = CoreParameters()
KEY = "default/job/j"
SIZE = 10
REST = PARAMS.bind_burst_seconds + PARAMS.pin_lost_seconds + 1


def burst(store, pods):
    """Bind members one after the other."""
    for pod in pods:
        store.apply(Upsert(replace(pod, node_name="a", phase="Running", scheduled_at=5.0)))


def lose(store, pod):
    store.apply(Delete("Pod", pod.key, pod.uid))


def run_passes(store, state, *moments):
    deleted = []
    for at in moments:
        outcome = queue_pass(store.snapshot(), state, Reading(at, at), PARAMS)
        deleted += [c.uid for c in outcome.commands if isinstance(c, DeletePod)]
        state = outcome.state
    return deleted, state


def gang():
    """A store that a pass has viewed, and the members, all released and none bound."""
    owner, *pods = released_job("j", ["a"] * SIZE)
    store = store_of(make_node("a", cpu=str(SIZE)), owner, pods)
    _, state = run_passes(store, QueueState(), 0.0)
    return store, pods, state


def test_a_gang_that_was_whole_between_two_passes_goes_on_without_the_member_it_lost():
    """(defect E3)."""
    store, pods, state = gang()
    burst(store, pods)
    lose(store, pods[3])
    deleted, _ = run_passes(store, state, 1.0, REST, 2 * REST, 3 * REST)
    assert deleted == []
    store.check_invariants()


def test_a_gang_that_was_never_whole_at_one_time_is_dissolved():
    store, pods, state = gang()
    burst(store, pods[:5])
    lose(store, pods[3])
    burst(store, pods[5:])
    deleted, _ = run_passes(store, state, 1.0, REST, 2 * REST)
    assert set(deleted) == {p.uid for p in pods if p is not pods[3]}


def test_a_replica_that_observed_it_knows_that_the_gang_was_whole():
    """A standby has no memory, but the same store; so has a store made from the decision log."""
    store, pods, _ = gang()
    burst(store, pods)
    for pod in pods[:7]:
        lose(store, pod)
    for one in (store, ClusterStore.restore(store.export())):
        reserved = replace(pods[0], name="j-new", uid="new")
        one.apply(Upsert(reserved))  # of the very plan: by the pods alone a burst that broke
        deleted, _ = run_passes(one, QueueState(), 1.0, REST, 2 * REST)
        assert not set(deleted) & {p.uid for p in pods}


def test_a_gang_of_which_the_kubelet_refused_a_member_was_not_whole():
    store, pods, state = gang()
    for pod in pods:
        store.apply(Upsert(replace(pod, node_name="a", scheduled_at=5.0)))
    refused = replace(pods[0], node_name="a", phase="Failed", phase_reason="OutOfcpu")
    store.apply(Upsert(refused))
    lose(store, refused)  # as a StatefulSet's controller does
    assert store.snapshot().most_placed == {}
    deleted, _ = run_passes(store, state, 1.0, REST, 2 * REST)
    assert set(deleted) == {p.uid for p in pods[1:]}


def test_a_new_job_of_the_same_name_was_not_whole_because_the_old_one_was():
    owner, *old = released_job("j", ["a"] * 4, bound=4)
    store = store_of(make_node("a", cpu="8"), owner, old)
    _, state = run_passes(store, QueueState(), 0.0)
    store.apply(Delete("Owner", owner.key, owner.uid))
    successor = make_owner("j", uid="second", size=4)
    store.apply(Upsert(successor))
    common = {"owner": successor, "plan": "p2", "plan_size": 4, "reservation": "a", "node": "a"}
    new = [make_pod(f"j-n{i}", **common) for i in range(2)]
    rest = [make_pod(f"j-n{i}", owner=successor, gated=True, cpu="64") for i in (2, 3)]
    for pod in (*new, *rest):
        store.apply(Upsert(pod))
    for pod in old:
        lose(store, pod)
    deleted, _ = run_passes(store, state, 1.0, REST, 2 * REST)
    assert set(deleted) == {p.uid for p in new[:2]}
    store.check_invariants()


def test_a_member_that_was_refused_and_made_anew_does_not_end_the_gang_after_a_restart():
    """The refused pod stays where its owner leaves it; another one has taken its place since."""
    owner, *pods = released_job("j", ["a"] * 4, bound=4)
    refused = replace(pods[0], phase="Failed", phase_reason="OutOfcpu", scheduled_at=5.0)
    anew = make_pod("j-anew", owner=owner, node="a", reservation="a", plan="p1", created_at=9.0)
    store = store_of(make_node("a", cpu="8"), owner, refused, pods[1:3], anew)
    deleted, _ = run_passes(store, QueueState(), 1.0, REST, 2 * REST)
    assert deleted == []


@pytest.mark.parametrize("lost", [1, 7])
def test_a_job_backs_off_once_for_all_pins_lost_at_one_time(lost):
    """5 s, then 10, then 20, however many members it has (defect E5)."""
    owner, *pods = released_job("j", ["gone"] * lost)
    pods = [replace(p, shape=replace(p.shape, affinity=pinned_to("gone"))) for p in pods]
    store = store_of(make_node("a"), owner, pods)
    _, state = run_passes(store, QueueState(), 0.0, PARAMS.pin_lost_seconds)
    backoff = state.backoff[KEY]
    assert backoff.strikes == 1
    assert backoff.until == PARAMS.pin_lost_seconds + PARAMS.backoff_seconds


def test_pins_lost_while_a_job_backs_off_do_not_prolong_it():
    """A refused deletion is ordered again by each pass; it is the same loss (defect E5)."""
    owner, *pods = released_job("j", ["gone"] * 3)
    pods = [replace(p, shape=replace(p.shape, affinity=pinned_to("gone"))) for p in pods]
    store = store_of(make_node("a"), owner, pods)
    begun = PARAMS.pin_lost_seconds
    deleted, state = run_passes(store, QueueState(), 0.0, begun, begun + 1, begun + 2)
    assert len(deleted) == 9
    assert state.backoff[KEY].strikes == 1
    _, state = run_passes(store, state, begun + PARAMS.backoff_seconds)
    backoff = state.backoff[KEY]
    assert backoff.strikes == 2
    assert backoff.until == begun + 3 * PARAMS.backoff_seconds


def test_a_gang_that_a_burst_bound_in_part_before_its_first_pass_was_never_whole():
    owner, *pods = queued_job("j", 3)
    notes = {labels.PLAN: "p", labels.PLAN_SIZE: "3", labels.NODE: "a", labels.DIRECT: "true"}
    waiting, *bound = (replace(pod, gates=()) for pod in pods)
    bound = [
        replace(pod, annotations=notes, node_name="a", phase="Running", scheduled_at=5.0)
        for pod in bound
    ]
    store = store_of(make_node("a", cpu="3"), owner, waiting, bound)
    promised = {"plan_of": ("p", 3), "decision": "{}", "at": 0.0}
    _, state = run_passes(store_of(make_node("a", cpu="3")), QueueState(), 0.0)
    store.assume(Assumption.promised(waiting.uid, "a", **promised))
    deleted, _ = run_passes(store, state, 1.0, 1.0 + REST)
    assert sorted(deleted) == sorted(pod.uid for pod in bound)
