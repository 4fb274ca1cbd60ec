"""What ends each phase of a change, and what is written then."""

import pytest
from msgspec.structs import replace

from extender.core.records.rescale import Cause, Phase
from shared import labels
from shared.model import MigrationPhase, WorkerCount
from shared.progress import Checkpoint, CheckpointPhase
from tests.fakes.builders import make_pod
from tests.fakes.migrations import make_migration
from tests.unit.core.elastic.changing_cluster import (
    ELASTIC,
    NOW,
    TERMINATING,
    acked,
    crew,
    job_key,
    looked,
    numbers,
    only,
    owner_of,
    rescale,
    workers,
    written,
    yard,
)

HOLDS = {"j-0": acked()}
ASKED = rescale()
LATE = NOW + 110


def end(look):
    one = written(only(look))
    return one.phase, one.why


def test_the_number_goes_out_with_the_word_about_it_when_all_hold() -> None:
    command = only(looked(crew(rescale=ASKED, seen=HOLDS)))
    assert (numbers(command), written(command).phase) == (3, Phase.SHRINKING)
    assert command.owner.resource_version == "1"
    assert written(command).asked == ASKED.asked


def test_every_directory_must_hold() -> None:
    apart = {**ELASTIC, labels.CHECKPOINT: "saved/$(INDEX)"}
    all_workers = tuple(f"default-j-{i}" for i in range(4))
    one = rescale(asked=all_workers)
    seen = {f"j-{i}": acked() for i in range(3)}
    assert looked(crew(rescale=one, notes=apart, seen=seen)).commands == ()
    seen["j-3"] = acked()
    assert numbers(only(looked(crew(rescale=one, notes=apart, seen=seen)))) == 3


WAITING = {
    "not answered": {"j-0": Checkpoint(phase=CheckpointPhase.ASKED, request="r")},
    "no report": {"j-0": Checkpoint()},
    "holds for something else": {"j-0": acked("older")},
    "released something else": {"j-0": Checkpoint(phase=CheckpointPhase.RELEASED, request="older")},
}


@pytest.mark.parametrize("seen", WAITING.values(), ids=WAITING)
def test_until_then_it_waits_and_not_for_ever(seen) -> None:
    snapshot = crew(rescale=ASKED, seen=seen)
    assert looked(snapshot, now=LATE - 1).commands == ()
    assert end(looked(snapshot, now=LATE)) == (Phase.ABORTED, "CheckpointTimeout")


def test_a_silent_agent_is_waited_for_as_long() -> None:
    snapshot = crew(rescale=ASKED, silent=True)
    assert looked(snapshot, now=LATE - 1).commands == ()
    assert end(looked(snapshot, now=LATE)) == (Phase.ABORTED, "AgentStale")


def test_a_late_answer_counts_while_the_hold_lasts() -> None:
    snapshot = crew(rescale=ASKED, seen=HOLDS)
    assert numbers(only(looked(snapshot, now=NOW + 217))) == 3
    assert end(looked(snapshot, now=NOW + 218)) == (Phase.ABORTED, "HoldEnded")


REFUSED = {
    "could not save": ({"j-0": Checkpoint(phase=CheckpointPhase.REFUSED, request="r")}, "Failed"),
    "went on": ({"j-0": Checkpoint(phase=CheckpointPhase.RELEASED, request="r")}, "HoldEnded"),
    "done": ({"j-0": Checkpoint(done=True)}, "TrainingDone"),
}


