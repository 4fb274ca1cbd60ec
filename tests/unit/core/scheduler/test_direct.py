"""Reservations that an answer to filter gives to direct gangs: when, and how they are kept."""

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.commands import (
    ClearReservation,
    DeletePod,
    ReleaseGang,
    RewriteReservation,
)
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.queue import repair, scheduling_pass
from extender.core.queue.notices import QueueEntry
from extender.core.queue.state import QueueState, turn_away
from extender.core.scheduler import binding, direct_gangs, filtering
from extender.core.scheduler.direct_gangs import QueueView
from extender.store.assumed import Assumption
from shared import labels
from shared.model import Delete, Upsert
from tests.fakes.builders import make_gang, make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, snapshot_of, store_of

PARAMS = CoreParameters()
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
NAMES = ("a", "b")
NOW = QueueView(may_plan=True, monotonic=10.0)
KEY = "default/job/j"


def members(size, count=None, **pod):
    """A Job of ``size`` and its first ``count`` direct pods."""
    owner = make_owner("j", size=size)
    made = range(size if count is None else count)
    return [owner, *(make_pod(f"j-{i}", owner=owner, index=i, **pod) for i in made)]


def ask(store, pod, occasion=NOW, names=NAMES):
    """Filter, and what the shell makes of its grant."""
    verdict = filtering.filter_nodes(store.snapshot(), pod, names, PARAMS, occasion)
    grant = verdict.grant
    if grant is not None and grant.taken:
        store.take_placeholder(grant.job, grant.taken, pod.uid, at=occasion.monotonic)
    if grant is not None and (kept := grant.placeholders):
        for one in grant.given:
            store.assume(
                Assumption.promised(
                    one.uid,
                    one.node,
                    plan_of=(kept.plan, kept.plan_size),
                    decision=one.decision,
                    at=occasion.monotonic,
                )
            )
        store.keep_placeholders(kept)
    store.check_invariants()
    return verdict


def test_the_first_member_gets_its_node_and_the_others_have_theirs_kept():
    gang = members(4, count=1)
    store = store_of(NODES, gang)
    assert ask(store, gang[1]).passed == ("a",)
    snapshot = store.snapshot()
    kept = snapshot.placeholders[KEY]
    assert (len(kept.placeholders), kept.plan_size) == (3, 4)
    assert snapshot.node_table.free[0][0] == 0
    assert job_views.view(snapshot, KEY).kept == 3


def test_members_that_are_there_already_have_their_reservations_at_once():
    gang = members(4, count=3)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    snapshot = store.snapshot()
    assert {p.uid for p in gang[1:]} == set(snapshot.reservations)
    assert len(snapshot.placeholders[KEY].placeholders) == 1
    assert len({reservation.plan for reservation in snapshot.reservations.values()}) == 1


def test_members_that_come_later_take_the_placeholders_in_order():
    gang = members(6)
    store = store_of(NODES, gang[:2])
    ask(store, gang[1])
    nodes = [one.node for one in store.snapshot().placeholders[KEY].placeholders]
    for i, pod in enumerate(gang[2:]):
        store.apply(Upsert(pod))
        assert ask(store, pod, direct_gangs.NEVER).passed == (nodes[i],)
    assert store.snapshot().placeholders == {}
    assert len(store.snapshot().reservations) == 6


REFUSED = {
    "a job waits for room": (members(4), direct_gangs.NEVER),
    "the gang does not fit": (members(9), NOW),
    "its size is unknown": (make_gang("j", workers=2), NOW),
    "its size is not a number": (
        make_gang("j", workers=2, annotations={labels.MIN_AVAILABLE: "two"}),
        NOW,
    ),
    "some of its members are queued": (
        [*members(2, count=1), *queued_job("j", 2)[2:]],
        NOW,
    ),
}


@pytest.mark.parametrize(("gang", "occasion"), REFUSED.values(), ids=REFUSED.keys())
def test_no_reservation_is_made_if(gang, occasion):
    store = store_of(NODES, gang)
    pod = next(p for p in gang if hasattr(p, "gates") and not p.gates)
    assert ask(store, pod, occasion) == filtering.WITHOUT_RESERVATIONS
    assert not store.snapshot().reservations


def test_a_pod_that_the_store_does_not_hold_gets_nothing():
    gang = members(2)
    store = store_of(NODES, gang[:2])
    assert ask(store, gang[2]) == filtering.WITHOUT_RESERVATIONS
    assert ask(store, replace(gang[1], uid="other")) == filtering.WITHOUT_RESERVATIONS


def test_a_placeholder_on_an_offered_node_is_preferred():
    gang = members(6)
    store = store_of(NODES, gang[:2])
    ask(store, gang[1])
    store.apply(Upsert(gang[2]))
    other = next(s.node for s in store.snapshot().placeholders[KEY].placeholders[::-1])
    assert ask(store, gang[2], names=(other,)).passed == (other,)


