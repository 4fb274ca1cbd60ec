"""How a change begins: who is asked, which number goes out, and why nothing does."""

import pytest
from msgspec.structs import replace

from extender.core.records.rescale import Cause, Phase
from shared import labels
from shared.progress import Checkpoint
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
    propose,
    rescale,
    tuned,
    why,
    workers,
    written,
    yard,
)

FREE = (Cause.SLOT, Cause.MORE_IMPORTANT, Cause.STARVING)


def test_workers_are_asked_before_they_leave() -> None:
    command = only(looked(crew(), propose(2)))
    asked = written(command)
    assert (asked.phase, asked.before, asked.to, asked.asked) == (
        Phase.ASKED,
        4,
        2,
        ("default-j-0",),
    )
    assert (asked.ask_until, asked.hold_until) == (NOW + 120, NOW + 240)
    assert numbers(command) is None
    assert command.suspend is None
    assert command.event is not None
    assert "4 to 2" in command.event.message


def test_who_need_not_be_asked_leaves_at_once() -> None:
    command = only(looked(crew(notes=TERMINATING), propose(2)))
    assert (written(command).phase, numbers(command)) == (Phase.SHRINKING, 2)


def test_who_has_no_place_yet_leaves_at_once() -> None:
    command = only(looked(crew(bound=3), propose(3)))
    assert (written(command).phase, numbers(command)) == (Phase.SHRINKING, 3)


def test_a_reservation_is_a_place() -> None:
    owner = owner_of()
    pods = workers(owner, 3)
    reserved = make_pod("j-3", owner=owner, index=3, reservation="a", plan="p", plan_size=1)
    asked = only(looked(yard(owner, pods, reserved), propose(3)))
    assert (written(asked).phase, written(asked).asked) == (Phase.ASKED, ("default-j-0",))


def test_each_directory_has_a_pod_that_gets_the_request() -> None:
    apart = {**ELASTIC, labels.CHECKPOINT: "saved/$(INDEX)"}
    seen = {f"j-{i}": Checkpoint() for i in range(4)}
    asked = written(only(looked(crew(notes=apart, seen=seen), propose(3)))).asked
    assert asked == tuple(f"default-j-{i}" for i in range(4))


def test_more_workers_are_written_at_once() -> None:
    command = only(looked(crew(), propose(6, Cause.SAVES_TIME)))
    assert (written(command).phase, numbers(command)) == (Phase.GROWING, 6)
    assert command.suspend is None


@pytest.mark.parametrize(("to", "written_to"), [(1, 2), (0, 2), (9, 6), (-3, 2)])
def test_the_range_is_kept(to: int, written_to: int) -> None:
    assert written(only(looked(crew(), propose(to)))).to == written_to


@pytest.mark.parametrize("cause", [Cause.SLOT, Cause.SLOWS])
def test_what_is_so_already_is_not_written(cause: Cause) -> None:
    look = looked(crew(), propose(4, cause))
    assert (look.commands, why(look)) == ((), {})


def test_a_plan_pauses_a_job_after_its_checkpoint() -> None:
    asked = only(looked(crew(), propose(0, Cause.SLOT)))
    assert (written(asked).phase, written(asked).to) == (Phase.ASKED, 0)


def test_a_job_that_does_not_run_yet_is_paused_at_once() -> None:
    command = only(looked(crew(bound=0), propose(0, Cause.SLOT)))
    assert (written(command).phase, command.suspend, numbers(command)) == (
        Phase.SHRINKING,
        True,
        None,
    )


PAUSED = rescale(Phase.DONE, 4, 0, cause=Cause.SLOT, since=NOW - 500, most=6)


@pytest.mark.parametrize(("to", "comes"), [(3, 3), (9, 6)])
def test_a_paused_job_comes_back_though_it_has_no_pods(to: int, comes: int) -> None:
    paused = yard(owner_of(4, rescale=PAUSED, suspended=True))
    command = only(looked(paused, propose(to, Cause.SLOT)))
    assert (numbers(command), command.suspend) == (comes, False)
    assert (written(command).phase, written(command).before) == (Phase.GROWING, 0)
    assert written(command).most == 6


def test_a_job_whose_number_may_not_change_comes_back_as_it_was() -> None:
    paused = yard(owner_of(4, rescale=replace(PAUSED, most=0), suspended=True, notes={}))
    assert numbers(only(looked(paused, propose(2, Cause.SLOT)))) == 4


def test_a_pause_ends_only_when_the_last_pod_is_gone() -> None:
    owner = owner_of(4, rescale=PAUSED, suspended=True)
    ending = [replace(pod, deleting=True) for pod in workers(owner, 1)]
    assert why(looked(yard(owner, ending), propose(3, Cause.SLOT))) == {"j": "StillLeaving"}


def _elsewhere() -> object:
    owner = owner_of()
    moving = make_migration(job=job_key())
    return yard(owner, workers(owner), moving)


