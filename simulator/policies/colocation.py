"""Co-location: all workers and servers of a job on one worker machine in each slot.

They exchange gradients inside the machine, faster than over its network and without using it
(docs/policies/admission.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from extender.core.parameters.pricing import AdmissionParameters, SlotParameters
from extender.core.pricing import admission, schedule, slot_offers, slot_search
from extender.core.pricing.admission import OfferDecision, SlotState
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.schedule import Steps
from extender.core.pricing.slots import (
    Allocation,
    Commitments,
    FloatMatrix,
    FloatVector,
    IntVector,
    Schedule,
    SlotCluster,
    offline,
)
from extender.core.pricing.training_job import ROUNDING, TrainingJob


def offer(
    job: TrainingJob,
    state: SlotState,
    params: AdmissionParameters,
    *,
    start: int = 1,
    least_payoff: float = 0.0,
) -> OfferDecision:
    """Decide about one job like ``admission.offer``, with co-location if the parameters have it.

    A co-located schedule is taken if its payoff is larger.

    Args:
        job: The job, in the units of the cluster.
        state: The promises so far; only read.
        params: Of admission; without ``colocation_bandwidth`` no job is co-located.
        start: First slot that may be used, if it is after the arrival.
        least_payoff: The payoff must be above this.
    """
    apart = admission.offer(job, state, params, start=start, least_payoff=least_payoff)
    if params.colocation_bandwidth is None:
        return apart
    together = best_schedule(
        job,
        state.cluster,
        state.promised,
        state.bounds,
        params.search,
        bandwidth=params.colocation_bandwidth,
        start=start,
        least_payoff=least_payoff if apart.schedule is None else apart.payoff,
    )
    return (
        apart
        if together is None
        else OfferDecision(admitted=True, payoff=together.payoff, schedule=together)
    )


def best_schedule(
    job: TrainingJob,
    cluster: SlotCluster,
    promised: Commitments,
    bounds: Bounds,
    params: SlotParameters,
    *,
    bandwidth: float,
    start: int = 1,
    least_payoff: float = 0.0,
) -> Schedule | None:
    """Return the schedule with the largest payoff that uses one worker machine in each slot.

    The machine may differ from slot to slot. The number of servers is unchanged: their throughput
    is assumed to be limited by themselves, not by the network.

    Args:
        job: The job; demands in the units of the cluster.
        cluster: The machines; the column ``network`` is not used.
        promised: Promised amounts of the machines.
        bounds: Bounds of the prices.
        params: Of the search.
        bandwidth: b inside a machine, in the unit of the job's b.
        start: First slot that may be used, if it is after the arrival.
        least_payoff: The payoff must be above this.

    Returns:
        The schedule; None if no schedule has a payoff above ``least_payoff``.

    Source:
        PD-ORS (Yu, Liu, Wu, Ji, Bentley; arXiv 2108.02917) places on one machine first; this form
        is ours.
    """
    kind = replace(
        inside(job, bandwidth),
        worker=offline(job.worker, cluster),
        server=offline(job.server, cluster),
    )
    steps = schedule.steps_of(kind, params)
    if not kind.can_be_served or len(steps.workers) == 1:
        return None
    tables: list[_Table] = []

    def costs(rows: slice) -> FloatMatrix:
        tables.append(_table(kind, promised, bounds, steps, rows))
        return tables[-1].costs

    steps_by_slot = slot_search.steps_by_slot(
        kind,
        steps.target,
        _idle_costs(kind, bounds, steps),
        costs,
        first=max(job.arrival, start),
        horizon=cluster.horizon,
        least_payoff=least_payoff,
    )
    return None if steps_by_slot is None else _schedule(kind, steps, tables, steps_by_slot)


def inside(job: TrainingJob, bandwidth: float) -> TrainingJob:
    """Return the job with its exchange at ``bandwidth``, if that is faster than its own b."""
    faster = job.exchange_slots * min(1.0, job.worker_bandwidth / bandwidth)
    return replace(
        job, batch_slots=job.batch_slots - job.exchange_slots + faster, exchange_slots=faster
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """Cheapest machine and its cost, by slot and number of steps (0, 1, 2, …)."""

    first: int
    machines: IntVector
    costs: FloatMatrix


def _table(
    job: TrainingJob, promised: Commitments, bounds: Bounds, steps: Steps, rows: slice
) -> _Table:
    low, high = bounds.log_low_workers, bounds.log_high_workers
    worker = slot_offers.unit_prices(promised.workers, rows, job.worker, low, high)
    server = slot_offers.unit_prices(promised.workers, rows, job.server, low, high)
    room = _rooms(job, promised, steps, rows)
    costs = np.full((len(worker), len(steps.workers)), np.inf)
    machines = np.zeros(costs.shape, dtype=np.int64)
    costs[:, 0] = 0.0
    row = np.arange(len(worker))
    for step in range(1, int(room.max(initial=0)) + 1):
        price = steps.workers[step] * worker + steps.servers[step] * server
        price[room < step] = np.inf
        machines[:, step] = price.argmin(axis=1)
        costs[:, step] = price[row, machines[:, step]]
    costs[:, (steps.workers > 0) & (steps.workers < job.least_workers)] = np.inf
    return _Table(rows.start + 1, machines, costs)


def _rooms(job: TrainingJob, promised: Commitments, steps: Steps, rows: slice) -> IntVector:
    """Return how many steps fit on each machine in each slot, (S, M)."""
    pool = promised.workers
    room = np.full(pool.used[0, rows].shape, len(steps.workers) - 1, dtype=np.int64)
    for r, (worker, server) in enumerate(zip(job.worker, job.server, strict=True)):
        if worker > 0 or server > 0:
            needed = steps.workers * worker + steps.servers * server
            free = pool.capacity[r] - pool.used[r, rows] + ROUNDING
            np.minimum(room, np.searchsorted(needed, free, side="right") - 1, out=room)
    return np.maximum(room, 0)


def _idle_costs(job: TrainingJob, bounds: Bounds, steps: Steps) -> FloatVector:
    lows = np.exp(bounds.log_low_workers)
    worker, server = float(lows @ np.asarray(job.worker)), float(lows @ np.asarray(job.server))
    costs: FloatVector = steps.workers * worker + steps.servers * server
    return costs


def _schedule(
    job: TrainingJob, steps: Steps, tables: Sequence[_Table], by_slot: list[int]
) -> Schedule:
    rows = np.arange(len(by_slot))
    counts, served = steps.workers[by_slot], steps.servers[by_slot]
    machines = np.concatenate([table.machines for table in tables])[rows, by_slot]
    bill = float(np.concatenate([table.costs for table in tables])[rows, by_slot].sum())
    end = tables[0].first + len(by_slot) - 1
    utility = job.utility.of(end - job.arrival)
    slots = tables[0].first + rows
    busy, serving = counts > 0, served > 0
    return Schedule(
        payoff=utility - bill,
        utility=utility,
        bill=bill,
        completion_slot=end,
        workers=Allocation(slots[busy], machines[busy], counts[busy]),
        servers=Allocation(slots[serving], machines[serving], served[serving]),
        colocated=True,
        unit=steps.unit,
    )