def test_a_member_of_another_shape_has_the_rest_planned_anew():
    gang = members(3, count=1)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    large = make_pod("j-1", owner=gang[0], index=1, cpu="2")
    store.apply(Upsert(large))
    assert ask(store, large).passed == ("b",)
    (placeholder,) = store.snapshot().placeholders[KEY].placeholders
    assert (placeholder.shape, placeholder.node) == (large.shape, "b")


def test_a_placeholder_whose_node_is_gone_is_not_given_away():
    gang = members(2)
    store = store_of(NODES, gang[:2])
    ask(store, gang[1])
    store.apply(Delete("Node", "a"))
    store.apply(Upsert(gang[2]))
    assert ask(store, gang[2], names=("b",)).passed == ("b",)


def test_roles_take_the_reservations_that_were_planned_for_them():
    size = {labels.MIN_AVAILABLE: "4"}
    gang = make_gang("j", ps=1, workers=3, annotations=size)
    store = store_of(NODES, gang[:1])
    ask(store, gang[0])
    for pod in gang[1:]:
        store.apply(Upsert(pod))
        assert ask(store, pod).passed == ("a",)
    assert store.snapshot().placeholders == {}


def test_placeholders_of_absent_members_are_overdue():
    gang = members(3, count=1)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    late = NOW.monotonic + PARAMS.direct_wait_seconds
    assert direct_gangs.overdue(store.snapshot(), late - 0.1, PARAMS) == ()
    assert direct_gangs.overdue(store.snapshot(), late, PARAMS) == (KEY,)
    second = make_pod("j-1", owner=gang[0], index=1)
    store.apply(Upsert(second))
    ask(store, second, QueueView(may_plan=False, monotonic=20.0))
    assert direct_gangs.overdue(store.snapshot(), late, PARAMS) == ()
    for pod in (gang[1], second):
        store.apply(Delete("Pod", pod.key, pod.uid))
    assert direct_gangs.overdue(store.snapshot(), 20.0, PARAMS) == (KEY,)


def run_pass(store, state=None, at=100.0):
    return queue_pass(store.snapshot(), state or QueueState(), Reading(at, at), PARAMS)


def of_kind(found, kind):
    return [command for command in found.commands if isinstance(command, kind)]


def test_a_gang_that_was_turned_away_is_released_by_annotations_alone():
    store = store_of(NODES, members(4))
    (gang,) = of_kind(run_pass(store, turn_away(QueueState(), [KEY])), ReleaseGang)
    assert {(p.direct, p.terms, p.node, p.plan_size) for p in gang.pods} == {(True, None, "a", 4)}


def test_a_gang_that_filter_has_not_been_asked_about_is_left_to_it():
    known = QueueState(known=frozenset({"default/job/other"}))
    assert run_pass(store_of(NODES, members(4, created_at=99.0)), known).entries == ()
    old = members(4, created_at=100.0 - scheduling_pass.UNASKED_SECONDS)
    assert len(run_pass(store_of(NODES, old), known).entries) == 1


def test_a_gang_whose_reservations_are_kept_does_not_stand_in_the_queue():
    gang = members(4, count=2)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    found = run_pass(store, turn_away(QueueState(), [KEY]), at=10.0)
    assert (found.entries, found.commands) == ((), ())
    later = run_pass(store, found.state, at=10.0 + PARAMS.bind_burst_seconds)
    assert later.commands == ()


def test_members_whose_others_never_came_give_their_reservations_back():
    gang = members(4, count=2)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    first = run_pass(store, at=10.0)
    store.drop_placeholders(KEY)
    second = run_pass(store, first.state, at=50.0)
    assert second.commands == ()
    third = run_pass(store, second.state, at=50.0 + PARAMS.bind_burst_seconds)
    assert [(c.uid, c.annotated) for c in of_kind(third, ClearReservation)] == [
        (pod.uid, False) for pod in gang[1:]
    ]
    assert KEY in third.state.turned_away
    assert of_kind(third, DeletePod) == []


def test_a_promised_reservation_whose_node_is_gone_is_written_down_elsewhere():
    gang = members(2)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    store.apply(Delete("Node", "a"))
    moves = of_kind(run_pass(store), RewriteReservation)
    assert {(move.node, move.direct, move.plan_size) for move in moves} == {("b", True, 2)}


