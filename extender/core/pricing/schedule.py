"""The best schedule of a job at the present prices (docs/policies/schedule.md).

Work is assigned in steps: single worker-slots, blocks of them, or whole chunks.
"""

import math
from dataclasses import dataclass

import numpy as np

from extender.core.parameters.pricing import Granularity, SlotParameters
from extender.core.pricing import slot_offers, slot_search
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slot_offers import Offers
from extender.core.pricing.slots import (
    Commitments,
    FloatMatrix,
    FloatVector,
    IntVector,
    Schedule,
    SlotCluster,
)
from extender.core.pricing.training_job import ROUNDING, TrainingJob


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of one job's search.

    Attributes:
        target: Steps in all.
        workers: Workers that train 0, 1, 2, … steps in one slot; the first is 0.
        servers: Parameter servers those need.
        unit: Worker-slots of one step; 1: no coarsening.
    """

    target: int
    workers: IntVector
    servers: IntVector
    unit: int


def by_worker_slots(job: TrainingJob, most_units: int, most_idle_share: float) -> Steps:
    """Return steps of ``unit`` worker-slots: the smallest that keeps to both limits.

    Work that is no multiple of the unit is rounded up here and trimmed from the schedule.

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
    return Steps(target, workers, _servers(job, workers), unit)


def by_chunks(job: TrainingJob) -> Steps:
    """Return whole chunks as steps: d chunks in a slot take ⌈d·M·σ⌉ workers.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 2, line 24.
    """
    target = max(1, math.ceil(job.epochs * job.chunks * (1.0 - job.done) - ROUNDING))
    each = job.batches * job.batch_slots
    most = min(target, int(job.chunks / each + ROUNDING)) if each > 0 else target
    workers = np.ceil(np.arange(most + 1) * each - ROUNDING).astype(np.int64).clip(min=0)
    return Steps(target, workers, _servers(job, workers), 1)


def _reachable(target: int, least: int, most: int) -> int:
    """Return the fewest steps from ``target`` on that slots of ``least`` to ``most`` add up to."""
    return max(target, -(-target // max(1, most)) * least)


def _servers(job: TrainingJob, workers: IntVector) -> IntVector:
    if job.fixed_servers is not None:
        return np.where(workers > 0, job.fixed_servers, 0)
    needed: IntVector = np.ceil(workers * job.servers_a_worker - ROUNDING).astype(np.int64)
    return np.minimum(workers, needed)


def best_schedule(
    job: TrainingJob,
    cluster: SlotCluster,
    promised: Commitments,
    bounds: Bounds,
    params: SlotParameters,
    *,
    start: int = 1,
    least_payoff: float = 0.0,
) -> Schedule | None:
    """Return the schedule with the largest payoff; of equal ones one that ends earliest.

    Args:
        job: The job; demands in the units of the cluster.
        cluster: The machines.
        promised: Promised amounts of them.
        bounds: Lowest and highest prices.
        params: How exactly to search.
        start: First slot that may be used, if it is after the arrival.
        least_payoff: The payoff must be above this.

    Returns:
        The schedule; None if no schedule has a payoff above ``least_payoff``.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 2, as one pass over the slots.
    """
    steps = steps_of(job, params)
    if not job.can_be_served or len(steps.workers) == 1:
        return None
    tables: list[_Table] = []

    def costs(rows: slice) -> FloatMatrix:
        tables.append(_table(job, promised, bounds, steps, rows))
        return tables[-1].costs

    first = max(job.arrival, start)
    steps_by_slot = slot_search.steps_by_slot(
        job,
        steps.target,
        _idle_costs(job, bounds, steps),
        costs,
        first=first,
        horizon=cluster.horizon,
        least_payoff=least_payoff,
    )
    return None if steps_by_slot is None else _schedule(job, steps, tables, steps_by_slot)


def steps_of(job: TrainingJob, params: SlotParameters) -> Steps:
    """Return the steps in which the job's schedule is searched."""
    if params.granularity is Granularity.CHUNKS:
        return by_chunks(job)
    return by_worker_slots(job, params.most_units, params.most_idle_share)


@dataclass(frozen=True, eq=False)
class _Table:
    """Offers of slots in a row, and the cost of 0, 1, 2, … steps in each, (S, steps)."""

    workers: Offers
    servers: Offers
    costs: FloatMatrix


def _table(
    job: TrainingJob, promised: Commitments, bounds: Bounds, steps: Steps, rows: slice
) -> _Table:
    low, high = bounds.log_low_workers, bounds.log_high_workers
    most = int(steps.workers[-1])
    workers = slot_offers.offers_of(promised.workers, rows, job.worker, low, high, most=most)
    low, high = bounds.log_low_servers, bounds.log_high_servers
    most = int(steps.servers[-1])
    servers = slot_offers.offers_of(promised.servers, rows, job.server, low, high, most=most)
    costs = workers.costs[:, steps.workers] + servers.costs[:, steps.servers]
    costs[:, (steps.workers > 0) & (steps.workers < job.least_workers)] = np.inf
    return _Table(workers, servers, costs)


def _idle_costs(job: TrainingJob, bounds: Bounds, steps: Steps) -> FloatVector:
    worker = float(np.exp(bounds.log_low_workers) @ np.asarray(job.worker))
    server = float(np.exp(bounds.log_low_servers) @ np.asarray(job.server))
    costs: FloatVector = steps.workers * worker + steps.servers * server
    return costs


def _schedule(job: TrainingJob, steps: Steps, tables: list[_Table], by_slot: list[int]) -> Schedule:
    """Return the schedule with so many steps in each slot."""
    first = tables[0].workers.first
    counts = steps.workers[by_slot]
    worker_costs = np.concatenate([table.workers.costs for table in tables])[: len(counts)]
    server_costs = np.concatenate([table.servers.costs for table in tables])[: len(counts)]
    if steps.unit > 1:
        _trim(counts, worker_costs, int(counts.sum()) - job.work, job.least_workers)
    served = np.array([job.servers_for(int(count)) for count in counts])
    rows = np.arange(len(counts))
    bill = float((worker_costs[rows, counts] + server_costs[rows, served]).sum())
    end = first + int(np.flatnonzero(counts)[-1])
    utility = job.utility.of(end - job.arrival)
    return Schedule(
        payoff=utility - bill,
        utility=utility,
        bill=bill,
        completion_slot=end,
        workers=slot_offers.cheapest_allocation([table.workers for table in tables], counts),
        servers=slot_offers.cheapest_allocation([table.servers for table in tables], served),
        unit=steps.unit,
    )


def _trim(counts: IntVector, costs: FloatMatrix, surplus: int, least: int) -> None:
    """Take away the dearest workers that the work, no multiple of the unit, does not need."""
    for _ in range(surplus):
        rows = np.flatnonzero(counts if least <= 1 else counts > least)
        if not rows.size:
            return
        dearest = costs[rows, counts[rows]] - costs[rows, counts[rows] - 1]
        counts[rows[len(rows) - 1 - int(dearest[::-1].argmax())]] -= 1
