"""How many workers each job should have, by the capacity of the whole cluster.

``reconcile`` then finds out whether they fit on the nodes.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.baselines.estimates import Estimates
from simulator.cluster.decider import JobSpec, JobView
from simulator.workload import Machine

JUMPS = (1, 2, 4, 8)
"""Measured speeds are not smooth: one more worker may gain nothing where two do."""

Weigh = Callable[[JobView], float]


@dataclass
class Pool:
    """Free amounts of the cluster, summed over all nodes. Mutable; made for one plan."""

    left: dict[str, float]
    total: Mapping[str, float]

    @classmethod
    def of_machines(cls, machines: Sequence[Machine]) -> "Pool":
        """Return a pool of everything that the machines have."""
        total: dict[str, float] = {}
        for machine in machines:
            for name, amount in machine.allocatable.items():
                total[name] = total.get(name, 0.0) + amount
        return cls(dict(total), total)

    def has(self, spec: JobSpec, workers: int, *, servers: bool = True) -> bool:
        """Return True if so many workers fit, with all servers if the job has none yet."""
        return all(self.left.get(n, 0) >= a for n, a in _amounts(spec, workers, servers).items())

    def take(self, spec: JobSpec, workers: int, *, servers: bool = True) -> None:
        """Take the same amounts."""
        for name, amount in _amounts(spec, workers, servers).items():
            self.left[name] = self.left.get(name, 0) - amount

    def dominant(self, spec: JobSpec) -> float:
        """Return the largest share of the cluster that one worker takes of any resource."""
        shares = [a / self.total[n] for n, a in spec.worker.items() if self.total.get(n) and a]
        return max([*shares, 1e-9])


def _amounts(spec: JobSpec, workers: int, servers: bool) -> dict[str, float]:  # noqa: FBT001 - internal
    needed = {name: float(amount * workers) for name, amount in spec.worker.items()}
    for name, amount in spec.server.items() if servers else ():
        needed[name] = needed.get(name, 0.0) + amount * spec.servers
    return needed


@dataclass
class Grower:
    """Gives jumps of workers to the job that gains most by what they take.

    Attributes:
        estimates: Lengths and speeds.
        machines: The cluster.
        weigh: Weight of a second of the job.
        least_pauses: A jump must save at least this many pauses of the job.
    """

    estimates: Estimates
    machines: tuple[Machine, ...]
    weigh: Weigh
    least_pauses: float = 2.0
    _left: dict[str, float] = field(default_factory=dict)

    def grow(self, counts: dict[str, int], jobs: Sequence[JobView], pool: Pool) -> None:
        """Raise ``counts`` until no jump fits or gains; take the workers from ``pool``."""
        by_name = {job.name: job for job in jobs}
        order = {job.name: i for i, job in enumerate(jobs)}
        heap = [entry for job in jobs if (entry := self._entry(job, counts, pool, order))]
        heapq.heapify(heap)
        while heap:
            _, _, name, before, jump = heapq.heappop(heap)
            job = by_name[name]
            if counts[name] == before and pool.has(job.spec, jump, servers=False):
                pool.take(job.spec, jump, servers=False)
                counts[name] += jump
            if entry := self._entry(job, counts, pool, order):
                heapq.heappush(heap, entry)

    def _entry(
        self, job: JobView, counts: Mapping[str, int], pool: Pool, order: Mapping[str, int]
    ) -> tuple[float, int, str, int, int] | None:
        now = counts[job.name]
        best: tuple[float, int] | None = None
        for jump in JUMPS:
            if now + jump > job.spec.most_workers or not pool.has(job.spec, jump, servers=False):
                break
            saved = self._seconds(job, now) - self._seconds(job, now + jump)
            if not saved > self.least_pauses * job_pause(job):
                continue
            gain = self.weigh(job) * saved / (jump * pool.dominant(job.spec))
            if best is None or gain > best[0]:
                best = (gain, jump)
        return None if best is None else (-best[0], order[job.name], job.name, now, best[1])

    def _seconds(self, job: JobView, workers: int) -> float:
        if job.name not in self._left:
            self._left[job.name] = self.estimates.left(job, self.machines)
        rate = self.estimates.rate(job, workers, self.machines)
        return self._left[job.name] / rate if rate > 0 else math.inf


def job_pause(job: JobView) -> float:
    """Return the seconds that a job pauses when its workers change."""
    return 5.0 if job.truth is None else job.truth.pause_seconds


def worthwhile(
    job: JobView, estimates: Estimates, machines: tuple[Machine, ...], knee: float = 0.8
) -> int:
    """Return the most workers with at least ``knee`` of the best rate per worker.

    A job that is not elastic gets its requested workers.
    """
    spec = job.spec
    count, best = spec.workers, 0.0
    if spec.least_workers == spec.most_workers:
        return count
    for workers in range(spec.least_workers, spec.most_workers + 1):
        per_worker = estimates.rate(job, workers, machines) / workers
        best = max(best, per_worker)
        if per_worker >= knee * best:
            count = workers
    return count
