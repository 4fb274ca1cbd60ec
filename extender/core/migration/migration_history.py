"""The history of all Migration objects: past moves, cooldowns, measured costs, budgets in use.

A container's history follows its pods: from a pod to the one that it replaced, and by the index if
the pods of the job have one (a pod lost with its node has no link to its successor).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.cluster.snapshot import Snapshot
from extender.core.migration import migration_gain
from extender.core.migration.move_unit import MoveUnit
from extender.core.parameters.migration import MigrationParameters
from shared import labels
from shared.model import JobKey, Migration, MigrationPhase, Mover, NodeName, Trigger, Uid
from shared.progress import PodReport

MOVED: Final = frozenset({MigrationPhase.COMPLETED, MigrationPhase.FAILED})
"""Final phases after which the pod has left its node."""

MOST_DOUBLINGS: Final = 5
"""The cooldown after aborted migrations doubles with each in a row, at most so often."""

P = MigrationPhase


@dataclass(frozen=True)
class MigrationHistory:
    """See the module; ``read_ledger`` makes it.

    Attributes:
        open: Open migrations.
        by_replacement: The migration that created a pod, by the pod's uid.
        by_job: Ended migrations by job, oldest first.
        resume_seconds: Running mean from ack to resumed step; None before the first.
        save_seconds: Running mean of the duration of a save; None before the first.
    """

    open: tuple[Migration, ...]
    by_replacement: Mapping[Uid, Migration]
    by_job: Mapping[JobKey, tuple[Migration, ...]]
    resume_seconds: float | None
    save_seconds: float | None

    @property
    def moving(self) -> frozenset[Uid]:
        """Pods of open migrations, old and new."""
        members = [member for migration in self.open for member in migration.members]
        uids = (uid for m in members for uid in (m.uid, Uid(m.replacement_uid)) if uid)
        return frozenset(uids)

    @property
    def busy(self) -> Mapping[NodeName, int]:
        """Number of open migrations by source or target node."""
        return Counter(node for migration in self.open for node in nodes_of(migration))

    def past(self, unit: MoveUnit) -> tuple[Migration, ...]:
        """Return the ended migrations of a unit, oldest first."""
        migrations = {m.key: m for m in self.by_job.get(unit.key, ()) if _concerns(m, unit)}
        for member in unit.members:
            uid = member.pod.uid
            while (
                before := self.by_replacement.get(uid)
            ) is not None and before.key not in migrations:
                migrations[before.key] = before
                uid = next(m.uid for m in before.members if m.replacement_uid == uid)
        return tuple(sorted(migrations.values(), key=_ended_at))

    def moves(self, unit: MoveUnit) -> Mapping[Trigger, int]:
        """Return the number of moves by trigger; a bare pod whose record is gone moved once."""
        counts = Counter(m.trigger for m in self.past(unit) if m.phase in MOVED)
        if not counts and any(labels.MIGRATION in m.pod.annotations for m in unit.members):
            counts[Trigger.CONVERGED] = 1
        return counts

    def moved_at(self, unit: MoveUnit) -> float | None:
        """Return when its last migration ended; None if no migration brought it to its node."""
        ends = [_ended_at(m) for m in self.past(unit) if m.phase in MOVED]
        return max(ends, default=None)

    def rests_until(self, unit: MoveUnit, params: MigrationParameters) -> float:
        """Return the end of its cooldown, seconds since the epoch."""
        past = self.past(unit)
        if not past:
            return 0.0
        aborted = 0
        for migration in reversed(past):
            if migration.phase is not P.ABORTED:
                break
            aborted += 1
        doublings = min(max(aborted - 1, 0), MOST_DOUBLINGS)
        return _ended_at(past[-1]) + params.cooldown_seconds * 2.0**doublings

    def cost_seconds(self, reports: Iterable[PodReport]) -> float | None:
        """Return how long a move pauses training: the trainer's own save, and the mean resumption.

        None before the first measurement.
        """
        if self.resume_seconds is None:
            return None
        checkpoints = [r.checkpoint for r in reports if r.checkpoint]
        own = [c.save_seconds for c in checkpoints if c.save_seconds is not None]
        return max(own, default=self.save_seconds or 0.0) + self.resume_seconds


def read_history(snapshot: Snapshot) -> MigrationHistory:
    """Read the Migration objects."""
    migrations = [m for _, m in sorted(snapshot.migrations.items())]
    ended = sorted((m for m in migrations if not m.open), key=_ended_at)
    by_job: dict[JobKey, tuple[Migration, ...]] = {}
    for migration in ended:
        by_job[migration.job] = (*by_job.get(migration.job, ()), migration)
    resume_seconds, save_seconds = _costs(m for m in ended if m.phase is P.COMPLETED)
    return MigrationHistory(
        open=tuple(m for m in migrations if m.open),
        by_replacement={
            Uid(m.replacement_uid): migration
            for migration in ended
            for m in migration.members
            if m.replacement_uid
        },
        by_job=by_job,
        resume_seconds=resume_seconds,
        save_seconds=save_seconds,
    )


def nodes_of(migration: Migration) -> frozenset[NodeName]:
    """Return the source and target nodes of a migration."""
    return frozenset(node for m in migration.members for node in (m.source, m.target))


def entered_at(migration: Migration, phase: MigrationPhase) -> float | None:
    """Return when a migration entered a phase; None if it has not."""
    return next((at for entered, at in migration.transitions if entered is phase), None)


def _ended_at(migration: Migration) -> float:
    return migration.transitions[-1][1] if migration.transitions else migration.created_at


def _concerns(migration: Migration, unit: MoveUnit) -> bool:
    """Return True if a migration belongs to the history of a unit.

    A pod that moves alone has a history of its own; a job that moves whole has one for all pods.
    """
    if migration.mover is Mover.SUSPEND:
        return True
    past, now = migration.members[0], unit.lead
    if past.index is not None or now.index is not None:
        return past.index == now.index
    return past.uid == now.pod.uid


def _costs(completed: Iterable[Migration]) -> tuple[float | None, float | None]:
    resume_seconds: float | None = None
    save_seconds: float | None = None
    for migration in completed:
        acked_at = entered_at(migration, P.CHECKPOINTED)
        ended_at = entered_at(migration, P.COMPLETED)
        if acked_at is not None and ended_at is not None:
            resume_seconds = migration_gain.smoothed(resume_seconds, ended_at - acked_at)
        saved = [m.ack_seconds for m in migration.members if m.ack_seconds is not None]
        if saved:
            save_seconds = migration_gain.smoothed(save_seconds, max(saved))
    return resume_seconds, save_seconds
