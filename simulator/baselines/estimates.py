"""Estimates of job lengths and speeds with a known error, the same for all schedulers.

Speeds are exact, as if profiled; the length of a job is wrong by one factor for the whole run.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from simulator.cluster.actions import Placement
from simulator.cluster.decider import JobSpec, JobView, View
from simulator.workload import Job, Machine, Workload

_LEAST_LEFT = 0.02
"""Share of its work that a job is assumed to have left once it should be done."""


@dataclass
class Estimates:
    """Estimates of one run.

    Attributes:
        seed: Of the errors.
        error: Largest relative error of a job's length, 0…1 (uniform).
    """

    seed: int = 0
    error: float = 0.15
    _fewest: dict[tuple[tuple[str, int], ...], int] = field(default_factory=dict)
    _followed: dict[str, tuple[float, float]] = field(default_factory=dict)

    def work(self, job: JobView) -> float:
        """Return the estimated work of the whole job, in units of work."""
        return truth_of(job).work * self._factor(job.name)

    def misstated(self, workload: Workload) -> Workload:
        """Return the same work, where owners state the estimated lengths instead of the true."""
        jobs = (
            job
            if job.expected_seconds is None
            else replace(job, expected_seconds=job.expected_seconds * self._factor(job.name))
            for job in workload.jobs
        )
        return replace(workload, jobs=tuple(jobs))

    def _factor(self, name: str) -> float:
        text = f"{self.seed}/{name}".encode()
        draw = int.from_bytes(hashlib.blake2b(text, digest_size=6).digest()) / 2**48
        return 1.0 + self.error * (2.0 * draw - 1.0)

    def follow(self, view: View) -> None:
        """Count the work done since the last call, at the speed of the nodes it was done on.

        A scheduler that needs exact rests calls this in each decision, as placements change only
        there. Without it every job counts as if it had been on the fewest nodes.
        """
        for job in view.running:
            if job.placement is not None:
                ran, done = self._followed.get(job.name, (0.0, 0.0))
                done += rate_on(job, job.placement) * (job.ran_seconds - ran)
                self._followed[job.name] = (job.ran_seconds, done)

    def left(self, job: JobView, machines: tuple[Machine, ...]) -> float:
        """Return the work left: by reported progress, else by the time and speed of the job."""
        whole = self.work(job)
        if job.share is not None:
            return whole * max(1.0 - job.share, 1e-9)
        if job.name in self._followed:
            done = self._followed[job.name][1]
        else:
            workers = job.workers or job.spec.workers
            done = job.worker_seconds / workers * self.rate(job, workers, machines)
        return max(whole - done, _LEAST_LEFT * whole)

    def rate(self, job: JobView, workers: int, machines: tuple[Machine, ...]) -> float:
        """Return units of work per second with so many workers on the fewest nodes."""
        if workers <= 0:
            return 0.0
        nodes = math.ceil(workers / self.per_node(job.spec, machines))
        return truth_of(job).speed.rate(workers, nodes)

    def seconds(self, job: JobView, workers: int, machines: tuple[Machine, ...]) -> float:
        """Return the seconds left with so many workers on the fewest nodes."""
        rate = self.rate(job, workers, machines)
        return self.left(job, machines) / rate if rate > 0 else math.inf

    def per_node(self, spec: JobSpec, machines: tuple[Machine, ...]) -> int:
        """Return how many workers the largest machine holds, at least 1."""
        key = tuple(sorted(spec.worker.items()))
        if key not in self._fewest:
            most = max((_places(spec.worker, m.allocatable) for m in machines), default=1)
            self._fewest[key] = max(1, most)
        return self._fewest[key]


def rate_on(job: JobView, where: Placement) -> float:
    """Return units of work per second on a placement."""
    return truth_of(job).speed.rate(len(where.workers), len(where.nodes))


def _places(worker: Mapping[str, int], has: Mapping[str, int]) -> int:
    return min((has.get(name, 0) // amount for name, amount in worker.items() if amount), default=1)


def truth_of(job: JobView) -> Job:
    """Return the job with its true length and speed, which only oracles see.

    Raises:
        ValueError: The decider does not declare itself an oracle.
    """
    if job.truth is None:
        raise ValueError(f"{job.name}: estimates need a decider that is an oracle")
    return job.truth
