"""Metrics of the queue: waiting jobs by reason, waiting times, and the terms of V."""

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.notices import QueueEntry
from extender.core.queue.order import MOST_TIME_PRIORITY, Value
from extender.core.queue.start_calibration import Ahead, Judged, Where
from extender.metrics.series import Series

CYCLE_BUCKETS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
WAIT_BUCKETS_SECONDS: Final = (
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0),
    *(3600.0, 7200.0, 14400.0, 28800.0, 86400.0),
)
"""Up to a day: a job that waits longer causes an alert."""
HOLD_BUCKETS_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.5)
MOST_USER_PRIORITY: Final = 10


class Left(StrEnum):
    """How much of its maximum wait a job has left."""

    NONE = "none"
    """It is over."""
    MINUTE = "1m"
    TEN_MINUTES = "10m"
    HOUR = "1h"
    MORE = "more"


LEFT_BELOW_SECONDS: Final = (
    (0.0, Left.NONE),
    (60.0, Left.MINUTE),
    (600.0, Left.TEN_MINUTES),
    (3600.0, Left.HOUR),
)


class Term(StrEnum):
    """The terms of V (docs/policies/priority.md), each from 0 to 1."""

    USER = "user"
    CLASS = "class"
    TIME = "time"
    URGENCY = "urgency"
    PARALLELISM = "parallelism"


class Whose(StrEnum):
    """Of which jobs the terms are."""

    FIRST = "first"
    MEAN = "mean"


class BurstMetrics:
    """Metrics of bursts (docs/adr/0017-burst-binding.md).

    Attributes:
        hold_seconds: How long answers to filter were held.
        pods: Pods that were bound meanwhile.
    """

    def __init__(self, series: Series) -> None:
        self.hold_seconds = series.histogram(
            "shuntyard_burst_hold_seconds",
            "How long answers to filter were held while other pods were bound.",
            HOLD_BUCKETS_SECONDS,
        )
        self.pods = series.counter(
            "shuntyard_burst_pods", "Pods that were bound while an answer to filter was held."
        )


class StartMetrics:
    """Metrics of start estimates (``extender/core/queue/start_calibration.py``)."""

    def __init__(self, series: Series) -> None:
        self._starts = series.counter(
            "shuntyard_start_estimates",
            "Start estimates whose job has started, by how far ahead the start was expected, and "
            "by where it was beside the band of the estimate.",
            ahead=Ahead,
            where=Where,
        )

    def observe(self, judged: Iterable[Judged]) -> None:
        """Count estimates whose job has started."""
        for one in judged:
            self._starts.labels(ahead=one.ahead.value, where=one.where.value).inc()


