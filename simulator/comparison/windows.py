"""Windows of a trace: the same trace gives many workloads, one a seed.

A seed draws where the window begins, and which jobs of it are kept. Seeds below ``HELD_OUT`` draw
from the first part of the trace, by time; the others from the rest, which nobody looks at while
parameters are chosen.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.seeds import HELD_OUT, generator
from simulator.workload import Job, Machine, Workload

_STREAM = 81
TRAINING_SHARE = 0.6
"""The first part of a trace, by jobs in the order of submission."""


@dataclass(frozen=True)
class WindowSettings:
    """What a window is.

    Attributes:
        jobs: How many jobs; drawn from those of the window.
        seconds: How long submissions last; None: as long as it takes for that many jobs.
        start: Where the window begins, seconds of the trace; None: drawn.
        load: Work offered a second as a part of what the machines can do; so many machines of the
            trace there are. 1 and above: the queue grows while jobs come.
        nodes: How many machines instead.
    """

    jobs: int = 120
    seconds: float | None = None
    start: float | None = None
    load: float = 1.2
    nodes: int | None = None


def sample(trace: Workload, settings: WindowSettings, seed: int) -> Workload:
    """Return the workload of a seed.

    Raises:
        ValueError: The window holds no job.
    """
    part = trace if settings.start is not None else split(trace, TRAINING_SHARE)[seed >= HELD_OUT]
    chosen = thinned(_window(part, settings, seed), settings.jobs, seed)
    if not chosen.jobs:
        raise ValueError(f"{trace.source}: no job is submitted in the window; choose another")
    chosen = cut(chosen)
    machines = trace.machines[: settings.nodes] if settings.nodes else _machines(chosen, settings)
    source = f"{trace.source}, seed {seed}"
    return replace(chosen, jobs=fitting(chosen.jobs, machines), machines=machines, source=source)


def _window(part: Workload, settings: WindowSettings, seed: int) -> Workload:
    if settings.seconds is None:
        latest = max(0, len(part.jobs) - settings.jobs)
        number = int(generator(seed, _STREAM).integers(0, latest + 1))
        begin = part.jobs[number].submitted_at if settings.start is None else settings.start
        return cut(part, begin, settings.jobs)
    first, last = part.jobs[0].submitted_at, part.jobs[-1].submitted_at
    drawn = generator(seed, _STREAM).uniform(first, max(first, last - settings.seconds))
    begin = float(drawn) if settings.start is None else settings.start
    end = begin + settings.seconds
    inside = tuple(job for job in part.jobs if begin <= job.submitted_at < end)
    return cut(replace(part, jobs=inside))


def _machines(chosen: Workload, settings: WindowSettings) -> tuple[Machine, ...]:
    """Return every k-th machine, so many that the load is as asked and the largest job fits."""
    span = settings.seconds or max(chosen.jobs[-1].submitted_at, 1.0)
    total = _total(chosen.machines)
    offered = max(
        sum(alone_seconds(job, chosen.machines) * _whole(job).get(name, 0) for job in chosen.jobs)
        / (span * amount)
        for name, amount in total.items()
    )
    largest = max(
        _whole(job).get(name, 0) / amount for job in chosen.jobs for name, amount in total.items()
    )
    share = min(1.0, max(offered / settings.load, largest))
    count = max(1, math.ceil(share * len(chosen.machines)))
    step = len(chosen.machines) / count
    return tuple(chosen.machines[math.floor(i * step)] for i in range(count))


def fitting(jobs: Sequence[Job], machines: tuple[Machine, ...]) -> tuple[Job, ...]:
    """Return the jobs, none of which may have more workers than the empty cluster holds.

    Raises:
        ValueError: One asks for more; choose more machines.
    """
    jobs_ = []
    for job in jobs:
        most = sum(places(job.worker, machine) for machine in machines)
        if job.workers > most:
            raise ValueError(
                f"{job.name} asks for {job.workers} workers, the {len(machines)} machines hold "
                f"{most}: give it more machines (--nodes, --load)"
            )
        jobs_.append(replace(job, most_workers=min(job.most_workers, most)))
    return tuple(jobs_)


def places(worker: Mapping[str, int], machine: Machine) -> int:
    """Return how many such workers an empty machine holds."""
    return min((machine.allocatable.get(n, 0) // a for n, a in worker.items() if a), default=0)


def alone_seconds(job: Job, machines: Sequence[Machine]) -> float:
    """Return how long a job takes on the empty cluster with the workers it asked for."""
    held = max((places(job.worker, machine) for machine in machines), default=1)
    rate = job.speed.rate(job.workers, math.ceil(job.workers / max(1, held)))
    return job.work / rate if rate > 0 else math.inf


def _whole(job: Job) -> dict[str, int]:
    total = {name: amount * job.workers for name, amount in job.worker.items()}
    for name, amount in job.server.items():
        total[name] = total.get(name, 0) + amount * job.servers
    return total


def _total(machines: Sequence[Machine]) -> dict[str, int]:
    total: dict[str, int] = {}
    for machine in machines:
        for name, amount in machine.allocatable.items():
            if name != "pods" and amount:
                total[name] = total.get(name, 0) + amount
    return total


_SPLIT_STREAM = 71


def cut(workload: Workload, start: float = 0.0, jobs: int | None = None) -> Workload:
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
        cut(replace(workload, jobs=tuple(ordered[:at]))),
        cut(replace(workload, jobs=tuple(ordered[at:]))),
    )
