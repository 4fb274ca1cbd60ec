"""The best schedule of a job at the prices of the moment (docs/policies/schedule.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from extender.policy import coarsening, slot_offers, slot_search
from extender.policy.coarsening import Steps
from extender.policy.price_bounds import Bounds
from extender.policy.slot_offers import Offers
from extender.policy.slots import FloatMatrix, FloatVector, Promised, SlotCluster
from extender.policy.timetable import IntVector, Schedule
from extender.policy.training_job import TrainingJob

BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "most_units": (1, 100_000),
    "most_idle_share": (0.0, 1.0),
}
"""Lowest and highest value of each number in ``SlotParameters``."""


class Granularity(StrEnum):
    """What a slot can do."""

    WORKER_SLOTS = "worker-slots"
    """Any number of workers; only their sum counts, as in (2)."""
    CHUNKS = "chunks"
    """Whole chunks, as Algorithm 2 has it; never coarsened."""


@dataclass(frozen=True)
class SlotParameters:
    """How a schedule is searched.

    Attributes:
        granularity: What a slot can do.
        most_units: Most steps of the dynamic programme; longer jobs are searched in blocks of
            worker-slots.
        most_idle_share: Share of a job's workers that the block may leave unused.

    Source:
        Ours; in model runs 300 steps lose less than 0.1 % of the payoff of 3000.
    """

    granularity: Granularity = Granularity.WORKER_SLOTS
    most_units: int = 300
    most_idle_share: float = 0.03


def best_schedule(
    job: TrainingJob,
    cluster: SlotCluster,
    promised: Promised,
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
        promised: What of them is promised.
        bounds: Between which prices they cost.
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
    found = slot_search.steps_by_slot(
        job,
        steps.target,
        _idle_costs(job, bounds, steps),
        costs,
        first=first,
        horizon=cluster.horizon,
        least_payoff=least_payoff,
    )
    return None if found is None else _schedule(job, steps, tables, found)


def steps_of(job: TrainingJob, params: SlotParameters) -> Steps:
    """Return in which steps the job's schedule is searched."""
    if params.granularity is Granularity.CHUNKS:
        return coarsening.by_chunks(job)
    return coarsening.by_worker_slots(job, params.most_units, params.most_idle_share)


@dataclass(frozen=True, eq=False)
class _Table:
    """What slots in a row offer, and what 0, 1, 2, … steps cost in each, (S, steps)."""

    workers: Offers
    servers: Offers
    costs: FloatMatrix


def _table(
    job: TrainingJob, promised: Promised, bounds: Bounds, steps: Steps, rows: slice
) -> _Table:
    low, high = bounds.log_low_workers, bounds.log_high_workers
    most = int(steps.workers[-1])
    workers = slot_offers.of(promised.workers, rows, job.worker, low, high, most)
    low, high = bounds.log_low_servers, bounds.log_high_servers
    most = int(steps.servers[-1])
    servers = slot_offers.of(promised.servers, rows, job.server, low, high, most)
    costs = workers.costs[:, steps.workers] + servers.costs[:, steps.servers]
    costs[:, (steps.workers > 0) & (steps.workers < job.least_workers)] = np.inf
    return _Table(workers, servers, costs)


def _idle_costs(job: TrainingJob, bounds: Bounds, steps: Steps) -> FloatVector:
    worker = float(np.exp(bounds.log_low_workers) @ np.asarray(job.worker))
    server = float(np.exp(bounds.log_low_servers) @ np.asarray(job.server))
    costs: FloatVector = steps.workers * worker + steps.servers * server
    return costs


def _schedule(job: TrainingJob, steps: Steps, tables: list[_Table], found: list[int]) -> Schedule:
    """Return the schedule with so many steps in each slot."""
    first = tables[0].workers.first
    counts = steps.workers[found]
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
        workers=slot_offers.seats([table.workers for table in tables], counts),
        servers=slot_offers.seats([table.servers for table in tables], served),
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
