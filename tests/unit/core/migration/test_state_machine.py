"""Each phase: what it waits for, what ends it, what it does."""

from typing import Any

import pytest
from msgspec.structs import replace

from extender.core.migration.commands import Result, WriteStatus
from extender.core.migration.transitions import Attempt
from extender.core.records.migration_reasons import MigrationReason as R
from shared.model import CLOSED_PHASES, MigrationPhase, Mover
from tests.unit.core.migration.migration_model import PARAMS, World, commands, start

P = MigrationPhase
EVICT, RECREATE, SUSPEND = Mover.EVICT, Mover.RECREATE, Mover.SUSPEND
NOW = 1000.0
REFUSED = Attempt(Result.REFUSED, R.DISRUPTION_BUDGET, "no disruptions allowed")
LIKELY = {
    P.REQUESTED: {},
    P.TARGET_RESERVED: {},
    P.CHECKPOINT_REQUESTED: {},
    P.CHECKPOINTED: {"trainer": "holds"},
    P.EVICTING: {"trainer": "holds"},
    P.RECREATING: {"trainer": "gone", "old": "gone", "departed": True},
    P.RESUMING: {"trainer": "gone", "old": "gone", "new": "placed", "departed": True},
}
ORDER = list(LIKELY)


def at(phase: P, mover: Mover = EVICT, *, late: bool = False, **changes: Any) -> World:
    """A world in the middle of a phase, or past its deadline; all is well unless it says so."""
    world = start(mover, faults=0)
    known = ORDER.index(phase)
    acked = 100 if known >= ORDER.index(P.CHECKPOINTED) else None
    new = {"replacement": "m-new", "replacement_uid": "new"}
    member = replace(
        world.migration.members[0],
        acked_step=acked,
        **(new if changes.get("new", LIKELY[phase].get("new")) == "placed" else {}),
    )
    asked = known >= ORDER.index(P.CHECKPOINT_REQUESTED)
    one = replace(
        world.migration,
        phase=phase,
        deadline=NOW - 1 if late else NOW + 50,
        request="migration-m-1" if asked else "",
        ask_until=NOW + 50 if asked else 0.0,
        hold_until=NOW + 100 if asked else 0.0,
        transitions=tuple((p, NOW - 10) for p in ORDER[1 : known + 1]),
        members=(member,),
    )
    given = {**LIKELY[phase], **changes}
    return replace(world, migration=one, now=NOW, **given)


def outcome(world: World) -> tuple[str, str] | list[str]:
    """Phase and reason that are written, or else the actions that are carried out."""
    decided = commands(world)
    written = [c for c in decided if isinstance(c, WriteStatus)]
    if not written:
        return [type(c).__name__ for c in decided]
    one = written[0].migration
    return one.phase.value, one.reason


ABORTS = {
    "the pod is deleted": ({"old": "ending"}, R.POD_GONE),
    "the pod ended by itself": ({"old": "ended"}, R.POD_GONE),
    "the pod is gone": ({"old": "gone"}, R.POD_GONE),
    "the target is gone": ({"target": False}, R.TARGET_LOST),
}
BEFORE = (P.REQUESTED, P.TARGET_RESERVED, P.CHECKPOINT_REQUESTED, P.CHECKPOINTED)


@pytest.mark.parametrize(("changes", "reason"), ABORTS.values(), ids=ABORTS)
@pytest.mark.parametrize("phase", BEFORE)
def test_until_the_eviction_a_change_aborts(phase, changes, reason):
    assert outcome(at(phase, **changes)) == ("Aborted", reason)


@pytest.mark.parametrize("phase", BEFORE)
def test_until_the_suspension_a_change_of_the_owner_aborts(phase):
    assert outcome(at(phase, SUSPEND, owner=False)) == ("Aborted", R.OWNER_GONE)
    assert outcome(at(phase, SUSPEND, suspended=True)) == ("Aborted", R.OWNER_CHANGED)


