"""How fast elastic jobs train with how many workers, learned from agents' reports.

The samples are a bounded value. An interval runs from one reported step to a later one, if the same
pod reported both, the job had the same pods in between, and no trainer held. The first interval
after a change counts as the pause that the change cost.
"""

from collections.abc import Mapping
from statistics import median_low
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from extender.core.agents.reports import last_progress
from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.elastic import speed
from extender.core.elastic.elastic_jobs import Pace
from extender.core.elastic.speed import Measured, Mode, Speed
from extender.core.parameters.elastic import SpeedParameters
from extender.core.queue import running_jobs
from extender.core.records import rescale
from extender.core.records.elastic_workers import elastic_owner, jobs_with_range
from shared.model import JobKey, Uid
from shared.progress import CheckpointPhase, PodReport, Progress

MOST_NAMES: Final = 1000
"""Names of jobs of which samples are kept; the one that was measured longest ago goes first."""


MOST_NUMBERS: Final = 16
"""Numbers of workers that are kept of a name; the one that was measured longest ago goes first."""


MOST_INTERVALS: Final = 7
"""Intervals that are kept of each number of workers, and pauses of a name; the newest ones."""


LEAST_INTERVALS: Final = 2
"""With fewer a number of workers counts as not measured: one may hold an evaluation."""


class Mark(Struct, frozen=True):
    """Where a run was in the last pass; times in seconds since the epoch.

    Attributes:
        pod: The pod that reported the step.
        attempt: Of its training run.
        workers: How many workers it had.
        servers: How many other pods it had.
        step: The step.
        since: When that step was reported.
        steady: The step was made with just these pods: an interval can begin with it.
        changed: The step was made by other pods, or the trainer was restarted since.
    """

    pod: Uid
    attempt: int
    workers: int
    servers: int
    step: int
    since: float
    steady: bool = False
    changed: bool = False


class Sample(Struct, frozen=True):
    """Seconds a step, of the last intervals with so many pods; the newest last."""

    workers: int
    servers: int
    seconds: tuple[float, ...]


