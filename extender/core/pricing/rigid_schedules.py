"""Schedules of jobs that cannot change: the same workers from the first slot to the last.

A job without a checkpoint can neither shrink nor pause. It has one schedule for each start and
number of workers, so all are tried.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from extender.core.pricing import slot_offers
from extender.core.pricing.admission import SlotState
from extender.core.pricing.slots import Allocation, FloatVector
from extender.core.pricing.training_job import TrainingJob


@dataclass(frozen=True, eq=False)
class RigidSchedule:
    """A schedule before machines are assigned.

    Attributes:
        first: Its first slot.
        last: Its last one.
        workers: Workers in each slot.
        payoff: On the cheapest machines of each slot.
        cheapest: Those machines.
    """

    first: int
    last: int
    workers: int
    payoff: float
    cheapest: Allocation

    @property
    def counts(self) -> dict[int, int]:
        """Slot → workers."""
        return dict.fromkeys(range(self.first, self.last + 1), self.workers)


def by_payoff(
    job: TrainingJob,
    state: SlotState,
    worker_counts: Sequence[int],
    starts: tuple[int, int],
    least_payoff: float,
) -> Iterator[RigidSchedule]:
    """Yield the schedules with a payoff above the least, the best first.

    Of equal ones the one that ends earliest, then the one with the fewest workers.

    Args:
        job: The job.
        state: Promised amounts; not changed.
        worker_counts: Numbers of workers it may have.
        starts: First and last slot in which it may begin.
        least_payoff: The payoff must be above this.
    """
    rows, bounds = slice(starts[0] - 1, state.cluster.horizon), state.bounds
    if not worker_counts or rows.start >= rows.stop:
        return
    low, high = bounds.log_low_workers, bounds.log_high_workers
    most = max(worker_counts)
    offers = slot_offers.offers_of(state.promised.workers, rows, job.worker, low, high, most=most)
    low, high = bounds.log_low_servers, bounds.log_high_servers
    most = max(job.servers_for(workers) for workers in worker_counts)
    serving = slot_offers.offers_of(state.promised.servers, rows, job.server, low, high, most=most)
    utilities = np.array(
        [job.utility.of(slot - job.arrival) for slot in range(rows.start + 1, rows.stop + 1)]
    )
    schedules = []
    for workers in worker_counts:
        costs = offers.costs[:, workers] + serving.costs[:, job.servers_for(workers)]
        slots = -(-job.work // workers)
        for row, payoff in _payoffs(costs, utilities, slots, least_payoff):
            if rows.start + 1 + row <= starts[1]:
                schedules.append((-payoff, row + slots, workers, row))
    for negative, end, workers, row in sorted(schedules):
        counts = np.zeros(len(offers.costs), dtype=np.int64)
        counts[row:end] = workers
        cheapest = slot_offers.cheapest_allocation([offers], counts)
        yield RigidSchedule(rows.start + 1 + row, rows.start + end, workers, -negative, cheapest)


def _payoffs(
    costs: FloatVector, utilities: FloatVector, slots: int, least_payoff: float
) -> list[tuple[int, float]]:
    """Return the first row and the payoff of each run of so many slots that pays."""
    if slots > len(costs):
        return []
    payoffs = utilities[slots - 1 :] - sliding_window_view(costs, slots).sum(axis=1)
    return [(row, float(payoffs[row])) for row in np.flatnonzero(payoffs > least_payoff).tolist()]
