"""One pass of the queue: order, whole gangs, reasons and repair."""

import weakref

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import (
    DeletePod,
    EmitEvent,
    ReleaseGang,
    RewriteReservation,
    SetQueuedCondition,
)
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Backoff, Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from extender.core.placement import planner
from extender.core.queue.state import QueueState, refuse
from extender.store.assumed import Assumption
from shared import labels
from shared.model import Delete, Upsert
from tests.fakes.builders import (
    make_gang,
    make_namespace,
    make_node,
    make_owner,
    make_pod,
    make_quota,
    pinned_to,
)
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of, store_of

PARAMS = CoreParameters()
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]


def run(*entities, state=None, at=100.0, params=PARAMS):
    snapshot = snapshot_of(*entities)
    return queue_pass(snapshot, state or QueueState(), Reading(at, at), params)


def of_kind(outcome, kind):
    return [c for c in outcome.commands if isinstance(c, kind)]


def released(outcome):
    return [gang.job.rpartition("/")[2] for gang in of_kind(outcome, ReleaseGang)]


def reasons(outcome):
    return {entry.job.name: entry.reason for entry in outcome.entries}


def test_a_gang_that_fits_is_released_as_a_whole():
    outcome = run(NODES, queued_job("j", 4))
    (gang,) = of_kind(outcome, ReleaseGang)
    assert len(gang.pods) == 4
    assert {pod.node for pod in gang.pods} == {"a"}
    assert {pod.plan for pod in gang.pods} == {gang.pods[0].plan}
    assert all(pod.terms and pod.terms[0] == pinned_to("a")[0] for pod in gang.pods)


def test_nothing_of_a_gang_that_does_not_fit_is_released():
    outcome = run(NODES, queued_job("j", 9))
    assert released(outcome) == []
    assert reasons(outcome)["j"] in {Reason.GANG_DOES_NOT_FIT, Reason.FRAGMENTED}


def test_nodes_used_by_one_job_are_not_free_for_the_next():
    outcome = run(NODES, queued_job("one", 5), queued_job("two", 4, created_at=1.0))
    assert len(released(outcome)) == 1


def test_a_pass_keeps_a_few_tables_of_nodes_however_many_jobs_it_places(monkeypatch):
    tables, kept, plan = [], [], planner.plan

    def watched(*args, **kwargs):
        kept.append(sum(table() is not None for table in tables))
        result = plan(*args, **kwargs)
        tables.append(weakref.ref(result.placement.node_table))
        return result

    monkeypatch.setattr(planner, "plan", watched)
    jobs = [queued_job(f"j{i}", 2, created_at=i) for i in range(40)]
    assert len(released(run([make_node("a", cpu="80", memory="1Ti")], *jobs))) == 40
    assert max(kept) <= planner.MOST_TABLES + 1  # those with cached refusals, and the last


def test_as_many_as_fit_are_released_if_the_gang_needs_no_more():
    gang = make_gang("j", workers=10, gated=True, annotations={labels.MIN_AVAILABLE: "6"})
    (release,) = of_kind(run(NODES, gang), ReleaseGang)
    assert len(release.pods) == 8


def test_the_rest_of_a_gang_that_never_was_whole_joins_its_plan():
    released_half = released_job("j", ["a", "a"], size=4)
    rest = [p for p in queued_job("j", 4)[1:] if p.name in {"j-2", "j-3"}]
    (gang,) = of_kind(run(NODES, released_half, rest), ReleaseGang)
    assert {(pod.plan, pod.plan_size) for pod in gang.pods} == {("p1", 4)}


def test_the_successor_of_a_lost_member_gets_a_plan_of_its_own():
    whole = released_job("j", ["a", "a", "a"], bound=3, size=4)
    successor = [p for p in queued_job("j", 4)[1:] if p.name == "j-3"]
    (gang,) = of_kind(run(NODES, whole, successor), ReleaseGang)
    assert [(pod.plan != "p1", pod.plan_size) for pod in gang.pods] == [(True, 1)]


WAITING = {
    "pods are missing": (queued_job("j", 4)[:4], Reason.GANG_INCOMPLETE),
    "the size is known from nowhere": (
        make_gang("j", workers=2, gated=True),
        Reason.GANG_SIZE_UNKNOWN,
    ),
    "the size is not a number": (
        make_gang("j", workers=2, gated=True, annotations={labels.MIN_AVAILABLE: "two"}),
        Reason.MISCONFIGURED,
    ),
    "the sizes differ": (
        [
            make_pod("j-0", job="j", gated=True, annotations={labels.MIN_AVAILABLE: "2"}),
            make_pod("j-1", job="j", gated=True, annotations={labels.MIN_AVAILABLE: "3"}),
        ],
        Reason.MISCONFIGURED,
    ),
    "others hold a gate": (
        [replace(p, gates=(labels.GATE, "example.com/hold")) for p in queued_job("j", 2)[1:]]
        + [make_owner("j", size=2)],
        Reason.ADMISSION_GATED,
    ),
    "no node could ever hold a pod": (queued_job("j", 2, cpu="64"), Reason.NO_SUCH_NODE),
}


