"""What schedulers that ask for it are told of a job's length and speed, wrong by a known measure.

All of them are told the same, so that none wins by knowing more. Speeds are right, as if profiled;
the length of a job is off by a factor that is its own for the whole run.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.cluster.actions import Placement
from simulator.cluster.decider import Asked, JobView, View
from simulator.workload import Job, Machine

_LEAST_LEFT = 0.02
"""A job that should be done by now is taken to have this part of its work left."""


@dataclass
class Estimates:
    """Estimates of one run.

    Attributes:
        seed: Whose errors.
        error: Largest relative error of a job's length, 0…1 (uniform).
    """

    seed: int = 0
    error: float = 0.15
    _fewest: dict[tuple[tuple[str, int], ...], int] = field(default_factory=dict)
    _followed: dict[str, tuple[float, float]] = field(default_factory=dict)

    def work(self, job: JobView) -> float:
        """Return units of work of the whole job, as estimated."""
        text = f"{self.seed}/{job.name}".encode()
        draw = int.from_bytes(hashlib.blake2b(text, digest_size=6).digest()) / 2**48
        return known(job).work * (1.0 + self.error * (2.0 * draw - 1.0))

    def follow(self, view: View) -> None:
        """Count the work done since the last look at the speed of the nodes where it was done.

        For a scheduler that does so at each look: placements change at looks alone. Who does not
        is told what is left as if every job had been on the fewest nodes.
        """
        for job in view.running:
            if job.placement is not None:
                ran, done = self._followed.get(job.name, (0.0, 0.0))
                done += rate_on(job, job.placement) * (job.ran_seconds - ran)
                self._followed[job.name] = (job.ran_seconds, done)

    def left(self, job: JobView, machines: tuple[Machine, ...]) -> float:
        """Return units of work left: reported progress counts, else its time with its speed."""
        whole = self.work(job)
        if job.share is not None:
            return whole * max(1.0 - job.share, 1e-9)
        if job.name in self._followed:
            done = self._followed[job.name][1]
        else:
            workers = job.workers or job.asked.workers
            done = job.worker_seconds / workers * self.rate(job, workers, machines)
        return max(whole - done, _LEAST_LEFT * whole)

    def rate(self, job: JobView, workers: int, machines: tuple[Machine, ...]) -> float:
        """Return units of work per second with so many workers on the fewest nodes."""
        if workers <= 0:
            return 0.0
        nodes = math.ceil(workers / self.per_node(job.asked, machines))
        return known(job).speed.rate(workers, nodes)

    def seconds(self, job: JobView, workers: int, machines: tuple[Machine, ...]) -> float:
        """Return how long the rest takes with so many workers on the fewest nodes."""
        rate = self.rate(job, workers, machines)
        return self.left(job, machines) / rate if rate > 0 else math.inf

    def per_node(self, asked: Asked, machines: tuple[Machine, ...]) -> int:
        """Return how many workers the largest machine holds, at least 1."""
        key = tuple(sorted(asked.worker.items()))
        if key not in self._fewest:
            found = max((_places(asked.worker, m.allocatable) for m in machines), default=1)
            self._fewest[key] = max(1, found)
        return self._fewest[key]


def rate_on(job: JobView, where: Placement) -> float:
    """Return units of work per second on a placement."""
    return known(job).speed.rate(len(where.workers), len(where.nodes))


def _places(worker: Mapping[str, int], has: Mapping[str, int]) -> int:
    return min((has.get(name, 0) // amount for name, amount in worker.items() if amount), default=1)


def known(job: JobView) -> Job:
    """Return what an oracle is shown of a job.

    Raises:
        ValueError: Nothing: the decider does not say that it is one.
    """
    if job.truth is None:
        raise ValueError(f"{job.name}: estimates need a decider that is an oracle")
    return job.truth
