"""The ledger of migrations: phases, downtime, steps that were lost."""

import pytest

from extender.core.records import migration_entries
from shared.ledgers import Declined, Transition
from shared.model import (
    JobKey,
    Migration,
    MigrationMember,
    MigrationPhase,
    Mover,
    NodeName,
    Trigger,
    Uid,
)
from tests.fakes.builders import make_shape
from tests.unit.core.clusters import snapshot_of

P = MigrationPhase
WAY = [
    (P.REQUESTED, 100.0),
    (P.TARGET_RESERVED, 101.0),
    (P.CHECKPOINT_REQUESTED, 102.0),
    (P.CHECKPOINTED, 110.0),
    (P.EVICTING, 111.0),
    (P.RECREATING, 115.0),
    (P.RESUMING, 120.0),
]


def member(pod: str = "train-0", **fields) -> MigrationMember:
    return MigrationMember(
        pod=pod,
        uid=Uid(pod),
        source=NodeName("a"),
        target=NodeName("b"),
        shape=make_shape(),
        **fields,
    )


def migration(*transitions, name: str = "m", members=(), **fields) -> Migration:
    given = {"phase": transitions[-1][0] if transitions else P.REQUESTED, **fields}
    return Migration(
        namespace="team",
        name=name,
        uid=Uid(name),
        job=JobKey("team/job/train"),
        trigger=Trigger.CONVERGED,
        mover=Mover.EVICT,
        transitions=transitions,
        members=tuple(members) or (member(),),
        **given,
    )


def entry(one: Migration, now: float = 130.0):
    (found,) = migration_entries.migrations_response(
        snapshot_of(one), (), now=now, acting=True
    ).entries
    return found


def test_a_migration_is_told_with_its_reasons_and_its_figures() -> None:
    moved = member(replacement="train-x", acked_step=50, ack_bytes=9, ack_seconds=2.0)
    found = entry(
        migration(
            *WAY[:4],
            members=(moved,),
            created_at=100.0,
            why="gain 60 s, cost 20 s",
            gain_seconds=60.0,
            cost_seconds=20.0,
            reason="Waits",
            message="for the trainer",
        )
    )
    assert (found.namespace, found.name, found.job, found.kind) == ("team", "m", "train", "job")
    assert (found.trigger, found.mover, found.phase) == ("converged", "evict", "Checkpointed")
    assert (found.why, found.gain_seconds, found.cost_seconds) == ("gain 60 s, cost 20 s", 60, 20)
    assert (found.open, found.reason, found.message) == (True, "Waits", "for the trainer")
    (move,) = found.members
    assert (move.pod, move.source, move.target, move.replacement) == (
        "train-0",
        "a",
        "b",
        "train-x",
    )
    assert (move.acked_step, move.ack_bytes, move.ack_seconds) == (50, 9, 2.0)


def test_each_phase_shows_how_long_it_took() -> None:
    done = entry(migration(*WAY, (P.COMPLETED, 126.0)))
    assert [one.seconds for one in done.transitions] == [1, 1, 8, 1, 4, 5, 6, None]
    waits = entry(migration(*WAY[:3]), now=107.0)
    assert waits.transitions[-1] == Transition(phase="CheckpointRequested", at=102.0, seconds=5.0)


DOWN = {
    "nothing was evicted": (migration(*WAY[:4]), None),
    "aborted before": (migration(*WAY[:4], (P.ABORTED, 115.0)), None),
    "evicted, and not back yet": (migration(*WAY[:6]), 19.0),
    "back": (migration(*WAY, (P.COMPLETED, 126.0)), 15.0),
    "never seen back": (migration(*WAY, (P.FAILED, 126.0)), None),
    "not even begun": (migration(), None),
}


@pytest.mark.parametrize(("one", "want"), DOWN.values(), ids=DOWN)
def test_training_is_down_from_the_eviction_until_it_goes_on(one, want) -> None:
    assert entry(one).downtime_seconds == want


LOST = {
    "not known yet": ([member()], None),
    "saved, not resumed": ([member(acked_step=50)], None),
    "resumed where it was saved": ([member(acked_step=50, resumed_step=50)], 0),
    "seen some steps later": ([member(acked_step=50, resumed_step=53)], 0),
    "begun anew": ([member(acked_step=50, resumed_step=0)], 50),
    "the worst of two": (
        [
            member(acked_step=50, resumed_step=50),
            member("train-1", acked_step=50, resumed_step=40),
        ],
        10,
    ),
}


@pytest.mark.parametrize(("members", "want"), LOST.values(), ids=LOST)
def test_lost_are_the_saved_steps_that_are_done_again(members, want) -> None:
    assert entry(migration(*WAY, members=members)).lost_steps == want


def test_the_ledger_is_in_order_of_age_and_names_what_was_declined() -> None:
    declined = (Declined(job="team/job/x", reason="NoGain", message="too short", at=1.0),)
    snapshot = snapshot_of(
        migration(name="b", created_at=2.0), migration(name="a", created_at=2.0), migration()
    )
    found = migration_entries.migrations_response(snapshot, declined, now=5.0, acting=False)
    assert [one.name for one in found.entries] == ["m", "a", "b"]
    assert (found.declined, found.acting, found.generated_at) == (declined, False, 5.0)
