"""How many workers each job should have, by the capacity of the whole cluster.

Whether they then find room together on nodes is for ``reconcile``.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.baselines.estimates import Estimates
from simulator.cluster.decider import Asked, JobView
from simulator.workload import Machine

JUMPS = (1, 2, 4, 8)
"""Measured speeds are not smooth: one worker more may bring nothing where two do."""

Weigh = Callable[[JobView], float]


@dataclass
class Pot:
    """What of the cluster nobody has, over all nodes. Mutable; belongs to one plan."""

    left: dict[str, float]
    total: Mapping[str, float]

    @classmethod
    def of(cls, machines: Sequence[Machine]) -> "Pot":
        """Return everything the machines have."""
        total: dict[str, float] = {}
        for machine in machines:
            for name, amount in machine.allocatable.items():
                total[name] = total.get(name, 0.0) + amount
        return cls(dict(total), total)

    def has(self, asked: Asked, workers: int, *, servers: bool = True) -> bool:
        """Say whether it has so many workers, with all servers if the job has none yet."""
        return all(self.left.get(n, 0) >= a for n, a in _amounts(asked, workers, servers).items())

    def take(self, asked: Asked, workers: int, *, servers: bool = True) -> None:
        """Take them."""
        for name, amount in _amounts(asked, workers, servers).items():
            self.left[name] = self.left.get(name, 0) - amount

    def dominant(self, asked: Asked) -> float:
        """Return the largest share of the cluster that one worker takes of any resource."""
        shares = [a / self.total[n] for n, a in asked.worker.items() if self.total.get(n) and a]
        return max([*shares, 1e-9])


def _amounts(asked: Asked, workers: int, servers: bool) -> dict[str, float]:  # noqa: FBT001 - internal
    needed = {name: float(amount * workers) for name, amount in asked.worker.items()}
    for name, amount in asked.server.items() if servers else ():
        needed[name] = needed.get(name, 0.0) + amount * asked.servers
    return needed


@dataclass
class Grower:
    """Gives workers one jump after the other to the job that gains most from what it takes.

    Attributes:
        estimates: Lengths and speeds.
        machines: The cluster.
        weigh: How much a second of the job counts.
        least_pauses: A jump must save this many pauses of the job.
    """

    estimates: Estimates
    machines: tuple[Machine, ...]
    weigh: Weigh
    least_pauses: float = 2.0
    _left: dict[str, float] = field(default_factory=dict)

    def grow(self, counts: dict[str, int], jobs: Sequence[JobView], pot: Pot) -> None:
        """Raise the counts until nothing fits or nothing gains; ``counts`` and ``pot`` change."""
        by_name = {job.name: job for job in jobs}
        order = {job.name: i for i, job in enumerate(jobs)}
        heap = [entry for job in jobs if (entry := self._entry(job, counts, pot, order))]
        heapq.heapify(heap)
        while heap:
            _, _, name, before, jump = heapq.heappop(heap)
            job = by_name[name]
            if counts[name] == before and pot.has(job.asked, jump, servers=False):
                pot.take(job.asked, jump, servers=False)
                counts[name] += jump
            if entry := self._entry(job, counts, pot, order):
                heapq.heappush(heap, entry)

    def _entry(
        self, job: JobView, counts: Mapping[str, int], pot: Pot, order: Mapping[str, int]
    ) -> tuple[float, int, str, int, int] | None:
        now = counts[job.name]
        best: tuple[float, int] | None = None
        for jump in JUMPS:
            if now + jump > job.asked.most_workers or not pot.has(job.asked, jump, servers=False):
                break
            saved = self._seconds(job, now) - self._seconds(job, now + jump)
            if not saved > self.least_pauses * job_pause(job):
                continue
            gain = self.weigh(job) * saved / (jump * pot.dominant(job.asked))
            if best is None or gain > best[0]:
                best = (gain, jump)
        return None if best is None else (-best[0], order[job.name], job.name, now, best[1])

    def _seconds(self, job: JobView, workers: int) -> float:
        if job.name not in self._left:
            self._left[job.name] = self.estimates.left(job, self.machines)
        rate = self.estimates.rate(job, workers, self.machines)
        return self._left[job.name] / rate if rate > 0 else math.inf


def job_pause(job: JobView) -> float:
    """Return the seconds a job stands still when its workers change."""
    return 5.0 if job.truth is None else job.truth.pause_seconds


def worthwhile(
    job: JobView, estimates: Estimates, machines: tuple[Machine, ...], knee: float = 0.8
) -> int:
    """Return the most workers of which each brings ``knee`` of what one brings at best.

    A job that is not elastic has what it asked for.
    """
    asked = job.asked
    found, best = asked.workers, 0.0
    if asked.least_workers == asked.most_workers:
        return found
    for workers in range(asked.least_workers, asked.most_workers + 1):
        each = estimates.rate(job, workers, machines) / workers
        best = max(best, each)
        if each >= knee * best:
            found = workers
    return found
