"""EASY backfill: the reservation of the head, jobs that start before it, and reasons."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters, KeepsRoom, Order
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Delete, JobKey, Pod, Upsert
from tests.fakes.builders import make_gang, make_node, make_pod
from tests.unit.core.clusters import queued_job
from tests.unit.core.queue.runs import START, Spec, World

PARAMS = CoreParameters(
    waiting=BackfillParameters(default_max_wait_seconds=None, keeps_room=KeepsRoom.OVERDUE)
)
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
WHOLE = Spec("whole", 2, cpu="4", comes_at=1.0, max_wait=3.0)
"""Wants both nodes."""


def small(name: str, comes_at: float, **more: object) -> Spec:
    return Spec(name, cpu="2", comes_at=comes_at, **more)  # type: ignore[arg-type] - passed through


def at(seconds: float, *specs: Spec, params: CoreParameters = PARAMS) -> tuple[World, QueueOutcome]:
    """Run up to a moment, and one pass more at it."""
    world = World(NODES, specs, params).run(until=START + seconds - 0.5)
    world.now = START + seconds
    return world, world.run_pass()


def reasons(outcome: QueueOutcome) -> dict[str, Reason]:
    return {entry.job.name: entry.reason for entry in outcome.entries}


def head(outcome: QueueOutcome) -> str | None:
    return outcome.backfill_head.job.rpartition("/")[2] if outcome.backfill_head else None


STREAM = [small(f"s{i}", float(i), lasts=9.0) for i in range(30)]


def test_without_a_maximum_wait_small_jobs_pass_a_large_one_for_ever() -> None:
    world = World(NODES, [replace(WHOLE, max_wait=None), *STREAM], PARAMS).run()
    assert world.started["whole"] >= max(world.started[job.name] for job in STREAM)
    assert world.heads == []


def test_a_job_that_has_waited_too_long_starts_when_those_that_run_have_ended() -> None:
    world = World(NODES, [WHOLE, *STREAM], PARAMS).run()
    at_its_deadline = [start for start in world.started.values() if start <= 4.0]
    assert world.started["whole"] <= 4.0 + 9.0
    assert {name for _, name in world.heads} == {"whole"}
    assert len(at_its_deadline) < len(world.started)


def test_a_job_without_a_maximum_wait_has_that_of_the_settings() -> None:
    params = CoreParameters(
        waiting=BackfillParameters(default_max_wait_seconds=5.0, keeps_room=KeepsRoom.OVERDUE)
    )
    world = World(NODES, [replace(WHOLE, max_wait=None), *STREAM], params).run()
    assert world.started["whole"] <= 1.0 + 5.0 + 9.0


def keeping(keeps: KeepsRoom) -> CoreParameters:
    return CoreParameters(
        order=Order.CREATION,
        waiting=BackfillParameters(default_max_wait_seconds=None, keeps_room=keeps),
    )


FIRST = replace(WHOLE, max_wait=None)
UNSTATED = small("u", 0.0, lasts=20.0, stated=False)
NEXT: dict[str, tuple[KeepsRoom, list[Spec], str | None, Reason]] = {
    "only if its maximum wait is over, by setting": (
        KeepsRoom.OVERDUE,
        [small("r", 0.0, lasts=20.0)],
        None,
        Reason.RELEASING,
    ),
    "if the ends of those that run are known": (
        KeepsRoom.NEXT_IF_KNOWN,
        [small("r", 0.0, lasts=20.0)],
        "whole",
        Reason.BEHIND_RESERVATION,
    ),
    "not if one of them is unknown": (
        KeepsRoom.NEXT_IF_KNOWN,
        [UNSTATED],
        None,
        Reason.RELEASING,
    ),
    "also then, by setting": (KeepsRoom.NEXT, [UNSTATED], "whole", Reason.BEHIND_RESERVATION),
}


@pytest.mark.parametrize(("keeps", "run", "kept", "later"), NEXT.values(), ids=NEXT.keys())
def test_room_is_kept_for_the_first_that_does_not_fit(keeps, run, kept, later) -> None:
    specs = [*run, FIRST, small("late", 2.0, lasts=30.0)]
    _, outcome = at(2.0, *specs, params=keeping(keeps))
    assert head(outcome) == kept
    assert reasons(outcome)["late"] is later
    assert reasons(outcome)["whole"] is Reason.GANG_DOES_NOT_FIT


def test_a_job_that_never_fits_is_no_head_and_the_next_one_is() -> None:
    never = Spec("never", 3, cpu="4", comes_at=1.0)
    specs = [small("r", 0.0, lasts=20.0), never, FIRST, small("late", 2.0, lasts=30.0)]
    _, outcome = at(2.0, *specs, params=keeping(KeepsRoom.NEXT_IF_KNOWN))
    assert head(outcome) == "whole"


def test_a_job_passes_only_if_it_ends_before_the_head_is_expected() -> None:
    """The jobs that run may end earlier than the upper end of their band."""
    world = World(NODES, [FIRST, small("p", 2.0, lasts=40.0)], keeping(KeepsRoom.NEXT_IF_KNOWN))
    running = small("r-7", 0.0, lasts=90.0, stated=False)
    world.specs[running.key] = running
    world._coming.insert(0, running)
    world.state = QueueState(runs={"default/job/r": (20.0, 20.0, 90.0)})
    world.run(until=START + 2.5)
    assert "p" not in world.started


def test_the_deadline_wakes_the_next_pass() -> None:
    _, before = at(2.0, small("s", 0.0), WHOLE)
    assert (head(before), before.wake_after_seconds) == (None, 2.0)
    _, after = at(4.0, small("s", 0.0), WHOLE)
    assert (head(after), after.wake_after_seconds) == ("whole", None)


PASSING: dict[str, tuple[Spec, Reason]] = {
    "it ends before the head starts": (small("s", 5.0, lasts=5.0), Reason.RELEASING),
    "it ends the moment the head starts": (small("s", 5.0, lasts=6.0), Reason.RELEASING),
    "it would end later, where the head goes": (
        small("s", 5.0, lasts=7.0),
        Reason.BEHIND_RESERVATION,
    ),
    "its end is unknown": (
        small("s", 5.0, lasts=1.0, stated=False),
        Reason.BEHIND_RESERVATION,
    ),
    "there is no room for it, head or not": (
        Spec("s", 4, cpu="2", comes_at=5.0, lasts=1.0, stated=False),
        Reason.GANG_DOES_NOT_FIT,
    ),
    "it never fits anywhere": (Spec("s", cpu="9", comes_at=5.0), Reason.NO_SUCH_NODE),
}


@pytest.mark.parametrize(("spec", "want"), PASSING.values(), ids=PASSING.keys())
def test_jobs_that_may_start_before_the_head(spec: Spec, want: Reason) -> None:
    runs_until_11 = small("first", 0.0, lasts=11.0)
    _, outcome = at(5.0, runs_until_11, WHOLE, spec)
    assert head(outcome) == "whole"
    assert reasons(outcome) == {"whole": Reason.MAX_WAIT_DRAINING, "s": want}


def test_room_that_the_head_does_not_need_is_open_to_all() -> None:
    head_of_three = Spec("wide", 2, cpu="3", comes_at=1.0, max_wait=3.0)
    stays = Spec("s", cpu="1", comes_at=5.0, lasts=1000.0, stated=False)
    world, outcome = at(5.0, small("first", 0.0, lasts=11.0), head_of_three, stays)
    assert reasons(outcome) == {"wide": Reason.MAX_WAIT_DRAINING, "s": Reason.RELEASING}
    assert world.run().started["wide"] == 11.0


def test_the_head_is_planned_anew_if_another_job_can_start_then() -> None:
    """The head would take a; the selector leaves the other job no choice, so it takes b."""
    nodes = [make_node("a", cpu="4", labels={"disk": "ssd"}), make_node("b", cpu="4")]
    specs = [
        small("first", 0.0, lasts=11.0, where={"disk": "ssd"}),
        Spec("last", cpu="3", comes_at=0.0, lasts=11.0),
        Spec("one", cpu="4", comes_at=1.0, max_wait=3.0),
        small("s", 5.0, lasts=100.0, where={"disk": "ssd"}),
    ]
    for tries, started in ((0, 11.0), (20, 5.0)):
        params = CoreParameters(
            waiting=BackfillParameters(default_max_wait_seconds=None, passing_tries=tries)
        )
        world = World(nodes, specs, params).run()
        assert world.started["one"] == 11.0
        assert world.started["s"] >= started


def test_only_the_oldest_deadline_has_a_reservation_and_the_next_follows() -> None:
    later = Spec("later", 2, cpu="4", comes_at=2.0, max_wait=18.0)
    world = World(NODES, [WHOLE, later, *STREAM], PARAMS).run()
    names = [name for _, name in world.heads]
    assert names == sorted(names, key=["whole", "later"].index)
    assert world.started["whole"] < world.started["later"] <= 20.0 + 9.0 + 10.0


def test_a_gang_that_would_never_fit_delays_no_job_and_has_that_reason() -> None:
    huge = Spec("huge", 3, cpu="4", comes_at=0.0, max_wait=1.0)
    _, outcome = at(5.0, small("first", 0.0), huge, WHOLE, small("s", 5.0))
    assert reasons(outcome)["huge"] == Reason.GANG_TOO_LARGE
    assert head(outcome) == "whole"
    messages = {entry.reason: entry.message for entry in outcome.entries}
    assert messages[Reason.GANG_TOO_LARGE] == Reason.GANG_TOO_LARGE.message


CANNOT_HOLD = {
    "pods are missing": (queued_job("odd", 4)[:3], Reason.GANG_INCOMPLETE),
    "the size is known from nowhere": (
        make_gang("odd", workers=2, gated=True, annotations={labels.MAX_WAIT: "1s"}),
        Reason.GANG_SIZE_UNKNOWN,
    ),
    "the wish cannot be read": (
        make_gang("odd", workers=2, gated=True, annotations={labels.MAX_WAIT: "soon"}),
        Reason.MISCONFIGURED,
    ),
}


@pytest.mark.parametrize(("entities", "want"), CANNOT_HOLD.values(), ids=CANNOT_HOLD.keys())
def test_a_job_that_waits_for_something_other_than_room_has_no_reservation(entities, want) -> None:
    params = CoreParameters(waiting=BackfillParameters(default_max_wait_seconds=1.0))
    world = World(NODES, [small("s", 0.0), WHOLE], params)
    for entity in entities:
        world.store.apply(Upsert(entity))
    world.run(until=START + 4.5)
    world.now = START + 5.0
    outcome = world.run_pass()
    assert reasons(outcome)["odd"] == want
    assert head(outcome) == "whole"


def test_a_whole_gang_that_wants_more_pods_has_no_reservation() -> None:
    params = CoreParameters(waiting=BackfillParameters(default_max_wait_seconds=1.0))
    gang = make_gang(
        "elastic", workers=12, gated=True, created_at=START, cpu="1", memory="0",
        annotations={labels.MIN_AVAILABLE: "8"},
    )  # fmt: skip
    world = World(NODES, [], params)
    for pod in gang:
        world.store.apply(Upsert(pod))
    world.specs = {JobKey("default/group/elastic"): Spec("elastic", lasts=1e6)}
    world.now = START + 10.0
    assert len([c for c in world.run_pass().commands if isinstance(c, ReleaseGang)]) == 1
    outcome = world.run_pass()
    assert reasons(outcome) == {"elastic": Reason.GANG_DOES_NOT_FIT}
    assert head(outcome) is None


def test_a_gang_that_lost_a_member_is_completed_despite_a_reservation() -> None:
    world, _ = at(3.0, Spec("runs", 3, cpu="1", comes_at=0.0, lasts=50.0, stated=False), WHOLE)
    world.now = START + 5.0
    assert head(world.run_pass()) == "whole"
    lost = next(pod for pod in world.store.snapshot().pods.values() if pod.name == "runs-0")
    world.store.apply(Delete("Pod", lost.key, lost.uid))
    world.store.apply(Upsert(replaced(lost, "runs-x")))
    outcome = world.run_pass()
    assert reasons(outcome) == {"whole": Reason.MAX_WAIT_DRAINING, "runs": Reason.RELEASING}


def replaced(lost: Pod, name: str) -> Pod:
    """What the owner makes in its place."""
    made = make_pod(name, gated=True, created_at=lost.created_at + 5.0, shape=lost.shape)
    return changed(made, controller=lost.controller, labels=lost.labels)


def test_pods_of_other_schedulers_are_expected_to_stay() -> None:
    foreign = make_pod("x", node="a", cpu="1", scheduler_name="default-scheduler")
    world = World([*NODES], [small("s", 0.0), WHOLE], PARAMS)
    world.store.apply(Upsert(foreign))
    world.run(until=START + 4.5)
    world.now = START + 5.0
    assert reasons(world.run_pass())["whole"] == Reason.GANG_TOO_LARGE


def test_the_head_is_the_same_after_a_restart() -> None:
    world, before = at(5.0, small("first", 0.0, lasts=11.0), WHOLE, small("s", 5.0))
    world.state = type(world.state)()
    after = world.run_pass()
    assert head(before) == head(after) == "whole"
    assert [c for c in after.commands if isinstance(c, ReleaseGang)] == []