def test_a_direct_reservation_that_fits_nowhere_is_taken_back_and_the_pod_is_left():
    store = store_of(
        NODES, members(1, reservation="gone", plan="p", annotations={labels.DIRECT: "true"})
    )
    first = run_pass(store)
    later = run_pass(store, first.state, at=100.0 + PARAMS.pin_lost_seconds)
    assert of_kind(later, RewriteReservation) != [] or of_kind(later, ClearReservation) != []
    full = [make_pod(f"x-{n}", node=n, cpu="4", scheduler_name="other") for n in NAMES]
    for pod in full:
        store.apply(Upsert(pod))
    first = run_pass(store)
    later = run_pass(store, first.state, at=100.0 + PARAMS.pin_lost_seconds)
    (taken,) = of_kind(later, ClearReservation)
    assert taken.annotated
    assert of_kind(later, DeletePod) == []


def bound_direct(count, size=4, *, scheduled_at=10.0, left_at=5.0):
    """``count`` members bound by a plan of ``size``; the others are there and have nothing."""
    owner = make_owner("j", size=size)
    notes = {labels.DIRECT: "true"}
    placed = {"node": "a", "reservation": "a", "plan": "p", "plan_size": size, "annotations": notes}
    return [
        owner,
        *(
            make_pod(f"j-{i}", owner=owner, scheduled_at=scheduled_at, **placed)
            for i in range(count)
        ),
        *(make_pod(f"j-{i}", owner=owner, created_at=left_at) for i in range(count, size)),
    ]


LIVES = {
    "members were there when the burst ran": (bound_direct(2), False),
    "the lost one's successor came later": (bound_direct(3, left_at=11.0), True),
    "no member is left": (bound_direct(4), True),
}


@pytest.mark.parametrize(("gang", "whole"), LIVES.values(), ids=LIVES.keys())
def test_after_a_restart_a_broken_burst_differs_from_a_lost_member(gang, whole):
    snapshot = snapshot_of(NODES, gang)
    assert _is_whole(job_views.view(snapshot, KEY), snapshot) is whole


def _is_whole(job, snapshot):
    return repair.is_whole(job, snapshot) or repair.was_whole(job, QueueState())


def test_a_binding_writes_the_annotations_of_a_release():
    gang = members(2)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    notes = binding.annotations(store.snapshot(), gang[1], {})
    assert (notes[labels.NODE], notes[labels.PLAN_SIZE]) == ("a", "2")
    assert (notes[labels.DIRECT], '"rule"' in notes[labels.DECISION]) == ("true", True)
    released = make_pod("r", reservation="a", plan="p", plan_size=1)
    assert binding.annotations(snapshot_of(NODES, released), released, {}) == {}


def test_a_member_that_lost_its_reservation_is_not_bound():
    gang = members(2)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    call = (gang[1].key, gang[1].uid, "a")
    assert binding.objection(store.snapshot(), *call, PARAMS) is None
    store.unpromise(gang[1].uid)
    assert binding.objection(store.snapshot(), *call, PARAMS) == binding.NO_RESERVATION


def test_in_tree_members_are_bound_as_they_come_and_never_mended():
    owner = make_owner("j", size=4)
    pods = [replace(make_pod(f"j-{i}", owner=owner), scheduling_group="g") for i in range(3)]
    placed = replace(pods[0], node_name="a", phase="Running")
    store = store_of(NODES, owner, placed, pods[1:])
    snapshot = store.snapshot()
    assert binding.objection(snapshot, pods[1].key, pods[1].uid, "a", PARAMS) is None
    burst = binding.burst(snapshot, pods[1], [p.uid for p in pods[1:]], PARAMS)
    assert burst == binding.Burst((), (pods[1].uid, pods[2].uid))
    first = run_pass(store)
    assert first.entries == ()
    assert run_pass(store, first.state, at=1000.0).commands == ()


WAITING = {
    Reason.GANG_DOES_NOT_FIT: False,
    Reason.FRAGMENTED: False,
    Reason.RELEASING: True,
    Reason.GANG_INCOMPLETE: True,
}


@pytest.mark.parametrize(("reason", "free"), WAITING.items())
def test_a_gang_is_planned_at_once_only_while_no_job_lacks_room(reason, free):
    found = run_pass(store_of(NODES, queued_job("j", 2)))
    entry = QueueEntry(found.entries[0].job, found.entries[0].value, reason, "")
    assert direct_gangs.no_job_lacks_room([entry]) is free


def test_a_queued_job_that_no_cycle_has_seen_is_judged_first():
    snapshot = snapshot_of(NODES, queued_job("j", 2))
    assert direct_gangs.has_unviewed(snapshot, frozenset())
    assert not direct_gangs.has_unviewed(snapshot, frozenset({KEY}))
    assert not direct_gangs.has_unviewed(snapshot_of(NODES, members(2)), frozenset())


def test_missing_members_are_those_for_whom_no_reservation_is_kept():
    gang = members(4, count=1)
    store = store_of(NODES, gang)
    ask(store, gang[1])
    assert planner.missing(job_views.view(store.snapshot(), KEY)) == 0
