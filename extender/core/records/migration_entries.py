"""Migrations for the read API: how long each phase took, and what the move cost."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from extender.core.cluster.snapshot import Snapshot
from shared.model import Migration, MigrationMember, MigrationPhase
from shared.readapi import api
from shared.readapi.ledgers import Declined, MigrationEntry, MoveEntry, Transition


def migrations_response(
    snapshot: Snapshot, declined: Sequence[Declined], *, now: float, acting: bool
) -> api.MigrationsResponse:
    """Return all migrations, oldest first; ``now`` is in seconds since the epoch."""
    ordered = sorted(snapshot.migrations.values(), key=lambda m: (m.created_at, m.key))
    return api.MigrationsResponse(
        generated_at=now,
        acting=acting,
        entries=tuple(_entry(migration, now) for migration in ordered),
        declined=tuple(declined),
    )


def _entry(migration: Migration, now: float) -> MigrationEntry:
    _, kind, job = migration.job.split("/", 2)
    return MigrationEntry(
        namespace=migration.namespace,
        name=migration.name,
        job=job,
        kind=kind,
        created_at=migration.created_at,
        trigger=migration.trigger.value,
        mover=migration.mover.value,
        phase=migration.phase.value,
        open=migration.open,
        reason=migration.reason,
        message=migration.message,
        why=migration.why,
        gain_seconds=migration.gain_seconds,
        cost_seconds=migration.cost_seconds,
        members=tuple(_move(member) for member in migration.members),
        transitions=tuple(_transitions(migration, now)),
        downtime_seconds=downtime_seconds(migration, now),
        lost_steps=lost_steps(migration.members),
    )


def _move(member: MigrationMember) -> MoveEntry:
    return MoveEntry(
        pod=member.pod,
        source=member.source,
        target=member.target,
        replacement=member.replacement,
        node=member.node,
        acked_step=member.acked_step,
        ack_bytes=member.ack_bytes,
        ack_seconds=member.ack_seconds,
        resumed_step=member.resumed_step,
    )


def _transitions(migration: Migration, now: float) -> Iterable[Transition]:
    for (phase, at), (_, left_at) in pairwise(migration.transitions):
        yield Transition(phase=phase.value, at=at, seconds=max(0.0, left_at - at))
    for phase, at in migration.transitions[-1:]:
        seconds = max(0.0, now - at) if migration.open else None
        yield Transition(phase=phase.value, at=at, seconds=seconds)


def downtime_seconds(migration: Migration, now: float) -> float | None:
    """Return the seconds from the eviction to the completion, or until now of an open migration.

    None before the eviction, and for a failed migration: its pod's owner continues without us.
    """
    entered = dict(migration.transitions)
    began = entered.get(MigrationPhase.EVICTING)
    ended = now if migration.open else entered.get(MigrationPhase.COMPLETED)
    return None if began is None or ended is None else max(0.0, ended - began)


def lost_steps(members: Iterable[MigrationMember]) -> int | None:
    """Return the most steps that any member trained again from before its checkpoint."""
    lost = [
        max(0, member.acked_step - member.resumed_step)
        for member in members
        if member.acked_step is not None and member.resumed_step is not None
    ]
    return max(lost, default=None)
