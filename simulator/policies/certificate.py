"""Certificate: an upper bound on the optimum from the prices of a run (docs/policies/admission.md).

Weak duality: any prices bound the optimum from above. With the final prices, and each job's best
payoff in an empty cluster at those prices, the bound holds for every schedule, also for those that
did not fit when the job arrived.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from extender.core.pricing import slot_offers
from extender.core.pricing.admission import SlotState
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slots import Commitments, FloatMatrix, FloatVector, Pool
from extender.core.pricing.training_job import ROUNDING, TrainingJob


@dataclass(frozen=True)
class Certificate:
    """The bound and its parts.

    Attributes:
        bound: Upper bound on the sum of utilities of any schedules of these jobs, even with
            knowledge of all jobs.
        utility: Sum of utilities of the admitted jobs.
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
        jobs: All jobs, including rejected ones; in the units of the cluster.
        state: After the last of them, without co-location and replanning.
        scales: Factors on the final prices, above 0; the least bound counts. Where the prices of
            full machines are far above what jobs would pay, a factor below 1 is closer.

    Source:
        Ours, from (19) and (20) of Bao, Peng, Wu, Li, INFOCOM 2018.
    """
    utility = sum(plan.utility for _, plan in state.admitted.values())
    certificates = []
    for scale in scales:
        scaled = replace(state, bounds=_scaled(state.bounds, math.log(scale)))
        prices = _prices(scaled)
        payoffs = sum(payoff_bound(job, scaled) for job in jobs)
        certificates.append(Certificate(prices + payoffs, utility, payoffs, prices))
    return min(certificates, key=lambda certificate: certificate.bound)


def payoff_bound(job: TrainingJob, state: SlotState) -> float:
    """Return an upper bound on the job's payoff at the prices of the state, in an empty cluster."""
    horizon = state.cluster.horizon
    if not job.can_be_served or job.arrival > horizon:
        return 0.0
    costs = CheapestSlots(_marginals(job, state), job.work)
    return largest_payoff(costs, job.utility.of)


def _marginals(job: TrainingJob, state: SlotState) -> FloatMatrix:
    """Return the least cost of the first, second, … worker of a slot, with its share of servers.

    One row per slot from the arrival on.
    """
    rows = slice(job.arrival - 1, state.cluster.horizon)
    most = min(job.chunks, job.work)
    bounds, promised = state.bounds, state.promised
    empty = Commitments(state.cluster)
    price = slot_offers.unit_prices(
        promised.workers, rows, job.worker, bounds.log_low_workers, bounds.log_high_workers
    )
    room = slot_offers.free_pods(empty.workers, rows, job.worker, most)
    workers = slot_offers.arranged(rows.start + 1, price, room, most)
    price = slot_offers.unit_prices(
        promised.servers, rows, job.server, bounds.log_low_servers, bounds.log_high_servers
    )
    room = slot_offers.free_pods(empty.servers, rows, job.server, most)
    servers = slot_offers.arranged(rows.start + 1, price, room, most)
    total = workers.costs + divided_costs(servers.costs, job.servers_a_worker, most)
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


class CheapestSlots:
    """Cost of a job's work if it is done by the end of each slot; never rises with the slot.

    With servers that may be divided the cost of a slot is convex in its workers, so the cheapest
    schedule is the W cheapest worker-slots.
    """

    def __init__(self, marginals: FloatMatrix, work: int) -> None:
        """Take the cost of the first, second, … worker of each slot, (S, N), never falling in N."""
        self._marginals = marginals
        self._work = work
        self._costs: dict[int, float] = {}

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self._marginals)

    def cost(self, row: int) -> float:
        """Return the cost of completing by the end of slot ``row``; +inf if it does not fit."""
        if row not in self._costs:
            self._costs[row] = self._cost(row)
        return self._costs[row]

    def _cost(self, row: int) -> float:
        costs = self._marginals[: row + 1].ravel()
        if costs.size < self._work:
            return np.inf
        return float(np.partition(costs, self._work - 1)[: self._work].sum())


def largest_payoff(costs: CheapestSlots, utility: Callable[[int], float]) -> float:
    """Return the largest utility minus cost of any row, at least 0.

    Bisects the rows: none of l…u pays more than f(l) - cost(u), as neither ever rises.
    """
    best = 0.0
    open_rows = [(0, len(costs) - 1)]
    while open_rows:
        low, high = open_rows.pop()
        if high < low or utility(low) - costs.cost(high) <= best:
            continue
        middle = (low + high) // 2
        best = max(best, utility(middle) - costs.cost(middle))
        if low < high:
            open_rows += [(middle + 1, high), (low, middle)]
    return best


def divided_costs(costs: FloatMatrix, each: float, workers: int) -> FloatMatrix:
    """Return the cost of the servers of 0…``workers`` workers, (S, workers + 1).

    Args:
        costs: Cost of whole servers, (S, servers + 1); linear between.
        each: Servers per worker, b/B.
        workers: Most workers.
    """
    needed = np.arange(workers + 1) * each
    below = np.floor(needed + ROUNDING).astype(np.int64)
    above = np.minimum(below + 1, costs.shape[1] - 1)
    rest = np.maximum(needed - below, 0.0)
    low, high = costs[:, below], costs[:, above]
    room = np.isfinite(low) & (np.isfinite(high) | (rest <= ROUNDING))
    part = np.where(np.isfinite(high), high, 0.0) - np.where(np.isfinite(low), low, 0.0)
    return np.where(room, np.where(np.isfinite(low), low, 0.0) + rest * part, np.inf)