class Samples(Struct, frozen=True):
    """Samples of the runs of one name.

    Attributes:
        numbers: By number of workers, the number measured last at the end.
        pauses: How long it took no step when its workers changed, in seconds.
    """

    numbers: tuple[Sample, ...] = ()
    pauses: tuple[float, ...] = ()

    def with_interval(self, workers: int, servers: int, seconds: float) -> "Samples":
        """Return the samples with the seconds a step of one interval more."""
        samples = {(sample.workers, sample.servers): sample for sample in self.numbers}
        before = samples.pop((workers, servers), None)
        intervals = (*(before.seconds if before else ()), seconds)[-MOST_INTERVALS:]
        numbers = (*samples.values(), Sample(workers, servers, intervals))[-MOST_NUMBERS:]
        return Samples(numbers, self.pauses)

    def with_pause(self, seconds: float) -> "Samples":
        """Return the samples with one pause more."""
        return Samples(self.numbers, (*self.pauses, seconds)[-MOST_INTERVALS:])

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The usual step time with each number: an evaluation makes single intervals longer."""
        return tuple(
            Measured(sample.workers, sample.servers, median_low(sample.seconds))
            for sample in self.numbers
            if len(sample.seconds) >= LEAST_INTERVALS
        )

    @property
    def pause_seconds(self) -> float | None:
        """The usual pause; None if none was measured."""
        return median_low(self.pauses) if self.pauses else None


class SpeedMemory(Struct, frozen=True):
    """Samples that one pass leaves for the next; losing them costs time, not correctness.

    Attributes:
        marks: Of jobs that run, by key.
        samples: By name of the runs that share them (``running_jobs.run_name``), the name that
            was measured last at the end.
    """

    marks: Mapping[JobKey, Mark] = {}
    samples: Mapping[str, Samples] = {}


LEAST_SECONDS: Final = 5.0
"""Of an interval: agents read the metrics from time to time, which a short one would show."""


LONGEST_PAUSE_SECONDS: Final = 3600.0


_HOLDING: Final = frozenset({CheckpointPhase.ASKED, CheckpointPhase.ACKED})


class _Observation(NamedTuple):
    """The state of a job now; ``still``: it does not change, and no trainer holds."""

    pod: Uid
    attempt: int
    workers: int
    servers: int
    step: int
    at: float
    still: bool


def learned(memory: SpeedMemory, session: Session) -> SpeedMemory:
    """Return the memory with the reports since the last pass; call it once in every pass."""
    snapshot = session.snapshot
    marks: dict[JobKey, Mark] = {}
    samples = dict(memory.samples)
    for key in jobs_with_range(snapshot) if snapshot.reports else ():
        now = _observation(session, job_views.view(snapshot, key))
        if now is None:
            continue
        marks[key], interval = _followed(memory.marks.get(key), now)
        name = running_jobs.run_name(key)
        before = samples.get(name, Samples())
        after = _with(before, now, interval)
        if after is not before:
            samples.pop(name, None)
            samples[name] = after
    while len(samples) > MOST_NAMES:
        del samples[next(iter(samples))]
    return SpeedMemory(marks, samples)


def pace(session: Session, job: Job, memory: SpeedMemory) -> Pace:
    """Return how a job trains now.

    Speed is in steps a second: what is left is counted in steps too, whatever a step is.
    """
    samples = memory.samples.get(running_jobs.run_name(job.key), Samples())
    reported = last_progress(session, job)
    return Pace(
        speed=fitted(samples, session.parameters.speed),
        left=None if reported is None else _left(reported[1]),
        pause_seconds=_pause(session, job, samples),
    )


def fitted(samples: Samples, params: SpeedParameters) -> Speed | None:
    """Return the speed that fits the samples; None if too few numbers of workers were measured.

    The workers were somewhere when it was measured, so that nothing is added for where they are.
    """
    try:
        step_time = speed.fit(samples.measured, Mode.SYNC, params).step
    except ValueError:
        return None
    return Speed(step_time, near_cost=1.0)


def _observation(session: Session, job: Job) -> _Observation | None:
    reported = last_progress(session, job)
    elastic = elastic_owner(session.snapshot, job)
    if reported is None or elastic is None:
        return None
    uid, progress = reported
    bound = sum(m.state is State.BOUND for m in elastic.workers)
    noted = rescale.rescale_records(session.snapshot).by_job.get(job.key)
    changes = bound != elastic.count.count or (noted is not None and noted.rescale.open)
    return _Observation(
        pod=uid,
        attempt=progress.attempt,
        workers=bound,
        servers=len(job.having(State.BOUND)) - bound,
        step=progress.step or 0,
        at=progress.updated_at,
        still=not changes and not _holds(session, job),
    )


class _Interval(NamedTuple):
    """From one mark to the next: of steps, or a pause."""

    seconds: float
    steps: int


def _followed(before: Mark | None, now: _Observation) -> tuple[Mark, _Interval | None]:
    """Return the job's new mark, and the interval that ended with it, if one did."""
    mark = Mark(
        pod=now.pod,
        attempt=now.attempt,
        workers=now.workers,
        servers=now.servers,
        step=now.step,
        since=now.at,
    )
    if before is None:
        return mark, None
    same_run = (before.pod, before.attempt) == (now.pod, now.attempt)
    same = same_run and (before.workers, before.servers) == (now.workers, now.servers)
    went_on = same_run and now.step > before.step
    if not (same and now.still):
        since = now.at if went_on else before.since
        return replace(mark, since=since, changed=before.changed or not same), None
    if not went_on:
        return before, None
    interval = _Interval(now.at - before.since, now.step - before.step)
    if not before.steady:
        pause = _Interval(interval.seconds, 0) if before.changed else None
        return replace(mark, steady=True), pause
    if interval.seconds < LEAST_SECONDS:
        return before, None
    return replace(mark, steady=True), interval


def _with(samples: Samples, now: _Observation, interval: _Interval | None) -> Samples:
    if interval is None:
        return samples
    if interval.steps:
        a_step = interval.seconds / interval.steps
        return samples.with_interval(now.workers, now.servers, a_step)
    return samples.with_pause(min(max(0.0, interval.seconds), LONGEST_PAUSE_SECONDS))


def _holds(session: Session, job: Job) -> bool:
    return any(
        report.checkpoint is not None and report.checkpoint.phase in _HOLDING
        for report in _reports(session, job)
    )


def _left(progress: Progress) -> float | None:
    if progress.total_steps is None:
        return None
    return float(max(0, progress.total_steps - (progress.step or 0)))


def _pause(session: Session, job: Job, samples: Samples) -> float:
    """Return what a change costs: as it did before, else a guess and what a checkpoint takes."""
    if samples.pause_seconds is not None:
        return samples.pause_seconds
    checkpoints = (report.checkpoint for report in _reports(session, job))
    saving = (c.save_seconds for c in checkpoints if c and c.save_seconds is not None)
    return Pace.pause_seconds + max(saving, default=0.0)


def _reports(session: Session, job: Job) -> list[PodReport]:
    reports = (session.pod_report(member.pod.uid) for member in job.having(State.BOUND))
    return [report for report in reports if report is not None]