@pytest.mark.parametrize(("entities", "want"), WAITING.values(), ids=WAITING.keys())
def test_a_waiting_job_has_a_reason_and_delays_no_other(entities, want):
    outcome = run(NODES, entities, queued_job("other", 2))
    assert reasons(outcome)["j"] == want
    assert released(outcome) == ["other"]


def on_owners(outcome):
    """Events about the jobs themselves, not about pods of a gang."""
    jobs = {entry.job.about.uid for entry in outcome.entries}
    return [event for event in of_kind(outcome, EmitEvent) if event.about.uid in jobs]


def test_a_reason_is_written_once_as_event_and_condition():
    gang = queued_job("j", 9)
    first = run(NODES, gang)
    assert len(on_owners(first)) == 1
    conditions = of_kind(first, SetQueuedCondition)
    assert len(conditions) == 9
    reported = [gang[0], *(replace(p, queued_reason=conditions[0].reason.value) for p in gang[1:])]
    again = run(NODES, reported, state=first.state)
    assert of_kind(again, EmitEvent) == of_kind(again, SetQueuedCondition) == []


def test_a_young_job_gets_an_event_only_if_a_person_must_act():
    young = queued_job("young", 9, created_at=99.0)
    assert of_kind(run(NODES, young), EmitEvent) == []
    outcome = run(NODES, young)
    later = run(NODES, young, state=outcome.state, at=103.0)
    assert [e.reason for e in on_owners(later)] == [Reason.GANG_DOES_NOT_FIT]
    wrong = make_gang("w", workers=2, gated=True, created_at=99.0)
    assert [e.reason for e in on_owners(run(NODES, wrong))] == [Reason.GANG_SIZE_UNKNOWN]


def test_a_misconfiguration_names_label_and_expectation():
    gang = make_gang("j", workers=2, gated=True, annotations={labels.MIN_AVAILABLE: "two"})
    (event,) = on_owners(run(NODES, gang))
    assert event.warning
    assert (
        event.message
        == "annotation shuntyard.io/min-available: 'two' is not an integer of at least 1"
    )


def urgent(name, created_at, **annotations):
    return queued_job(name, 5, created_at=created_at, annotations=annotations)


def test_the_order_is_cps_by_default_and_creation_if_set():
    early = urgent("early", 0.0)
    late = urgent("late", 1.0, **{labels.MAX_WAIT: "2m"})
    assert released(run(NODES, early, late)) == ["late"]
    by_creation = CoreParameters(order=Order.CREATION)
    assert released(run(NODES, early, late, params=by_creation)) == ["early"]


def test_user_priority_comes_from_namespace_or_quota():
    one = queued_job("one", 5, namespace="x")
    two = queued_job("two", 5, created_at=1.0, namespace="y")
    note = {labels.USER_PRIORITY: "9"}
    nine = [make_namespace("y", annotations=note), make_quota("q", namespace="y", annotations=note)]
    for entity in nine:
        owners = [
            o if i else replace(o, namespace=ns)
            for job, ns in ((one, "x"), (two, "y"))
            for i, o in enumerate(job)
        ]
        assert released(run(NODES, owners, [entity])) == ["two"]


def test_an_invalid_user_priority_is_reported_once_and_delays_no_job():
    namespace = make_namespace(annotations={labels.USER_PRIORITY: "high"})
    outcome = run(NODES, queued_job("j", 2), namespace)
    assert released(outcome) == ["j"]
    (event,) = on_owners(outcome)
    assert (event.reason, event.warning) == ("AnnotationIgnored", True)
    assert "shuntyard.io/user-priority" in event.message
    again = run(NODES, queued_job("j", 9), namespace, state=outcome.state)
    assert [e.reason for e in on_owners(again)] == ["GangDoesNotFit"]


def test_a_reservation_whose_node_is_gone_moves_to_a_pinned_one():
    job = released_job("j", ["gone"], shape=None)
    pod = replace(job[1], shape=replace(job[1].shape, affinity=pinned_to("gone", "b")))
    outcome = run(NODES, job[0], pod)
    (move,) = of_kind(outcome, RewriteReservation)
    assert (move.pod, move.node, move.resource_version) == (pod.key, "b", "1")