@pytest.mark.parametrize(("seen", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_ends_it(seen, reason: str) -> None:
    phase, message = end(looked(crew(rescale=ASKED, seen=seen)))
    assert phase is Phase.ABORTED
    assert message.endswith(reason)


def _without(first: str):
    owner = owner_of(rescale=ASKED)
    pods = workers(owner)
    gone = {"deleting": {"deleting": True}, "ended": {"phase": "Failed"}}
    rest = [replace(pods[0], **gone[first])] if first in gone else []
    return yard(owner, rest, pods[1:], seen=HOLDS)


def _moving():
    owner = owner_of(rescale=ASKED)
    moving = make_migration(job=job_key(), phase=MigrationPhase.REQUESTED)
    return yard(owner, workers(owner), moving, seen=HOLDS)


INTERRUPTED = {
    "more by hand": (crew(5, rescale=ASKED, seen=HOLDS), "OwnerChanged"),
    "fewer by hand": (crew(3, rescale=ASKED, pods=4, seen=HOLDS), "OwnerChanged"),
    "suspended by hand": (crew(rescale=ASKED, suspended=True, seen=HOLDS), "OwnerChanged"),
    "a pod is deleted": (_without("deleting"), "PodGone"),
    "a pod ended": (_without("ended"), "PodGone"),
    "a pod is gone": (_without("gone"), "PodGone"),
    "moved meanwhile": (_moving(), "Migrating"),
    "who was to start is gone": (
        crew(rescale=rescale(starts=job_key("s")), seen=HOLDS),
        "StarterGone",
    ),
}


@pytest.mark.parametrize(("snapshot", "reason"), INTERRUPTED.values(), ids=INTERRUPTED)
def test_what_happens_to_others_ends_it_without_a_number(snapshot, reason: str) -> None:
    command = only(looked(snapshot))
    assert (written(command).phase, written(command).why) == (Phase.ABORTED, reason)
    assert (numbers(command), command.suspend) == (None, None)


def test_an_abort_counts_unless_no_party_is_at_fault() -> None:
    refusing = crew(rescale=rescale(aborted=1), seen=REFUSED["could not save"][0])
    assert written(only(looked(refusing))).aborted == 2
    by_hand = crew(5, rescale=rescale(aborted=1), seen=HOLDS)
    assert written(only(looked(by_hand))).aborted == 1


SHRINKING = rescale(Phase.SHRINKING)


def test_a_change_is_done_when_no_surplus_worker_exists() -> None:
    gone = crew(3, rescale=SHRINKING)
    command = only(looked(gone))
    assert (written(command).phase, written(command).why) == (Phase.DONE, "")
    assert (numbers(command), written(command).aborted) == (None, 0)
    assert looked(crew(3, rescale=SHRINKING, pods=4)).commands == ()


def test_who_is_on_the_way_out_is_still_there() -> None:
    owner = owner_of(3, rescale=SHRINKING)
    pods = workers(owner)
    pods[3] = replace(pods[3], deleting=True)
    assert looked(yard(owner, pods)).commands == ()
    assert end(looked(yard(owner, pods), now=NOW + 591)) == (Phase.DONE, "WorkersStay")


def test_a_worker_that_ended_is_not_there() -> None:
    owner = owner_of(3, rescale=SHRINKING)
    pods = workers(owner)
    pods[3] = replace(pods[3], phase="Failed")
    assert end(looked(yard(owner, pods))) == (Phase.DONE, "")


@pytest.mark.parametrize("number", [2, 4, 5])
@pytest.mark.parametrize("phase", [Phase.SHRINKING, Phase.GROWING])
def test_another_number_was_written_by_another_client(number: int, phase: Phase) -> None:
    one = rescale(phase, 4 if phase is Phase.SHRINKING else 2, 3)
    look = looked(crew(number, rescale=one))
    assert end(look) == (Phase.ABORTED, "OwnerChanged")
    assert numbers(only(look)) is None


def test_a_pause_waits_for_all_workers() -> None:
    one = rescale(Phase.SHRINKING, 4, 0, cause=Cause.SLOT)
    owner = owner_of(4, rescale=one, suspended=True)
    server = make_pod("j-ps", owner=owner, role="ps", node="b", deleting=True)
    assert looked(yard(owner, server)).commands == ()
    assert end(looked(yard(owner))) == (Phase.DONE, "")
    assert end(looked(yard(owner_of(4, rescale=one)))) == (Phase.ABORTED, "OwnerChanged")


GROWING = rescale(Phase.GROWING, 2, 5, cause=Cause.SAVES_TIME)


def test_growth_is_done_when_all_have_a_place() -> None:
    assert end(looked(crew(5, rescale=GROWING))) == (Phase.DONE, "")
    assert looked(crew(5, rescale=GROWING, bound=4)).commands == ()
    assert looked(crew(5, rescale=GROWING, pods=4)).commands == ()


GIVEN_BACK = {
    "two found no place": (5, 3, 3),
    "none found a place": (5, 2, 2),
    "one of those before lost its place": (5, 1, 2),
    "two were never made": (3, 3, 3),
}


@pytest.mark.parametrize(("pods", "bound", "to"), GIVEN_BACK.values(), ids=GIVEN_BACK)
def test_who_found_no_place_in_time_is_given_back(pods: int, bound: int, to: int) -> None:
    snapshot = crew(5, rescale=GROWING, pods=pods, bound=bound)
    assert looked(snapshot, now=NOW + 109).commands == ()
    command = only(looked(snapshot, now=NOW + 110))
    back = written(command)
    assert (numbers(command), back.phase, back.cause) == (to, Phase.SHRINKING, Cause.WITHDRAWN)
    assert (back.before, back.to, back.aborted, back.asked) == (5, to, 1, ())
    assert back.id != GROWING.id


def _first_waits_last_runs():
    owner = owner_of(5, rescale=GROWING)
    pods = workers(owner, 5)
    pods[2] = make_pod("j-2", owner=owner, index=2, gated=True)
    return yard(owner, pods)


def _last_has_a_reservation():
    owner = owner_of(5, rescale=GROWING)
    reserved = make_pod("j-4", owner=owner, index=4, reservation="a", plan="p", plan_size=1)
    return yard(owner, workers(owner, 4), reserved)


KEPT = {
    "no running worker is removed for it": _first_waits_last_runs(),
    "who has a reservation is on the way": _last_has_a_reservation(),
    "a plan keeps its number": crew(
        5, rescale=rescale(Phase.GROWING, 2, 5, cause=Cause.SLOT), bound=3
    ),
}


@pytest.mark.parametrize("snapshot", KEPT.values(), ids=KEPT)
def test_what_cannot_be_given_back_waits(snapshot) -> None:
    assert end(looked(snapshot, now=NOW + 110)) == (Phase.DONE, "NoRoom")


def test_a_withdrawn_change_ends_and_its_patience_stays() -> None:
    one = rescale(Phase.SHRINKING, 5, 3, cause=Cause.WITHDRAWN, aborted=2)
    assert written(only(looked(crew(3, rescale=one)))).aborted == 2
    good = rescale(Phase.SHRINKING, aborted=2)
    assert written(only(looked(crew(3, rescale=good)))).aborted == 0


def test_the_owner_is_given_all_it_needs() -> None:
    count = WorkerCount(
        count=4, fields=("/w",), totals=(("/total", 2),), guards=(("/name", "w"),),
        leaving="/strategy", leaving_key="gone",
    )  # fmt: skip
    owner = replace(owner_of(rescale=ASKED), counts=(count,))
    command = only(looked(yard(owner, workers(owner), seen=HOLDS)))
    assert command.fields == (("/w", 3), ("/total", 5))
    assert command.guards == (("/name", "w"),)
    assert command.leaving == (("/strategy", "gone", ("j-3",)),)


def test_no_worker_is_named_in_place_of_one_that_is_being_replaced() -> None:
    count = WorkerCount(count=4, fields=("/w",), leaving="/strategy", leaving_key="gone")
    owner = replace(owner_of(rescale=ASKED), counts=(count,))
    command = only(looked(yard(owner, workers(owner, 3), seen=HOLDS)))
    assert (command.fields, command.leaving) == ((("/w", 3),), ())


def _pair(first: str, second: str, **fields: object):
    """Two jobs that make room for ``s``; a phase, or how far the trainer is."""
    phases = {"aborted": Phase.ABORTED, "shrinking": Phase.SHRINKING}
    entities, seen = [make_pod("s", job="s", gated=True)], {}
    for name, state in (("j", first), ("k", second)):
        if state == "absent":
            continue
        phase = phases.get(state, Phase.ASKED)
        asked = (f"default-{name}-0",)
        given = {"starts": "default/group/s", "group": 2, "asked": asked, "id": name, **fields}
        one = rescale(phase, name=name, **given)
        owner = owner_of(3 if phase is Phase.SHRINKING else 4, name, rescale=one)
        entities += [owner, *workers(owner)]
        seen[f"{name}-0"] = acked(name) if state == "holds" else Checkpoint()
    return yard(entities, seen=seen)


def _of_j(look) -> object:
    found = [c for c in look.commands if c.owner.name == "j"]
    return (written(found[0]).phase, written(found[0]).why) if found else None


TOGETHER = {
    "the other does not hold yet": ("holds", "asked", None),
    "both hold": ("holds", "holds", (Phase.SHRINKING, "")),
    "the other was first": ("holds", "shrinking", (Phase.SHRINKING, "")),
    "the other was never written": ("holds", "absent", None),
    "the other cannot": ("holds", "aborted", (Phase.ABORTED, "OthersStay")),
}


@pytest.mark.parametrize(("one", "other", "ends"), TOGETHER.values(), ids=TOGETHER)
def test_those_who_make_room_for_one_start_go_together(one, other, ends) -> None:
    assert _of_j(looked(_pair(one, other))) == ends


@pytest.mark.parametrize("other", ["asked", "absent"])
def test_no_worker_leaves_for_a_start_that_another_job_prevents(other: str) -> None:
    assert _of_j(looked(_pair("holds", other), now=LATE)) == (Phase.ABORTED, "OthersStay")


def test_who_need_not_be_asked_waits_for_the_others_too() -> None:
    starts = job_key("s")
    one = rescale(starts=starts, group=2, asked=(), hold_until=0.0)
    owner = owner_of(rescale=one, notes=TERMINATING)
    waiting = replace(make_pod("s-0", owner=owner_of(1, "s"), gated=True, index=0))
    alone = yard(owner, workers(owner), owner_of(1, "s"), waiting)
    assert looked(alone).commands == ()
    assert end(looked(alone, now=LATE)) == (Phase.ABORTED, "OthersStay")
