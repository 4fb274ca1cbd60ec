"""In which steps a schedule is searched: single worker-slots, blocks of them, or whole chunks."""

import math
from dataclasses import dataclass

import numpy as np

from extender.policy.timetable import IntVector
from extender.policy.training_job import ROUNDING, TrainingJob


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of one job's search.

    Attributes:
        target: Steps in all.
        workers: Workers that train 0, 1, 2, … steps in one slot; the first is 0.
        servers: Parameter servers those need.
        unit: Worker-slots a step stands for; 1: no coarsening.
        most_workers: N.
    """

    target: int
    workers: IntVector
    servers: IntVector
    unit: int
    most_workers: int

    @property
    def idle_share(self) -> float:
        """Share of the job's N workers that it can never have, because N is no multiple."""
        return 1.0 - float(self.workers[-1]) / self.most_workers if self.unit > 1 else 0.0


def by_worker_slots(job: TrainingJob, most_units: int, most_idle_share: float) -> Steps:
    """Return steps of ``unit`` worker-slots: the smallest that keeps to both limits.

    Work that is no multiple of the unit is rounded up here and trimmed from the schedule found.

    Args:
        job: The job.
        most_units: Most steps; a job of at most so many worker-slots is searched exactly.
        most_idle_share: Largest N mod unit, as a share of N.
    """
    work = job.work
    width = min(job.chunks, max(work, job.least_workers))
    unit = min(max(1, -(-work // most_units)), width)
    while width % unit > most_idle_share * width:
        unit += 1
    workers = unit * np.arange(width // unit + 1, dtype=np.int64)
    target = _reachable(-(-work // unit), -(-job.least_workers // unit), width // unit)
    return Steps(target, workers, _servers(job, workers), unit, width)


def by_chunks(job: TrainingJob) -> Steps:
    """Return whole chunks as steps: d chunks in a slot take ⌈d·M·σ⌉ workers.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 2, line 24.
    """
    target = max(1, math.ceil(job.epochs * job.chunks * (1.0 - job.done) - ROUNDING))
    each = job.batches * job.batch_slots
    most = min(target, int(job.chunks / each + ROUNDING)) if each > 0 else target
    workers = np.ceil(np.arange(most + 1) * each - ROUNDING).astype(np.int64).clip(min=0)
    return Steps(target, workers, _servers(job, workers), 1, job.chunks)


def _reachable(target: int, least: int, most: int) -> int:
    """Return the fewest steps from ``target`` on that slots of ``least`` to ``most`` add up to."""
    return max(target, -(-target // max(1, most)) * least)


def _servers(job: TrainingJob, workers: IntVector) -> IntVector:
    if job.fixed_servers is not None:
        return np.where(workers > 0, job.fixed_servers, 0)
    needed: IntVector = np.ceil(workers * job.servers_a_worker - ROUNDING).astype(np.int64)
    return np.minimum(workers, needed)
