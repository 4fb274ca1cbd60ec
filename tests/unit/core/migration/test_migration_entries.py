"""Migrations in the read API: phases, downtime, lost steps."""

import pytest

from extender.core.records import migration_entries
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
from shared.readapi.ledgers import Declined, Transition
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
    (shown,) = migration_entries.migrations_response(
        snapshot_of(one), (), now=now, acting=True
    ).entries
    return shown


def test_an_entry_has_reasons_and_figures() -> None:
    moved = member(replacement="train-x", acked_step=50, ack_bytes=9, ack_seconds=2.0)
    shown = entry(
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
    assert (shown.namespace, shown.name, shown.job, shown.kind) == ("team", "m", "train", "job")
    assert (shown.trigger, shown.mover, shown.phase) == ("converged", "evict", "Checkpointed")
    assert (shown.why, shown.gain_seconds, shown.cost_seconds) == ("gain 60 s, cost 20 s", 60, 20)
    assert (shown.open, shown.reason, shown.message) == (True, "Waits", "for the trainer")
    (move,) = shown.members
    assert (move.pod, move.source, move.target, move.replacement) == (
        "train-0",
        "a",
        "b",
        "train-x",
    )
    assert (move.acked_step, move.ack_bytes, move.ack_seconds) == (50, 9, 2.0)


def test_each_phase_shows_how_long_it_took() -> None:
    done = entry(migration(*WAY, (P.COMPLETED, 126.0)))
    assert [t.seconds for t in done.transitions] == [1, 1, 8, 1, 4, 5, 6, None]
    waits = entry(migration(*WAY[:3]), now=107.0)
    assert waits.transitions[-1] == Transition(phase="CheckpointRequested", at=102.0, seconds=5.0)


DOWN = {
    "nothing was evicted": (migration(*WAY[:4]), None),
    "aborted before": (migration(*WAY[:4], (P.ABORTED, 115.0)), None),
    "evicted, and not back yet": (migration(*WAY[:6]), 19.0),
    "back": (migration(*WAY, (P.COMPLETED, 126.0)), 15.0),
    "failed": (migration(*WAY, (P.FAILED, 126.0)), None),
    "no phase yet": (migration(), None),
}


@pytest.mark.parametrize(("one", "want"), DOWN.values(), ids=DOWN)
def test_downtime_lasts_from_the_eviction_to_the_end(one, want) -> None:
    assert entry(one).downtime_seconds == want


LOST = {
    "unknown": ([member()], None),
    "saved, not resumed": ([member(acked_step=50)], None),
    "resumed where it was saved": ([member(acked_step=50, resumed_step=50)], 0),
    "first report some steps later": ([member(acked_step=50, resumed_step=53)], 0),
    "begun again": ([member(acked_step=50, resumed_step=0)], 50),
    "the worst of two": (
        [
            member(acked_step=50, resumed_step=50),
            member("train-1", acked_step=50, resumed_step=40),
        ],
        10,
    ),
}


@pytest.mark.parametrize(("members", "want"), LOST.values(), ids=LOST)
def test_lost_steps_are_saved_steps_that_are_trained_again(members, want) -> None:
    assert entry(migration(*WAY, members=members)).lost_steps == want


def test_entries_are_in_order_of_age_beside_the_declined_jobs() -> None:
    declined = (Declined(job="team/job/x", reason="NoGain", message="too short", at=1.0),)
    snapshot = snapshot_of(
        migration(name="b", created_at=2.0), migration(name="a", created_at=2.0), migration()
    )
    shown = migration_entries.migrations_response(snapshot, declined, now=5.0, acting=False)
    assert [e.name for e in shown.entries] == ["m", "a", "b"]
    assert (shown.declined, shown.acting, shown.generated_at) == (declined, False, 5.0)
