"""Lowest and highest prices of resources: L if idle, U if full (docs/policies/price_bounds.md).

The printed bounds need every job in advance and let one outlier decide: L falls by many powers of
ten, and the prices then stay near 0 until a machine is nearly full. So by default both come from
quantiles of past jobs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extender.core.parameters.pricing import BoundsParameters, PriceBoundRule
from extender.core.pricing.slots import FloatVector, SlotCluster
from extender.core.pricing.training_job import TrainingJob

FREE: Final = -690.0
"""ln of the price of a resource that no job requests: it adds nothing to a sum."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Natural logarithms of L and U by resource, for worker and server machines, each (R,)."""

    log_low_workers: FloatVector
    log_high_workers: FloatVector
    log_low_servers: FloatVector
    log_high_servers: FloatVector

    @property
    def log_ratio(self) -> float:
        """Ln ρ, the largest ln(U/L) of any resource of either kind of machine."""
        workers = self.log_high_workers - self.log_low_workers
        servers = self.log_high_servers - self.log_low_servers
        return float(max(workers.max(initial=0.0), servers.max(initial=0.0)))

    @property
    def alpha(self) -> float:
        """α = max(1, ln(U/L)): for small demands no online rule of this kind loses more than 2α.

        Source:
            Bao, Peng, Wu, Li, INFOCOM 2018, Theorem 4.
        """
        return max(1.0, self.log_ratio)


def price_bounds(
    jobs: Sequence[TrainingJob], cluster: SlotCluster, params: BoundsParameters
) -> Bounds:
    """Return the bounds by the rule of ``params``; ``jobs`` are past ones, or all (printed)."""
    if params.rule is PriceBoundRule.PRINTED:
        return printed(jobs, cluster, params)
    if params.rule is PriceBoundRule.KAPPA:
        return by_kappa(jobs, params.kappa)
    return quantile_reserve(jobs, params)


def printed(jobs: Sequence[TrainingJob], cluster: SlotCluster, params: BoundsParameters) -> Bounds:
    """Return U and L of (23)-(26), corrected.

    f is read at a duration, not at a duration minus a slot; η is as small as it may be; utilities
    are floored at ε of the best, since those of late jobs vanish below every float.

    Raises:
        ValueError: There are no jobs.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, (23)-(26); the corrections are ours.
    """
    least = [
        max(job.utility.of(cluster.horizon - job.arrival), params.floor * job.best_utility)
        for job in _not_empty(jobs)
    ]

    def low(capacity: FloatVector, demand: Callable[[TrainingJob], tuple[float, ...]]) -> float:
        works = [job.work * sum(demand(job)) for job in jobs]
        needing = [(value, work) for value, work in zip(least, works, strict=True) if work > 0]
        if not needing:
            return FREE
        per_eta = min(1.0, min(work for _, work in needing) / (cluster.horizon * capacity.sum()))
        return _log(0.25 * per_eta * min(value / work for value, work in needing))

    low_workers = low(cluster.worker_capacity, _worker)
    low_servers = low(cluster.server_capacity, _server)
    high = _highest(jobs)
    return _bounds(
        np.full(high[0].shape, low_workers), high[0], np.full(high[1].shape, low_servers), high[1]
    )


def by_kappa(jobs: Sequence[TrainingJob], kappa: float) -> Bounds:
    """Return U of (23), (24), corrected, and L = U/κ, resource by resource.

    Raises:
        ValueError: There are no jobs.
    """
    highs = _highest(_not_empty(jobs))
    workers, servers = (np.maximum(high - math.log(kappa), FREE) for high in highs)
    return _bounds(workers, highs[0], servers, highs[1])


def quantile_reserve(past_jobs: Sequence[TrainingJob], params: BoundsParameters) -> Bounds:
    """Return bounds from the value that past jobs put on a unit of a resource in a slot.

    ``L`` is the low quantile of f(dmin-1)/(2·W·Σw): a job below it is rejected by an empty
    cluster. ``U_r`` is the high quantile of f(dmin-1)/(W·w_r). For servers W·b/B and s. A job
    that is worth less than ε of its f(0) without any delay is late at every price, so it is left
    out, unless all jobs are like that.

    Raises:
        ValueError: There are no jobs.

    Source:
        Ours.
    """
    jobs = _timely(_not_empty(past_jobs), params.floor)

    def side(demands: NDArray[np.float64], works: FloatVector) -> tuple[FloatVector, FloatVector]:
        values = np.array([job.best_utility for job in jobs])
        sums = works * demands.sum(axis=1)
        needing = sums > 0
        low = FREE
        if needing.any():
            densities = values[needing] / (2.0 * sums[needing])
            low = _log(float(np.quantile(densities, params.low_quantile)))
        high = np.full(demands.shape[1], FREE)
        for r in range(demands.shape[1]):
            needing = works * demands[:, r] > 0
            if needing.any():
                per_unit = values[needing] / (works[needing] * demands[needing, r])
                high[r] = _log(float(np.quantile(per_unit, params.high_quantile)))
        return np.full(high.shape, low), high

    work = np.array([float(job.work) for job in jobs])
    served = work * np.array([job.servers_a_worker for job in jobs])
    workers = side(np.array([job.worker for job in jobs]), work)
    servers = side(np.array([job.server for job in jobs]), served)
    return _bounds(*workers, *servers)


def _bounds(
    low_workers: FloatVector,
    high_workers: FloatVector,
    low_servers: FloatVector,
    high_servers: FloatVector,
) -> Bounds:
    """Keep U above L: by a factor e at least, the ratio at which α is 1."""
    return Bounds(
        low_workers,
        np.maximum(high_workers, low_workers + 1.0),
        low_servers,
        np.maximum(high_servers, low_servers + 1.0),
    )


def _highest(jobs: Sequence[TrainingJob]) -> tuple[FloatVector, FloatVector]:
    """Return ln U of worker and server machines: the best utility per requested unit of a job."""
    workers = np.full(len(jobs[0].worker), FREE)
    servers = np.full(len(jobs[0].server), FREE)
    for job in jobs:
        value = _log(job.best_utility)
        for highest, demand in ((workers, job.worker), (servers, job.server)):
            for r, amount in enumerate(demand):
                if amount > 0:
                    highest[r] = max(highest[r], value - math.log(amount))
    return workers, servers


def _timely(jobs: Sequence[TrainingJob], floor: float) -> Sequence[TrainingJob]:
    timely = [job for job in jobs if job.best_utility >= floor * job.utility.of(0.0)]
    return timely or jobs


def _not_empty(jobs: Sequence[TrainingJob]) -> Sequence[TrainingJob]:
    if not jobs:
        raise ValueError("no jobs: prices need at least one job to learn from")
    return jobs


def _log(value: float) -> float:
    return max(FREE, math.log(value)) if value > 0 else FREE


def _worker(job: TrainingJob) -> tuple[float, ...]:
    return job.worker


def _server(job: TrainingJob) -> tuple[float, ...]:
    return job.server