CASES: dict[str, tuple[World, tuple[str, str] | list[str]]] = {
    "requested, the reservation is free": (at(P.REQUESTED), ("TargetReserved", "")),
    "reserved, the agent has reported": (at(P.TARGET_RESERVED), ("CheckpointRequested", "")),
    "reserved, the agent has not reported": (at(P.TARGET_RESERVED, agent=False), []),
    "reserved, the agent never reports": (
        at(P.TARGET_RESERVED, agent=False, late=True),
        ("Aborted", R.AGENT_STALE),
    ),
    "asked, no answer yet": (at(P.CHECKPOINT_REQUESTED), []),
    "asked, and acked": (at(P.CHECKPOINT_REQUESTED, trainer="holds"), ("Checkpointed", "")),
    "asked, and refused": (
        at(P.CHECKPOINT_REQUESTED, trainer="refused"),
        ("Aborted", R.CHECKPOINT_FAILED),
    ),
    "asked, acked and went on": (
        at(P.CHECKPOINT_REQUESTED, trainer="released"),
        ("Aborted", R.HOLD_ENDED),
    ),
    "asked, no answer in time": (
        at(P.CHECKPOINT_REQUESTED, late=True),
        ("Aborted", R.CHECKPOINT_TIMEOUT),
    ),
    "asked, no report of the answer": (
        at(P.CHECKPOINT_REQUESTED, late=True, agent=False),
        ("Aborted", R.AGENT_STALE),
    ),
    "checkpointed": (at(P.CHECKPOINTED), ("Evicting", "")),
    "checkpointed, the agent fell silent since": (
        at(P.CHECKPOINTED, agent=False),
        ("Evicting", ""),
    ),
    "checkpointed, the trainer went on": (
        at(P.CHECKPOINTED, trainer="released"),
        ("Aborted", R.HOLD_ENDED),
    ),
    "checkpointed, the hold is nearly over": (
        at(P.CHECKPOINTED, late=True),
        ("Aborted", R.HOLD_ENDED),
    ),
    "evicting": (at(P.EVICTING), ["EvictPod"]),
    "evicting, a bare pod": (at(P.EVICTING, RECREATE), ["EvictPod"]),
    "evicting, a job": (at(P.EVICTING, SUSPEND), ["SuspendJob"]),
    "evicting, held back, time is left": (at(P.EVICTING, attempt=REFUSED), ["EvictPod"]),
    "evicting, held back too long": (
        at(P.EVICTING, attempt=REFUSED, late=True),
        ("Aborted", R.DISRUPTION_BUDGET),
    ),
    "evicting, an answer was lost": (at(P.EVICTING, attempt=Attempt(Result.UNCLEAR)), ["Inspect"]),
    "evicting, too late after a restart": (at(P.EVICTING, late=True), ["Inspect"]),
    "evicting, the trainer went on": (
        at(P.EVICTING, attempt=REFUSED, trainer="released"),
        ("Aborted", R.HOLD_ENDED),
    ),
    "evicting, an agent that has only just begun to look": (
        at(P.EVICTING, trainer="trains"),
        ["EvictPod"],
    ),
    "evicting, held back, and its user deletes the bare pod": (
        at(P.EVICTING, RECREATE, attempt=REFUSED, old="ending"),
        ("Aborted", R.POD_GONE),
    ),
    "evicting, the bare pod is leaving, and the answer was lost": (
        at(P.EVICTING, RECREATE, attempt=Attempt(Result.UNCLEAR), old="ending"),
        ("Recreating", ""),
    ),
    "evicting, the pod is leaving": (at(P.EVICTING, old="ending"), ("Recreating", "")),
    "evicting, the job is suspended": (at(P.EVICTING, SUSPEND, suspended=True), ("Recreating", "")),
    "recreating, the old pod is still there": (at(P.RECREATING, old="ending", new="gated"), []),
    "recreating, the new pod is not named": (at(P.RECREATING, new="gated"), ("Recreating", "")),
    "recreating, no new pod yet": (at(P.RECREATING), []),
    "recreating, the new pod is bound": (at(P.RECREATING, new="placed"), ("Resuming", "")),
    "recreating, a bare pod whose old one ends": (at(P.RECREATING, RECREATE, old="ending"), []),
    "recreating, a bare pod": (at(P.RECREATING, RECREATE), ["RecreatePod"]),
    "recreating, a bare pod, too late": (
        at(P.RECREATING, RECREATE, old="ending", late=True),
        ["RecreatePod"],
    ),
    "recreating, a bare pod that was made too late": (
        at(P.RECREATING, RECREATE, old="ending", new="gated", late=True),
        ("Failed", R.OLD_POD_STAYS),
    ),
    "recreating, a job whose pods end": (
        at(P.RECREATING, SUSPEND, old="ending", suspended=True),
        [],
    ),
    "recreating, a job whose pods are gone": (
        at(P.RECREATING, SUSPEND, suspended=True),
        ["ResumeJob"],
    ),
    "recreating, the job is deleted": (
        at(P.RECREATING, SUSPEND, owner=False),
        ("Failed", R.OWNER_GONE),
    ),
    "recreating, the old pod never ends": (
        at(P.RECREATING, old="ending", late=True),
        ("Failed", R.OLD_POD_STAYS),
    ),
    "recreating, no new pod comes": (at(P.RECREATING, late=True), ("Failed", R.NOT_RECREATED)),
    "resuming, no step yet": (at(P.RESUMING), []),
    "resuming, a step beyond the checkpoint": (at(P.RESUMING, resumed=True), ("Completed", "")),
    "resuming, a step beyond the checkpoint of a trainer that has not reported yet": (
        at(P.RESUMING, resumed=True, answered=False),
        [],
    ),
    "resuming, a step beyond the checkpoint of a trainer that never reports": (
        at(P.RESUMING, resumed=True, answered=False, late=True),
        ("Completed", ""),
    ),
    "resuming, the new pod is gone": (at(P.RESUMING, new="none"), ("Failed", R.REPLACEMENT_LOST)),
    "resuming, no step in time": (at(P.RESUMING, late=True), ("Failed", R.RESUME_TIMEOUT)),
    "resuming, no report": (
        at(P.RESUMING, late=True, agent=False),
        ("Failed", R.AGENT_STALE),
    ),
}


