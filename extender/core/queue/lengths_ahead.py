"""How long jobs run from now on, with a band: what start estimates are made of.

1. What ``time_left`` knows of a job: its status, the agents' prediction, what its owner states, or
   earlier runs of its name. What owners state has the band that earlier statements of owners had.
2. A job that has run for longer than is stated may end soon: a tenth of its run is expected.
3. Nothing is known: the runs that are remembered, of all names, that were longer than this one.
4. Too few are remembered: as long again as it has run (``time_left.attained``).

A band holds two thirds of what may come: a sixth is below it, a sixth above.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Session
from extender.core.placement import wishes
from extender.core.queue import time_left
from extender.core.queue.running_jobs import Ending, Source, Unknown
from extender.core.queue.state import QueueState
from extender.core.queue.time_left import attained
from shared.model import JobKey, Node
from shared.progress import Span

LEAST_RUNS: Final = 6
"""So many runs have a sixth below and a sixth above their band."""

OVERRUN_SHARE: Final = 0.1
_OVERRUN_BAND: Final = 5.0
"""As that of ``time_left.attained``."""

LIKE_OTHERS: Final = "runs of other names"
BY_AGE: Final = "time run so far"
"""Sources beside those of ``running_jobs``."""


class Case(StrEnum):
    """Which end of every band a projection takes."""

    EARLY = "early"
    EXPECTED = "expected"
    LATE = "late"


@dataclass(frozen=True)
class Length:
    """How long a job runs from now on, or from its start, and the source of that."""

    seconds: Span
    source: str

    def in_case(self, case: Case) -> float:
        """Return the seconds of a case."""
        if case is Case.EXPECTED:
            return self.seconds.value
        return self.seconds.low if case is Case.EARLY else self.seconds.high


@dataclass(frozen=True)
class LengthsAhead:
    """Lengths of the jobs of one session.

    Attributes:
        session: The cluster, now.
        state: Of the queue, for earlier runs.
    """

    session: Session
    state: QueueState
    _known: dict[JobKey, Length | None] = field(default_factory=dict)

    def of_running(self, ending: Ending) -> Length | None:
        """Return how much longer a job runs; None: it does not end by itself."""
        key = ending.job.job
        if key not in self._known:
            self._known[key] = self._left(ending)
        return self._known[key]

    def of_waiting(self, job: Job, nodes: Iterable[Node] | None = None) -> Length:
        """Return how long a job runs once it has started; ``nodes`` as in `running_jobs.length`."""
        found = self._known.get(job.key)
        if found is None:
            found = self._known[job.key] = self._of(job, 0.0)
        order = job.spec.accelerators
        if not order or found.source != Source.ANNOTATION.value:
            return found
        slowdown = wishes.slowest(order) if nodes is None else wishes.slowdown(order, nodes)
        span = found.seconds
        parts = (part * slowdown for part in (span.value, span.low, span.high))
        return Length(Span(*parts), found.source)

    def _left(self, ending: Ending) -> Length | None:
        if ending.job.endless or ending.end is None:
            return None
        job = job_views.view(self.session.snapshot, ending.job.job)
        ran = self.session.now - ending.job.started_at
        if ending.end.why is Unknown.OVERRUN:
            value = max(time_left.LEAST_SECONDS, OVERRUN_SHARE * ran)
            span = Span(value, value / _OVERRUN_BAND, value * _OVERRUN_BAND)
            return Length(span, Unknown.OVERRUN.value)
        return self._of(job, ran)

    def _of(self, job: Job, ran_seconds: float) -> Length:
        left = time_left.of(job, self.session, self.state).left
        if left.source is Source.ANNOTATION:
            return Length(self._as_stated(left.seconds, ran_seconds), left.source.value)
        if left.source is not None:
            return Length(left.seconds, left.source.value)
        longer = self._runs[bisect_right(self._runs, ran_seconds) :]
        if len(longer) >= LEAST_RUNS:
            return Length(_later(band(longer), ran_seconds), LIKE_OTHERS)
        unknown_seconds = self.session.parameters.service.unknown_seconds
        return Length(attained(ran_seconds, unknown_seconds), BY_AGE)

    def _as_stated(self, left: Span, ran_seconds: float) -> Span:
        """Return what is left of a stated duration, with the band of earlier statements."""
        if len(self._ratios) < LEAST_RUNS:
            return left
        stated = left.value + ran_seconds
        ratios = band(self._ratios)
        low, high = sorted((ratios.low, ratios.high))
        found = Span(stated * ratios.value, stated * low, stated * high)
        return _later(found, ran_seconds)

    @cached_property
    def _runs(self) -> Sequence[float]:
        return sorted(seconds for lengths in self.state.runs.values() for seconds in lengths)

    @cached_property
    def _ratios(self) -> Sequence[float]:
        return sorted(self.state.stated_ratios)


def band(ascending: Sequence[float]) -> Span:
    """Return the median of an ascending row, with the band that leaves a sixth on each side."""
    count = len(ascending)
    below = count // 6
    return Span(ascending[count // 2], ascending[below], ascending[count - 1 - below])


def _later(span: Span, seconds: float) -> Span:
    least = time_left.LEAST_SECONDS
    return Span(*(max(least, part - seconds) for part in (span.value, span.low, span.high)))
