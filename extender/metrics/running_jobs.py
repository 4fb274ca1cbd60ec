"""Metrics of running jobs: migrations, changes of the number of workers, training faults.

How many are open, what caused them, how they ended; for migrations also how long each phase took
and what they cost.
"""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from extender.core.elastic.state import Ended, Ending
from extender.core.records.drain_budget_reasons import NoBudget
from extender.core.records.migration_entries import downtime_seconds, lost_steps
from extender.core.records.parking import Cause as ParkingCause
from extender.core.records.parking import End as ParkingEnd
from extender.core.records.parking import Parking
from extender.core.records.parking import Phase as ParkingPhase
from extender.core.records.rescale import Cause
from extender.core.training_faults.fault_detection import FaultKind
from extender.metrics.series import Series
from shared.model import CLOSED_PHASES, Migration, MigrationPhase, Trigger

PHASE_BUCKETS_SECONDS: Final = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0)


class MigrationEnd(StrEnum):
    """How a migration ended (``shared.model.MigrationPhase``)."""

    COMPLETED = "completed"
    ABORTED = "aborted"
    FAILED = "failed"


class MigrationMetrics:
    """Metrics of migrations.

    Attributes:
        migrating_jobs: Set by the controller at every pass.
    """

    def __init__(self, series: Series) -> None:
        self._ended = series.counter(
            "shuntyard_migrations",
            "Migrations that ended, by what caused them and how they ended.",
            trigger=Trigger,
            outcome=MigrationEnd,
        )
        self.migrating_jobs = series.gauge(
            "shuntyard_migrating_jobs", "Jobs on their way to another node."
        )
        self._phase_seconds = series.histogram(
            "shuntyard_migration_phase_duration_seconds",
            "How long migrations stayed in a phase, by the phase that ended.",
            PHASE_BUCKETS_SECONDS,
            phase=[phase for phase in MigrationPhase if phase not in CLOSED_PHASES],
        )
        self._of_costs(series)

    def _of_costs(self, series: Series) -> None:
        self._downtime_seconds = series.histogram(
            "shuntyard_migration_downtime_seconds",
            "From the eviction to the resumed training, of completed migrations.",
            PHASE_BUCKETS_SECONDS,
        )
        self._gain_seconds = series.counter(
            "shuntyard_migration_expected_gain_seconds",
            "Gain that was expected of completed migrations when they were decided.",
        )
        self._kept_steps = series.counter(
            "shuntyard_migration_kept_steps",
            "Training steps of evicted pods from which training continued.",
        )
        self._lost_steps = series.counter(
            "shuntyard_migration_lost_steps",
            "Training steps that were repeated after completed migrations.",
        )

    def observe_phase(self, migration: Migration, left: MigrationPhase, seconds: float) -> None:
        """Count that a migration went from a phase, after that time, to its present one."""
        self._phase_seconds.labels(phase=left.value).observe(seconds)
        if migration.open:
            return
        outcome = MigrationEnd(migration.phase.value.lower())
        self._ended.labels(trigger=migration.trigger.value, outcome=outcome.value).inc()
        if outcome is MigrationEnd.COMPLETED:
            self._observe_completed(migration)

    def _observe_completed(self, migration: Migration) -> None:
        downtime = downtime_seconds(migration, 0.0)
        if downtime is not None:
            self._downtime_seconds.observe(downtime)
        self._gain_seconds.inc(max(0.0, migration.gain_seconds or 0.0))
        self._kept_steps.inc(max((m.resumed_step or 0 for m in migration.members), default=0))
        self._lost_steps.inc(lost_steps(migration.members) or 0)


class ScalingMetrics:
    """Metrics of changes of the number of workers.

    Attributes:
        open: Set by the controller at every pass.
    """

    def __init__(self, series: Series) -> None:
        self.open = series.gauge(
            "shuntyard_rescaling_jobs", "Jobs whose number of workers is changing."
        )
        self._ended = series.counter(
            "shuntyard_rescales",
            "Changes of jobs' workers that ended, by why they were begun and how they ended.",
            cause=Cause,
            outcome=Ending,
        )
        self._added = series.counter(
            "shuntyard_workers_added", "Workers that were added to jobs, by cause.", cause=Cause
        )
        self._removed = series.counter(
            "shuntyard_workers_removed", "Workers that left jobs, by cause.", cause=Cause
        )

    def observe(self, ended: Ended) -> None:
        """Count a change that ended."""
        rescale = ended.rescale
        self._ended.labels(cause=rescale.cause.value, outcome=ended.outcome.value).inc()
        if ended.outcome is not Ending.ABORTED:
            moved = self._added if rescale.to > rescale.before else self._removed
            moved.labels(cause=rescale.cause.value).inc(abs(rescale.to - rescale.before))


