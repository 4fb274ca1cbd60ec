"""Schedules of jobs that cannot change: the same workers from the first slot to the last.

A job without a checkpoint can neither shrink nor pause. Its schedules are as many as there are
starts and numbers of workers, so all are tried.
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
    """A schedule before its pods have machines.

    Attributes:
        first: Its first slot.
        last: Its last one.
        workers: How many run in each.
        payoff: At the cheapest machines of each slot.
        likes: Those machines.
    """

    first: int
    last: int
    workers: int
    payoff: float
    likes: Allocation

    @property
    def counts(self) -> dict[int, int]:
        """Slot → workers."""
        return dict.fromkeys(range(self.first, self.last + 1), self.workers)


def by_payoff(
    job: TrainingJob,
    state: SlotState,
    widths: Sequence[int],
    starts: tuple[int, int],
    least_payoff: float,
) -> Iterator[RigidSchedule]:
    """Yield the schedules with a payoff above the least, the best first.

    Of equal ones the one that ends earliest, then the one with the fewest workers.

    Args:
        job: The job.
        state: What is promised; only read.
        widths: Numbers of workers it may have.
        starts: First and last slot in which it may begin.
        least_payoff: The payoff must be above this.
    """
    rows, bounds = slice(starts[0] - 1, state.cluster.horizon), state.bounds
    if not widths or rows.start >= rows.stop:
        return
    low, high = bounds.log_low_workers, bounds.log_high_workers
    offers = slot_offers.offers_of(state.promised.workers, rows, job.worker, low, high, max(widths))
    low, high = bounds.log_low_servers, bounds.log_high_servers
    most = max(job.servers_for(width) for width in widths)
    serving = slot_offers.offers_of(state.promised.servers, rows, job.server, low, high, most)
    utilities = np.array(
        [job.utility.of(slot - job.arrival) for slot in range(rows.start + 1, rows.stop + 1)]
    )
    found = []
    for width in widths:
        costs = offers.costs[:, width] + serving.costs[:, job.servers_for(width)]
        lasts = -(-job.work // width)
        for row, payoff in _payoffs(costs, utilities, lasts, least_payoff):
            if rows.start + 1 + row <= starts[1]:
                found.append((-payoff, row + lasts, width, row))
    for negative, end, width, row in sorted(found):
        wanted = np.zeros(len(offers.costs), dtype=np.int64)
        wanted[row:end] = width
        likes = slot_offers.cheapest_allocation([offers], wanted)
        yield RigidSchedule(rows.start + 1 + row, rows.start + end, width, -negative, likes)


def _payoffs(
    costs: FloatVector, utilities: FloatVector, lasts: int, least_payoff: float
) -> list[tuple[int, float]]:
    """Return row of the start and payoff of what lasts so many slots and pays."""
    if lasts > len(costs):
        return []
    payoffs = utilities[lasts - 1 :] - sliding_window_view(costs, lasts).sum(axis=1)
    return [(row, float(payoffs[row])) for row in np.flatnonzero(payoffs > least_payoff).tolist()]
