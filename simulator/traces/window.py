"""Parts of a workload: a window in time, a number of jobs, a training and a held-out part.

All of them are deterministic; what is drawn comes from the seed.
"""

from dataclasses import replace

from simulator.seeds import generator
from simulator.workload import Job, Workload

_SPLIT_STREAM = 71
_JITTER_STREAM = 72


def window(workload: Workload, start: float = 0.0, jobs: int | None = None) -> Workload:
    """Return the jobs submitted at ``start`` seconds or later, at most ``jobs`` of them.

    Submissions are counted from the first of them.
    """
    chosen = [job for job in workload.jobs if job.submitted_at >= start][:jobs]
    first = min((job.submitted_at for job in chosen), default=0.0)
    moved = tuple(replace(job, submitted_at=job.submitted_at - first) for job in chosen)
    return replace(workload, jobs=moved)


def thinned(workload: Workload, jobs: int, seed: int) -> Workload:
    """Return ``jobs`` jobs drawn without replacement; all of them if there are no more."""
    if jobs >= len(workload.jobs):
        return workload
    chosen = generator(seed, _SPLIT_STREAM).choice(len(workload.jobs), jobs, replace=False)
    return replace(workload, jobs=tuple(workload.jobs[i] for i in sorted(map(int, chosen))))


def split(workload: Workload, share: float) -> tuple[Workload, Workload]:
    """Return the first ``share`` of the jobs (training) and the rest (held out), by submission."""
    at = round(share * len(workload.jobs))
    ordered = sorted(workload.jobs, key=lambda job: (job.submitted_at, job.name))
    return (
        window(replace(workload, jobs=tuple(ordered[:at]))),
        window(replace(workload, jobs=tuple(ordered[at:]))),
    )


def jittered(workload: Workload, seed: int, seconds: float) -> Workload:
    """Return the workload with each submission later by a time drawn within 0…``seconds``."""
    dice = generator(seed, _JITTER_STREAM)
    later = dice.uniform(0.0, seconds, len(workload.jobs)).tolist()
    jobs = [
        replace(job, submitted_at=job.submitted_at + delay)
        for job, delay in zip(workload.jobs, later, strict=True)
    ]
    return replace(workload, jobs=tuple(sorted(jobs, key=_order)))


def _order(job: Job) -> tuple[float, str]:
    return job.submitted_at, job.name