def test_on_a_crowded_node_the_first_reservation_stays_and_the_next_moves():
    job = released_job("j", ["a", "a"], cpu="2")
    pods = [replace(p, shape=replace(p.shape, affinity=pinned_to("a", "b"))) for p in job[1:]]
    foreign = make_pod("foreign", node="a", cpu="2", scheduler_name="default-scheduler")
    (move,) = of_kind(run(NODES, job[0], pods, foreign), RewriteReservation)
    assert (move.pod, move.node) == (pods[1].key, "b")


def test_a_reservation_leaves_a_node_that_was_not_offered():
    job = released_job("j", ["a"])
    pod = replace(job[1], shape=replace(job[1].shape, affinity=pinned_to("a", "b")))
    (move,) = of_kind(
        run(NODES, job[0], pod, state=refuse(QueueState(), [(pod.uid, "a")])), RewriteReservation
    )
    assert move.node == "b"


def test_a_lost_pin_is_given_time_then_the_pod_is_deleted():
    job = released_job("j", ["gone"])
    pod = replace(job[1], shape=replace(job[1].shape, affinity=pinned_to("gone")))
    first = run(NODES, job[0], pod, at=100.0)
    assert of_kind(first, DeletePod) == []
    assert first.wake_after_seconds == PARAMS.pin_lost_seconds
    later = run(NODES, job[0], pod, state=first.state, at=100.0 + PARAMS.pin_lost_seconds)
    (deletion,) = of_kind(later, DeletePod)
    assert (deletion.uid, deletion.cause, deletion.bare) == (pod.uid, "pin-lost", False)
    assert later.state.backoff["default/job/j"] == Backoff(130.0 + PARAMS.backoff_seconds, 1)


def test_a_job_that_gave_its_reservations_back_waits():
    state = QueueState(backoff={"default/job/j": Backoff(until=110.0, strikes=1)})
    outcome = run(NODES, queued_job("j", 2), state=state, at=100.0)
    assert reasons(outcome)["j"] == Reason.BACKING_OFF
    assert outcome.wake_after_seconds == 10.0
    assert released(run(NODES, queued_job("j", 2), state=outcome.state, at=110.0)) == ["j"]


def broken(size=4):
    """Two bound, and the other two were deleted before they were bound."""
    job = released_job("j", ["a", "a", "b", "b"], bound=2)
    return job[:3]


def test_a_broken_burst_is_dissolved_when_its_members_cannot_be_reserved():
    entities = [NODES, broken()]
    job = released_job("j", ["a", "a", "b", "b"], bound=2)
    begun = run(NODES, job, at=100.0)
    assert of_kind(begun, DeletePod) == []
    patience = PARAMS.bind_burst_seconds
    partial = run(*entities, state=begun.state, at=101.0)
    assert of_kind(partial, DeletePod) == []
    outcome = run(*entities, state=partial.state, at=101.0 + patience)
    assert [c.cause for c in of_kind(outcome, DeletePod)] == ["partial-gang"] * 2
    assert outcome.state.backoff["default/job/j"].strikes == 1


def test_a_burst_that_goes_on_is_not_broken_however_long_it_takes():
    state, rest = None, PARAMS.bind_burst_seconds + PARAMS.pin_lost_seconds
    for bound in (1, 2, 3):
        job = released_job("j", ["a", "a", "b", "b"], bound=bound)
        outcome = run(NODES, job, state=state, at=(rest - 1) * bound)
        assert of_kind(outcome, DeletePod) == []
        state = outcome.state
    outcome = run(NODES, job, state=state, at=(rest - 1) * 3 + rest)
    assert len(of_kind(outcome, DeletePod)) == 4


def test_a_member_that_is_bound_a_second_time_is_no_progress():
    state, rest = None, PARAMS.bind_burst_seconds + PARAMS.pin_lost_seconds
    deleted = []
    for turn, bound in enumerate((2, 1, 2, 1, 2)):
        job = released_job("j", ["a", "a", "b", "b"], bound=bound)
        outcome = run(NODES, job, state=state, at=turn * rest / 4)
        deleted += of_kind(outcome, DeletePod)
        state = outcome.state
    assert deleted


def test_a_broken_burst_is_completed_when_its_members_can_be_reserved():
    job = broken()
    owner, new = job[0], [make_pod(f"j-new-{i}", owner=job[0], gated=True) for i in range(2)]
    state = QueueState(known=frozenset({"default/job/j"}), partial_since={"default/job/j": 0.0})
    outcome = run(NODES, owner, job[1:], new, state=state, at=100.0)
    assert of_kind(outcome, DeletePod) == []
    (gang,) = of_kind(outcome, ReleaseGang)
    assert len(gang.pods) == 2


