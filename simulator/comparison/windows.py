"""Windows of a trace: one trace gives many workloads, one per seed.

A seed draws the start of the window and which of its jobs are kept. Seeds below ``HELD_OUT`` draw
from the first part of the trace, by time; the others from the rest, which is not used to choose
parameters.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from simulator.seeds import HELD_OUT, generator
from simulator.workload import Job, Machine, Workload

_STREAM = 81
TRAINING_SHARE = 0.6
"""Share of the jobs in the first part of a trace, in the order of submission."""


@dataclass(frozen=True)
class WindowSettings:
    """Size and start of a window.

    Attributes:
        jobs: Number of jobs, drawn from those of the window.
        seconds: Duration of the submissions; None: until that many jobs have arrived.
        start: Start of the window, seconds of the trace; None: drawn.
        load: Offered work per second as a share of the machines' capacity; decides how many
            machines of the trace are used. From 1 on the queue grows while jobs arrive.
        nodes: Number of machines instead.
    """

    jobs: int = 120
    seconds: float | None = None
    start: float | None = None
    load: float = 1.2
    nodes: int | None = None

    @classmethod
    def from_options(cls, options: argparse.Namespace) -> Self:
        """Return the settings that a command was given (``options.add_window_arguments``)."""
        return cls(
            jobs=options.jobs,
            seconds=options.window,
            start=options.start,
            load=options.load,
            nodes=options.nodes,
        )


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
    """Return every k-th machine: enough for the requested load and for the largest job."""
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
    """Return the jobs with ``most_workers`` limited to what the empty cluster holds.

    Raises:
        ValueError: A job requests more workers; choose more machines.
    """
    jobs_ = []
    for job in jobs:
        most = sum(places(job.worker, machine) for machine in machines)
        if job.workers > most:
            raise ValueError(
                f"{job.name} requests {job.workers} workers, but the {len(machines)} machines hold "
                f"{most}: use more machines (--nodes, --load)"
            )
        jobs_.append(replace(job, most_workers=min(job.most_workers, most)))
    return tuple(jobs_)


def places(worker: Mapping[str, int], machine: Machine) -> int:
    """Return how many such workers an empty machine holds."""
    return min((machine.allocatable.get(n, 0) // a for n, a in worker.items() if a), default=0)


def alone_seconds(job: Job, machines: Sequence[Machine]) -> float:
    """Return the seconds of a job on the empty cluster with its requested workers."""
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

    Submission times count from the first of them.
    """
    chosen = [job for job in workload.jobs if job.submitted_at >= start][:jobs]
    first = min((job.submitted_at for job in chosen), default=0.0)
    moved = tuple(replace(job, submitted_at=job.submitted_at - first) for job in chosen)
    return replace(workload, jobs=moved)


def thinned(workload: Workload, jobs: int, seed: int) -> Workload:
    """Return ``jobs`` jobs drawn without replacement; all if there are fewer."""
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