class ParkingMetrics:
    """Metrics of parked jobs."""

    def __init__(self, series: Series) -> None:
        self._jobs = series.gauge(
            "shuntyard_parking_jobs",
            "Jobs whose parking is under way, by phase.",
            phase=ParkingPhase,
        )
        self._ended = series.counter(
            "shuntyard_parkings",
            "Parkings that ended, by why they were begun and how they ended.",
            cause=ParkingCause,
            outcome=ParkingEnd,
        )
        self._seconds = series.counter(
            "shuntyard_parked_seconds",
            "How long jobs were parked, from the end of their pods to the end of the suspension.",
            cause=ParkingCause,
        )
        self._costs = _ParkingCosts(series)
        self._budgets = _DrainBudgets(series)

    def observe(
        self,
        ended: Iterable[Parking],
        present: Iterable[ParkingPhase],
        measured: Iterable[Parking] = (),
    ) -> None:
        """Count the parkings that ended or were measured in a pass, and set how many there are.

        Args:
            ended: Parkings that ended.
            present: Phases of those that are open.
            measured: Parkings that had ended before, and whose restart was measured.
        """
        for one in ended:
            outcome = (
                ParkingEnd.ABORTED if one.phase is ParkingPhase.ABORTED else ParkingEnd.RESUMED
            )
            self._ended.labels(cause=one.cause.value, outcome=outcome.value).inc()
            if one.parked_at:
                until = one.resumed_at or one.since
                self._seconds.labels(cause=one.cause.value).inc(max(0.0, until - one.parked_at))
                self._costs.saved(one)
        for one in measured:
            self._costs.restarted(one)
        counts = Counter(present)
        for phase in ParkingPhase:
            self._jobs.labels(phase=phase.value).set(counts[phase])

    def observe_budgets(self, ours: int, without: Iterable[NoBudget]) -> None:
        """Set how many budgets are ours, and why jobs have none."""
        self._budgets.observe(ours, without)


class _ParkingCosts:
    """What parkings have cost, as far as it was measured."""

    def __init__(self, series: Series) -> None:
        self._saves = series.counter(
            "shuntyard_parking_save_seconds",
            "How long jobs saved before they were parked, by their trainers.",
            cause=ParkingCause,
        )
        self._restarts = series.counter(
            "shuntyard_parking_restart_seconds",
            "From the end of the suspension to the first new step, of restarts that were measured.",
            cause=ParkingCause,
        )
        self._measured = series.counter(
            "shuntyard_parking_restarts",
            "Restarts after a parking that were measured.",
            cause=ParkingCause,
        )
        self._lost = series.counter(
            "shuntyard_parking_lost_steps",
            "Steps that jobs did again after a parking.",
            cause=ParkingCause,
        )

    def saved(self, one: Parking) -> None:
        """Count the save of a parking that ended."""
        self._saves.labels(cause=one.cause.value).inc(one.cost.save_seconds or 0.0)

    def restarted(self, one: Parking) -> None:
        """Count a restart that was measured."""
        self._measured.labels(cause=one.cause.value).inc()
        self._restarts.labels(cause=one.cause.value).inc(one.cost.restart_seconds or 0.0)
        self._lost.labels(cause=one.cause.value).inc(one.cost.lost_steps or 0)


class _DrainBudgets:
    """Jobs whose evictions wait for a checkpoint, and those whose do not."""

    def __init__(self, series: Series) -> None:
        self._budgets = series.gauge(
            "shuntyard_drain_budget_jobs",
            "Jobs with a PodDisruptionBudget of ours: evictions wait for their checkpoint.",
        )
        self._without = series.gauge(
            "shuntyard_no_drain_budget_jobs",
            "Running jobs that would be parked and have no such budget, by why.",
            reason=NoBudget,
        )

    def observe(self, ours: int, without: Iterable[NoBudget]) -> None:
        """Set how many budgets are ours, and why jobs have none."""
        self._budgets.set(ours)
        counts = Counter(without)
        for reason in NoBudget:
            self._without.labels(reason=reason.value).set(counts[reason])


class TrainingFaultMetrics:
    """Metrics of training that hangs, has diverged, or is slowed down by a member."""

    def __init__(self, series: Series) -> None:
        self._jobs = series.gauge(
            "shuntyard_training_fault_jobs",
            "Jobs whose training hangs, has diverged, or has a member that straggles.",
            kind=FaultKind,
        )
        self._begun = series.counter(
            "shuntyard_training_faults", "Training faults that were found, by kind.", kind=FaultKind
        )

    def observe(self, begun: Iterable[FaultKind], present: Iterable[FaultKind]) -> None:
        """Count the faults that began in a pass, and set how many are ``present``."""
        for kind in begun:
            self._begun.labels(kind=kind.value).inc()
        counts = Counter(present)
        for kind in FaultKind:
            self._jobs.labels(kind=kind.value).set(counts[kind])
