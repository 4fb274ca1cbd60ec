"""How fast elastic jobs train with how many workers, learned from what agents report.

An interval counts from one step that was seen to a later one, if the same pod said both, the job
had the same pods all the time, and no trainer held. The first interval after a change counts as the
pause that the change cost.
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from extender.engine import durations, jobs
from extender.engine.jobs import Job, State
from extender.engine.memory import Reading
from extender.engine.migration import hearing, rank_zero
from extender.engine.parameters import EngineParameters
from extender.engine.scaling import records
from extender.engine.scaling.elastic_jobs import Pace
from extender.engine.scaling.ranged import ranged
from extender.engine.scaling.scaled import scaled
from extender.engine.scaling.speed_samples import MOST_NAMES, Mark, Samples, SpeedMemory
from extender.engine.snapshot import Snapshot
from extender.policy import speed
from extender.policy.speed import Mode, Speed, SpeedParameters
from shared.model import JobKey, Uid
from shared.progress import CheckpointPhase, PodReport, Progress

LEAST_SECONDS: Final = 5.0
"""Of an interval: agents read the metrics from time to time, which a short one would show."""
LONGEST_PAUSE_SECONDS: Final = 3600.0

_HOLDING: Final = frozenset({CheckpointPhase.ASKED, CheckpointPhase.ACKED})


class _Seen(NamedTuple):
    """What is known of a job now; ``still``: it does not change, and no trainer holds."""

    pod: Uid
    attempt: int
    workers: int
    servers: int
    step: int
    at: float
    still: bool


def learned(
    memory: SpeedMemory, snapshot: Snapshot, reading: Reading, stale_seconds: float
) -> SpeedMemory:
    """Return the memory with what has been reported since; once in every look."""
    marks: dict[JobKey, Mark] = {}
    samples = dict(memory.samples)
    for key in ranged(snapshot) if snapshot.reports else ():
        seen = _seen(snapshot, jobs.view(snapshot, key), reading, stale_seconds)
        if seen is None:
            continue
        marks[key], interval = _followed(memory.marks.get(key), seen)
        name = durations.run_name(key)
        known = samples.get(name, Samples())
        found = _with(known, seen, interval)
        if found is not known:
            samples.pop(name, None)
            samples[name] = found
    while len(samples) > MOST_NAMES:
        del samples[next(iter(samples))]
    return SpeedMemory(marks, samples)


def pace(
    snapshot: Snapshot, job: Job, memory: SpeedMemory, reading: Reading, params: EngineParameters
) -> Pace:
    """Return what is known of a job's training now.

    Speed is in steps a second: what is left is counted in steps too, whatever a step is.
    """
    samples = memory.samples.get(durations.run_name(job.key), Samples())
    stale_seconds = params.migration.stale_seconds
    said = last_progress(snapshot, job, reading, stale_seconds)
    return Pace(
        speed=fitted(samples, params.speed),
        left=None if said is None else _left(said[1]),
        pause_seconds=_pause(snapshot, job, samples, reading, stale_seconds),
    )


def fitted(samples: Samples, params: SpeedParameters) -> Speed | None:
    """Return the speed that fits the samples; None if too few numbers of workers were measured.

    The workers were somewhere when it was measured, so that nothing is added for where they are.
    """
    try:
        found = speed.fit(samples.measured, Mode.SYNC, params)
    except ValueError:
        return None
    return Speed(found.step, near_cost=1.0)


def _seen(snapshot: Snapshot, job: Job, reading: Reading, stale_seconds: float) -> _Seen | None:
    said = last_progress(snapshot, job, reading, stale_seconds)
    found = scaled(snapshot, job)
    if said is None or found is None:
        return None
    uid, progress = said
    bound = sum(m.state is State.BOUND for m in found.workers)
    noted = records.of(snapshot).by_job.get(job.key)
    changes = bound != found.count.count or (noted is not None and noted.rescale.open)
    return _Seen(
        pod=uid,
        attempt=progress.attempt,
        workers=bound,
        servers=len(job.having(State.BOUND)) - bound,
        step=progress.step or 0,
        at=progress.updated_at,
        still=not changes and not _holds(snapshot, job, reading, stale_seconds),
    )


class _Interval(NamedTuple):
    """From one mark to the next: of steps, or a pause."""

    seconds: float
    steps: int


def _followed(before: Mark | None, seen: _Seen) -> tuple[Mark, _Interval | None]:
    """Return where the job is now, and the interval that has ended with it, if one has."""
    now = Mark(seen.pod, seen.attempt, seen.workers, seen.servers, seen.step, seen.at)
    if before is None:
        return now, None
    same_run = (before.pod, before.attempt) == (seen.pod, seen.attempt)
    same = same_run and (before.workers, before.servers) == (seen.workers, seen.servers)
    went_on = same_run and seen.step > before.step
    if not (same and seen.still):
        since = seen.at if went_on else before.since
        return replace(now, since=since, changed=before.changed or not same), None
    if not went_on:
        return before, None
    interval = _Interval(seen.at - before.since, seen.step - before.step)
    if not before.steady:
        pause = _Interval(interval.seconds, 0) if before.changed else None
        return replace(now, steady=True), pause
    if interval.seconds < LEAST_SECONDS:
        return before, None
    return replace(now, steady=True), interval


def _with(known: Samples, seen: _Seen, interval: _Interval | None) -> Samples:
    if interval is None:
        return known
    if interval.steps:
        a_step = interval.seconds / interval.steps
        return known.with_interval(seen.workers, seen.servers, a_step)
    return known.with_pause(min(max(0.0, interval.seconds), LONGEST_PAUSE_SECONDS))


def last_progress(
    snapshot: Snapshot, job: Job, reading: Reading, stale_seconds: float
) -> tuple[Uid, Progress] | None:
    """Return how far the job is: the first of its pods that says a step speaks for all."""
    for member in sorted(job.having(State.BOUND), key=rank_zero.rank):
        report = hearing.of_pod(snapshot, member.pod.uid, reading, stale_seconds)
        progress = report.progress if report else None
        if progress is not None and progress.step is not None:
            return member.pod.uid, progress
    return None


def _holds(snapshot: Snapshot, job: Job, reading: Reading, stale_seconds: float) -> bool:
    return any(
        one.checkpoint is not None and one.checkpoint.phase in _HOLDING
        for one in _reports(snapshot, job, reading, stale_seconds)
    )


def _left(progress: Progress) -> float | None:
    if progress.total_steps is None:
        return None
    return float(max(0, progress.total_steps - (progress.step or 0)))


def _pause(
    snapshot: Snapshot, job: Job, samples: Samples, reading: Reading, stale_seconds: float
) -> float:
    """Return what a change costs: as it did before, else a guess and what a checkpoint takes."""
    if samples.pause_seconds is not None:
        return samples.pause_seconds
    said = (one.checkpoint for one in _reports(snapshot, job, reading, stale_seconds))
    saving = (one.save_seconds for one in said if one and one.save_seconds is not None)
    return Pace.pause_seconds + max(saving, default=0.0)


def _reports(
    snapshot: Snapshot, job: Job, reading: Reading, stale_seconds: float
) -> list[PodReport]:
    heard = (
        hearing.of_pod(snapshot, member.pod.uid, reading, stale_seconds)
        for member in job.having(State.BOUND)
    )
    return [report for report in heard if report is not None]