@pytest.mark.parametrize(("world", "expected"), CASES.values(), ids=CASES)
def test_a_phase_ends_or_waits(world, expected):
    assert outcome(world) == expected


def test_the_checkpoint_request_is_open_until_its_deadlines():
    (command,) = commands(at(P.TARGET_RESERVED))
    one = command.migration
    assert one.request == one.uid
    assert one.ask_until == one.deadline == NOW + PARAMS.checkpoint_seconds
    assert one.hold_until == one.ask_until + PARAMS.hold_seconds


def test_no_pod_is_evicted_in_the_last_part_of_the_hold():
    world = at(P.CHECKPOINTED)
    (command,) = commands(world)
    margin = 0.1 * PARAMS.hold_seconds
    assert command.migration.deadline == min(
        NOW + PARAMS.evict_seconds, world.migration.hold_until - margin
    )
    assert [type(action).__name__ for action in command.actions] == ["EvictPod"]


def test_the_ack_is_kept_in_the_status():
    (command,) = commands(at(P.CHECKPOINT_REQUESTED, trainer="holds"))
    assert command.migration.members[0].acked_step == 100


def test_the_new_pod_is_recorded_before_it_is_released():
    (command,) = commands(at(P.RECREATING, new="gated"))
    member = command.migration.members[0]
    assert (member.replacement, member.replacement_uid, member.node) == ("m-new", "new", "")


def test_the_node_of_the_new_pod_is_recorded():
    (command,) = commands(at(P.RECREATING, new="placed", target=False))
    assert command.migration.members[0].node == "a"


def test_a_failed_migration_resumes_its_job():
    decided = commands(at(P.RECREATING, SUSPEND, suspended=True, late=True, old="gone"))
    assert decided[0].migration.reason == R.NOT_RECREATED
    assert [type(action).__name__ for action in decided[0].actions] == ["ResumeJob"]


def test_the_event_of_the_end_has_its_reason_in_words():
    (command,) = commands(at(P.EVICTING, attempt=REFUSED, late=True))
    assert command.migration.message == (
        "a PodDisruptionBudget forbids the eviction: no disruptions allowed"
    )
    assert (command.event.reason, command.event.warning) == ("MigrationAborted", False)
    assert (command.left, command.seconds) == (P.EVICTING, 10.0)


@pytest.mark.parametrize("phase", sorted(CLOSED_PHASES))
def test_an_ended_migration_does_not_change(phase):
    world = at(P.RESUMING)
    assert commands(replace(world, migration=replace(world.migration, phase=phase))) == ()


def test_every_reason_has_a_text():
    assert all(reason.text for reason in R)