def test_a_gang_that_was_whole_keeps_its_members_when_it_loses_one():
    store = store_of(NODES, released_job("j", ["a", "a", "b"], bound=3))
    outcome = queue_pass(store.snapshot(), QueueState(), Reading(0, 0), PARAMS)
    lost = released_job("j", ["a", "a", "b"], bound=3)[3]
    store.apply(Delete("Pod", lost.key, lost.uid))
    store.apply(Upsert(make_pod("j-new", owner=make_owner("j", size=3), gated=True, cpu="64")))
    for at in (100.0, 1000.0):
        outcome = queue_pass(store.snapshot(), outcome.state, Reading(at, at), PARAMS)
        assert of_kind(outcome, DeletePod) == []


def test_after_a_restart_a_gang_with_bound_and_reserved_members_of_one_plan_is_partial():
    job = released_job("j", ["a", "a", "b"], bound=1)
    outcome = run(NODES, job)
    assert "default/job/j" in outcome.state.partial_since
    assert of_kind(outcome, DeletePod) == []


def test_a_member_refused_by_the_kubelet_was_never_placed():
    job = released_job("j", ["a", "a", "b"], bound=3)
    failed = replace(job[3], phase="Failed", phase_reason="OutOfcpu")
    new = make_pod("j-new", owner=job[0], gated=True, cpu="64")
    state = QueueState(known=frozenset({"default/job/j"}), complete=frozenset({"default/job/j"}))
    outcome = run(NODES, job[:3], failed, new, state=state)
    assert "default/job/j" in outcome.state.partial_since
    later = run(NODES, job[:3], failed, new, state=outcome.state, at=200.0)
    assert {c.uid for c in of_kind(later, DeletePod)} == {p.uid for p in job[1:3]}


def test_half_released_members_are_given_back_if_the_rest_never_fits():
    owner = make_owner("j", size=4)
    reserved = released_job("j", ["a", "a"], size=4)[1:]
    rest = [make_pod(f"j-{i}", owner=owner, gated=True, cpu="3") for i in (2, 3, 4)][:2]
    blocker = make_pod("x", node="b", cpu="4", scheduler_name="default-scheduler")
    first = run(NODES, owner, reserved, rest, blocker, at=0.0)
    assert released(first) == []
    later = run(
        NODES, owner, reserved, rest, blocker, state=first.state, at=PARAMS.bind_burst_seconds
    )
    assert {c.uid for c in of_kind(later, DeletePod)} == {p.uid for p in reserved}


def test_half_released_members_keep_their_reservations_while_the_rest_is_placed():
    owner = make_owner("j", size=4)
    reserved = released_job("j", ["a", "a"], size=4)[1:]
    rest = [make_pod(f"j-{i}", owner=owner, gated=True) for i in (2, 3)]
    (gang,) = of_kind(run(NODES, owner, reserved, rest), ReleaseGang)
    assert len(gang.pods) == 2


def test_a_pass_is_a_function_of_its_arguments():
    entities = [NODES, queued_job("one", 5), queued_job("two", 2, created_at=1.0)]
    one, two = run(*entities), run(*reversed(entities))
    assert one.commands == two.commands
    assert one.state == two.state


def test_a_reservation_taken_in_flight_is_not_given_twice():
    store = store_of(NODES, queued_job("j", 4))
    first = queue_pass(store.snapshot(), QueueState(), Reading(0, 0), PARAMS)
    pods = store.snapshot().pods
    for release in of_kind(first, ReleaseGang)[0].pods:
        store.assume(
            Assumption.reserved(
                pods[release.pod].uid, release.node, plan=release.plan, plan_size=4, at=0.0
            )
        )
    store.apply(Upsert(make_node("c")))
    second = queue_pass(store.snapshot(), first.state, Reading(1, 1), PARAMS)
    assert of_kind(second, ReleaseGang) == []
    store.check_invariants()


def test_pods_of_a_deleted_job_do_not_count_for_a_new_job_of_its_name():
    old = make_owner("j", uid="old", size=4)
    done = [make_pod(f"j-old-{i}", owner=old, node="a", phase="Succeeded") for i in range(4)]
    outcome = run(NODES, done, queued_job("j", 9))
    assert released(outcome) == []
    assert reasons(outcome)["j"] == Reason.GANG_DOES_NOT_FIT
    assert released(run(NODES, done, queued_job("j", 4))) == ["j"]
