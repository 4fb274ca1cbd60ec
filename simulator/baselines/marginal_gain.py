"""Optimus and SLAQ: the next worker goes to the job that gains most by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.baselines.estimates import Estimates, truth_of
from simulator.baselines.free_nodes import FreeNodes
from simulator.baselines.reconcile import Target, reconcile
from simulator.baselines.worker_counts import Grower, Pool
from simulator.cluster.actions import Action
from simulator.cluster.decider import JobView, View, next_tick

_OPTIMUS_SECONDS: Final = 600.0
"""Optimus' interval between two allocations (Sect. 6.1)."""


@dataclass
class Optimus:
    """One worker for each job, then one more to the job whose remaining time falls most.

    The gain is divided by the dominant share of what the worker takes; small jobs are placed first.

    Attributes:
        estimates: Replace its own fits of speed and convergence.

    Source:
        Peng et al., EuroSys 2018, Sect. 4.1; jobs that are not elastic get what they request.
    """

    estimates: Estimates
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Divide the cluster anew."""
        jobs = sorted((*view.running, *view.waiting), key=lambda job: job.spec.number)
        pool = Pool.of_machines(view.machines)
        counts = least_for_all(jobs, pool)
        chosen = [job for job in jobs if job.name in counts]
        grower = Grower(self.estimates, view.machines, lambda _: 1.0, least_pauses=0.0)
        grower.grow(counts, chosen, pool)
        order = sorted(chosen, key=lambda job: (counts[job.name], job.spec.number))
        targets = [Target(job, counts[job.name]) for job in order]
        return reconcile(FreeNodes(view.snapshot.node_table), view.running, targets)

    def wakes_at(self, now: float) -> float | None:
        """Return the next tick: remaining times change."""
        return next_tick(now, _OPTIMUS_SECONDS)


def least_for_all(jobs: Sequence[JobView], pool: Pool) -> dict[str, int]:
    """Return the minimum of workers of as many jobs as fit, in order, and take them from ``pool``.

    Jobs that cannot be preempted keep what they have.
    """
    counts: dict[str, int] = {}
    for job in jobs:
        if job.placement is not None and not job.spec.movable:
            counts[job.name] = job.workers
            pool.take(job.spec, job.workers)
    for job in jobs:
        if job.name not in counts and pool.has(job.spec, job.spec.least_workers):
            counts[job.name] = job.spec.least_workers
            pool.take(job.spec, job.spec.least_workers)
    return counts


_SLAQ_SECONDS: Final = 60.0
_NO_CURVE: Final = 0.0


@dataclass
class SlaqLike:
    """The next worker goes to the job with the largest loss reduction in the next interval.

    Reductions are normalised by the job's whole reduction.

    Source:
        Zhang, Stafman, Or, Freedman, SoCC 2017. "Like": it reads the true curves instead of
        predicting them, so that no bad fit counts against it; jobs without a curve keep their
        minimum.
    """

    estimates: Estimates
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Divide the cluster anew."""
        jobs = sorted((*view.running, *view.waiting), key=lambda job: job.spec.number)
        pool = Pool.of_machines(view.machines)
        counts = least_for_all(jobs, pool)
        chosen = [job for job in jobs if job.name in counts]
        growing = {job.name for job in chosen}
        by_name = {job.name: job for job in chosen}
        while growing:
            gains = {
                name: self._drop(by_name[name], counts[name] + 1, view)
                - self._drop(by_name[name], counts[name], view)
                for name in growing
            }
            best = max(gains, key=lambda name: (gains[name], -by_name[name].spec.number))
            job = by_name[best]
            more = counts[best] < job.spec.most_workers
            if gains[best] > 0 and more and pool.has(job.spec, 1, servers=False):
                pool.take(job.spec, 1, servers=False)
                counts[best] += 1
            else:
                growing.discard(best)
        targets = [Target(job, counts[job.name]) for job in chosen]
        return reconcile(FreeNodes(view.snapshot.node_table), view.running, targets)

    def wakes_at(self, now: float) -> float | None:
        """Return the next tick: losses fall."""
        return next_tick(now, _SLAQ_SECONDS)

    def _drop(self, job: JobView, workers: int, view: View) -> float:
        """Return the share of its whole loss reduction that a job makes in the next interval."""
        truth = truth_of(job)
        if truth.curve is None or workers > job.spec.most_workers:
            return _NO_CURVE
        share = job.share or 0.0
        done = self.estimates.rate(job, workers, view.machines) * _SLAQ_SECONDS / truth.work
        whole = truth.curve.loss(0.0) - truth.curve.loss(1.0)
        now, then = truth.curve.loss(share), truth.curve.loss(min(1.0, share + done))
        return (now - then) / whole if whole > 0 else _NO_CURVE