DECLINED = {
    "no range": (crew(notes={}), "NotElastic"),
    "no known owner": (yard(make_pod("p", job="j", node="a")), "OwnerNotSupported"),
    "another controller drives it": (crew(managed=True), "OwnerNotSupported"),
    "a broken range": (crew(notes={labels.WORKERS: "six"}), "Misconfigured"),
    "another's annotation": (crew(rescale="[]"), "RescaleUnreadable"),
    "on its way": (_elsewhere(), "Migrating"),
    "suspended by another controller": (crew(suspended=True), "Suspended"),
    "no checkpoint": (crew(notes={labels.WORKERS: "2..6"}), "NotOptedIn"),
    "no agent": (crew(silent=True), "AgentStale"),
    "no trainer": (crew(seen={"j-0": Checkpoint(problem="TrainerSilent")}), "TrainerSilent"),
    "unknown word of the agent": (crew(seen={"j-0": Checkpoint(problem="Odd")}), "Misconfigured"),
    "it is done": (crew(seen={"j-0": Checkpoint(done=True)}), "TrainingDone"),
}


@pytest.mark.parametrize(("snapshot", "reason"), DECLINED.values(), ids=DECLINED)
def test_why_no_worker_leaves(snapshot, reason: str) -> None:
    key = next(iter(snapshot.jobs))
    look = looked(snapshot, replace(propose(2), job=key))
    assert look.commands == ()
    assert why(look) == {"j": reason}


def test_a_job_without_a_checkpoint_may_still_grow() -> None:
    bare = crew(notes={labels.WORKERS: "2..6"}, silent=True)
    assert numbers(only(looked(bare, propose(5, Cause.ROOM_LEFT)))) == 5


def test_a_malformed_record_is_reported_without_a_proposal() -> None:
    assert why(looked(crew(rescale="{}"))) == {"j": "RescaleUnreadable"}


def test_who_speaks_for_the_others_must_run() -> None:
    owner = owner_of()
    pods = workers(owner)
    pods[0] = make_pod("j-0", owner=owner, index=0, gated=True)
    assert why(looked(yard(owner, pods), propose(2))) == {"j": "JobNotRunning"}


LAST = {
    "a moment ago": (rescale(Phase.DONE, since=NOW - 59), "CoolingDown"),
    "long ago": (rescale(Phase.DONE, since=NOW - 61), ""),
    "aborted once": (rescale(Phase.ABORTED, since=NOW - 59, aborted=1), "AbortedLately"),
    "aborted once, long ago": (rescale(Phase.ABORTED, since=NOW - 61, aborted=1), ""),
    "aborted thrice": (rescale(Phase.ABORTED, since=NOW - 239, aborted=3), "AbortedLately"),
    "aborted thrice, long ago": (rescale(Phase.ABORTED, since=NOW - 241, aborted=3), ""),
    "twelve in an hour": (
        rescale(Phase.DONE, since=NOW - 61, recent=tuple(NOW - 290 * i for i in range(12, 0, -1))),
        "CapReached",
    ),
    "twelve in more than an hour": (
        rescale(Phase.DONE, since=NOW - 61, recent=tuple(NOW - 310 * i for i in range(12, 0, -1))),
        "",
    ),
}


@pytest.mark.parametrize(("last", "reason"), LAST.values(), ids=LAST)
def test_rest_and_cap(last, reason: str) -> None:
    look = looked(crew(rescale=last), propose(2))
    assert why(look) == ({"j": reason} if reason else {})
    assert len(look.commands) == (not reason)


@pytest.mark.parametrize("cause", FREE)
@pytest.mark.parametrize("last", ["a moment ago", "twelve in an hour"])
def test_neither_holds_for_a_plan_or_a_start(cause: Cause, last: str) -> None:
    starts = "" if cause is Cause.SLOT else "s"
    waiting = make_pod("s", job="s", gated=True)
    owner = owner_of(rescale=LAST[last][0])
    snapshot = yard(owner, workers(owner), waiting)
    assert len(looked(snapshot, propose(2, cause, starts=starts)).commands) == 1


def test_the_pause_after_an_abort_holds_for_every_job() -> None:
    aborted = crew(rescale=LAST["aborted once"][0])
    look = looked(aborted, propose(2, Cause.STARVING, starts="s"))
    assert why(look) == {"j": "AbortedLately"}


def test_a_growth_that_was_given_back_does_not_protect_from_a_start() -> None:
    last = rescale(Phase.DONE, 5, 4, cause=Cause.WITHDRAWN, since=NOW - 5, aborted=1)
    assert why(looked(crew(rescale=last), propose(6, Cause.ROOM_LEFT))) == {"j": "AbortedLately"}
    assert len(looked(crew(rescale=last), propose(2, Cause.STARVING, starts="s")).commands) == 1


def test_changes_count_for_an_hour_but_those_of_plans() -> None:
    last = rescale(Phase.DONE, since=NOW - 100, recent=(NOW - 4000, NOW - 200))
    begun = written(only(looked(crew(rescale=last), propose(2))))
    assert begun.recent == (NOW - 200, NOW)
    planned = written(only(looked(crew(rescale=last), propose(2, Cause.SLOT))))
    assert planned.recent == (NOW - 200,)


def test_names_are_those_of_requests() -> None:
    name = written(only(looked(crew(), propose(2)))).id
    assert name == f"j-4-2-{int(NOW * 1000):x}"
    assert len(name) <= 100


def test_a_hold_that_is_there_from_something_else_is_no_hindrance() -> None:
    seen = {"j-0": acked("older")}
    assert written(only(looked(crew(seen=seen), propose(2)))).phase is Phase.ASKED


def test_switched_off_only_plans_are_followed() -> None:
    off = tuned(enabled=False)
    assert looked(crew(), propose(2), params=off).commands == ()
    assert len(looked(crew(), propose(2, Cause.SLOT), params=off).commands) == 1