class QueueMetrics:
    """Metrics of waiting jobs.

    Attributes:
        cycle_seconds: Timed by the controller of the queue.
        gated: Whether new pods get the gate; set by the controller of the gate.
    """

    def __init__(self, series: Series) -> None:
        self.cycle_seconds = series.histogram(
            "shuntyard_cycle_duration_seconds",
            "Time to decide one scheduling pass, without carrying it out.",
            CYCLE_BUCKETS_SECONDS,
        )
        self._queue_jobs = series.gauge(
            "shuntyard_queue_jobs", "Waiting jobs, without those on their way to a node."
        )
        self.gated = series.gauge(
            "shuntyard_gating",
            "1 while new pods get the gate by the admission policy, 0 while they do not.",
        )
        self._waiting_jobs = series.gauge(
            "shuntyard_waiting_jobs", "Jobs in the queue by reason.", reason=Reason
        )
        self._of_waits(series)
        self._priority = series.gauge(
            "shuntyard_priority_term_ratio",
            "Terms of V, each from 0 to 1 (docs/policies/priority.md): of the first job in the "
            "queue, and the mean of all; 0 while no job waits.",
            whose=Whose,
            term=Term,
        )

    def _of_waits(self, series: Series) -> None:
        self._wait_seconds = series.histogram(
            "shuntyard_job_wait_seconds",
            "From a job's creation to the release of its gang; a job that is released again, "
            "after a loss or a move, is counted again.",
            WAIT_BUCKETS_SECONDS,
        )
        self._longest = series.gauge(
            "shuntyard_longest_wait_seconds",
            "Longest wait of a job in the queue; 0 while no job waits.",
        )
        self._countdown_jobs = series.gauge(
            "shuntyard_max_wait_jobs",
            "Waiting jobs that have a maximum wait, by the time that is left of it at most.",
            left=Left,
        )
        self._least_left = series.gauge(
            "shuntyard_max_wait_left_seconds",
            "Least time left of a waiting job's maximum wait; negative if it is over, NaN while no "
            "waiting job has one.",
        )
        self._least_left.set(math.nan)
        self._missed = series.counter(
            "shuntyard_max_wait_missed", "Jobs released after their maximum wait was over."
        )

    def observe(self, outcome: QueueOutcome, now: float) -> None:
        """Set the queue as a pass left it; ``now`` is in seconds since the epoch."""
        counts = dict.fromkeys(Reason, 0)
        for entry in outcome.entries:
            counts[entry.reason] += 1
        for reason, jobs in counts.items():
            self._waiting_jobs.labels(reason=reason.value).set(jobs)
        self._queue_jobs.set(len(outcome.entries) - counts[Reason.RELEASING])
        released = {command.job for command in outcome.commands if isinstance(command, ReleaseGang)}
        gone = [entry for entry in outcome.entries if entry.job.key in released]
        left = [entry for entry in outcome.entries if entry.reason is not Reason.RELEASING]
        self._observe_released(gone, now)
        self._observe_waiting(left, now)
        self._observe_terms([entry.value for entry in left])

    def forget(self) -> None:
        """Show an empty queue: only the leader shows the queue."""
        for reason in Reason:
            self._waiting_jobs.labels(reason=reason.value).set(0)
        self._queue_jobs.set(0)
        self._observe_waiting([], 0.0)
        self._observe_terms([])

    def _observe_released(self, entries: Iterable[QueueEntry], now: float) -> None:
        for entry in entries:
            self._wait_seconds.observe(max(0.0, now - entry.job.created_at))
            self._missed.inc(float(_left_seconds(entry, now) < 0))

    def _observe_waiting(self, entries: list[QueueEntry], now: float) -> None:
        waits = [max(0.0, now - entry.job.created_at) for entry in entries]
        self._longest.set(max(waits, default=0.0))
        left = [_left_seconds(e, now) for e in entries if e.job.spec.max_wait_seconds is not None]
        self._least_left.set(min(left, default=math.nan))
        counts = dict.fromkeys(Left, 0)
        for seconds in left:
            counts[_band(seconds)] += 1
        for band, jobs in counts.items():
            self._countdown_jobs.labels(left=band.value).set(jobs)

    def _observe_terms(self, values: list[Value]) -> None:
        most = max((value.b for value in values), default=1)
        terms = [_terms(value, most) for value in values]
        for term in Term:
            first = terms[0][term] if terms else 0.0
            mean = sum(parts[term] for parts in terms) / len(terms) if terms else 0.0
            self._priority.labels(whose=Whose.FIRST.value, term=term.value).set(first)
            self._priority.labels(whose=Whose.MEAN.value, term=term.value).set(mean)


def _terms(value: Value, most_class: int) -> dict[Term, float]:
    """Return the terms as parts of their maximum; b as a part of the largest in the queue."""
    return {
        Term.USER: value.u / MOST_USER_PRIORITY,
        Term.CLASS: value.b / most_class,
        Term.TIME: value.l / MOST_TIME_PRIORITY,
        Term.URGENCY: value.e_normalised,
        Term.PARALLELISM: value.m_normalised,
    }


def _left_seconds(entry: QueueEntry, now: float) -> float:
    most = entry.job.spec.max_wait_seconds
    return math.inf if most is None else entry.job.created_at + most - now


def _band(seconds: float) -> Left:
    return next((band for below, band in LEFT_BELOW_SECONDS if seconds < below), Left.MORE)
