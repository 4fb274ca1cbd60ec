"""How far from the best possible a run was, at most (docs/policies/admission.md).

Weak duality: any prices bound the optimum from above. With the final prices, and each job's best
payoff in an empty cluster at those prices, the bound holds for every schedule, also for those that
no longer fitted when the job came.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from extender.core.pricing import slot_merge, slot_offers
from extender.core.pricing.admission import SlotState
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slots import FloatMatrix, FloatVector, Pool, Promised
from extender.core.pricing.training_job import TrainingJob


@dataclass(frozen=True)
class Certificate:
    """The bound and what it is made of.

    Attributes:
        bound: No admission and no schedules of these jobs, also none that knew them all, reach a
            larger sum of utilities.
        utility: What the admitted ones reach.
        payoffs: Σ μ'.
        prices: Σ p·c + Σ q·c.
    """

    bound: float
    utility: float
    payoffs: float
    prices: float

    @property
    def ratio(self) -> float:
        """Bound by utility, at least the ratio of the optimum to it; +inf where that is 0."""
        return self.bound / self.utility if self.utility > 0 else math.inf


def certificate(
    jobs: Sequence[TrainingJob], state: SlotState, scales: Sequence[float] = (1.0,)
) -> Certificate:
    """Return the least bound on the utility that any schedules of ``jobs`` can reach.

    A job's payoff is bounded with servers that may be divided: then the cost of a slot is convex
    in its workers, and the W cheapest worker-slots are the cheapest schedule.

    Args:
        jobs: All jobs, also those turned away; in the units of the cluster.
        state: After the last of them, with no co-located schedule and nothing planned anew.
        scales: What the final prices are multiplied by, above 0; the least bound counts. Where the
            prices of full machines are far above what jobs would pay, a scale below 1 is closer.

    Source:
        Ours, from (19) and (20) of Bao, Peng, Wu, Li, INFOCOM 2018.
    """
    utility = sum(plan.utility for _, plan in state.admitted.values())
    found = []
    for scale in scales:
        scaled = replace(state, bounds=_scaled(state.bounds, math.log(scale)))
        prices = _prices(scaled)
        payoffs = sum(most_payoff(job, scaled) for job in jobs)
        found.append(Certificate(prices + payoffs, utility, payoffs, prices))
    return min(found, key=lambda one: one.bound)


def most_payoff(job: TrainingJob, state: SlotState) -> float:
    """Return a bound on the job's payoff at the prices of the state, were the cluster empty."""
    horizon = state.cluster.horizon
    if not job.can_be_served or job.arrival > horizon:
        return 0.0
    costs = slot_merge.Merge(_marginals(job, state), job.work)
    return slot_merge.most_payoff(costs, job.utility.of)


def _marginals(job: TrainingJob, state: SlotState) -> FloatMatrix:
    """Return what the first, second, … worker of a slot costs at least, with its share of servers.

    One row a slot from the arrival on.
    """
    rows = slice(job.arrival - 1, state.cluster.horizon)
    most = min(job.chunks, job.work)
    bounds, promised = state.bounds, state.promised
    empty = Promised(state.cluster)
    price = slot_offers.unit_prices(
        promised.workers, rows, job.worker, bounds.log_low_workers, bounds.log_high_workers
    )
    room = slot_offers.rooms(empty.workers, rows, job.worker, most)
    workers = slot_offers.arranged(rows.start + 1, price, room, most)
    price = slot_offers.unit_prices(
        promised.servers, rows, job.server, bounds.log_low_servers, bounds.log_high_servers
    )
    room = slot_offers.rooms(empty.servers, rows, job.server, most)
    servers = slot_offers.arranged(rows.start + 1, price, room, most)
    total = workers.costs + slot_merge.divided(servers.costs, job.servers_a_worker, most)
    finite = np.isfinite(total)
    rises = np.diff(np.where(finite, total, 0.0), axis=1)
    return np.where(finite[:, 1:], rises, np.inf)


def _scaled(bounds: Bounds, log_scale: float) -> Bounds:
    return Bounds(
        bounds.log_low_workers + log_scale,
        bounds.log_high_workers + log_scale,
        bounds.log_low_servers + log_scale,
        bounds.log_high_servers + log_scale,
    )


def _prices(state: SlotState) -> float:
    bounds, promised = state.bounds, state.promised
    workers = _value(promised.workers, bounds.log_low_workers, bounds.log_high_workers)
    servers = _value(promised.servers, bounds.log_low_servers, bounds.log_high_servers)
    return workers + servers


def _value(pool: Pool, lows: FloatVector, highs: FloatVector) -> float:
    """Return Σ P·c over slots, machines and resources."""
    total = 0.0
    for capacity, used, low, high in zip(pool.capacity, pool.used, lows, highs, strict=True):
        total += float((slot_offers.prices(used, capacity, low, high) * capacity).sum())
    return total
