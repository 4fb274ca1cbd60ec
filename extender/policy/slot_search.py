"""The end slot and the work of each slot that pay best: Algorithm 2's outer loop in one pass."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from extender.policy import forward
from extender.policy.forward import Forward
from extender.policy.slots import FloatMatrix, FloatVector
from extender.policy.training_job import TrainingJob

EQUAL: Final = 1e-12
"""Payoffs nearer than this share of the utility are equal: then the earlier end is taken."""
_FIRST_BLOCK: Final = 16
"""Slots whose offers are looked at first, at least."""


def steps_by_slot(
    job: TrainingJob,
    target: int,
    idle_costs: FloatVector,
    costs: Callable[[slice], FloatMatrix],
    *,
    first: int,
    horizon: int,
    least_payoff: float,
) -> list[int] | None:
    """Return how many steps each slot from ``first`` to the best end does; None if none pays.

    No slot is looked at in which even the bill of an empty cluster would leave no more than the
    best payoff so far: utilities never rise, so no later slot could either.

    Args:
        job: The job.
        target: Steps in all.
        idle_costs: What 0, 1, 2, … steps cost in a slot in which nothing is promised.
        costs: Rows of slots → the same for each of them, (S, steps), +inf beyond a slot's room.
            Asked for rows that follow each other, so that a search that ends early asks for few.
        first: First slot that may be used.
        horizon: T.
        least_payoff: The payoff must be above this.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 2, lines 2 to 8.
    """
    most = len(idle_costs) - 1
    least_bill = target * float((idle_costs[1:] / np.arange(1, most + 1)).min()) * (1.0 - EQUAL)
    last = _last_worth(job, first, horizon, least_payoff + least_bill)
    if last - first + 1 < job.least_slots:
        return None
    programme = Forward(target, most)
    best, end = least_payoff, 0
    for block, rows in enumerate(_blocks(first, last, job.least_slots)):
        if block == 1:  # The search is long: the exact bill is worth its time now.
            least_bill = forward.least_cost(idle_costs, target)
        table = costs(rows)
        # Up to the last step there is room for; fewer may be impossible for a job of many workers.
        rooms = (table.shape[1] - np.isfinite(table)[:, ::-1].argmax(axis=1)).tolist()
        for slot, (row, room) in enumerate(zip(table, rooms, strict=True), rows.start + 1):
            utility = job.utility.of(slot - job.arrival)
            if utility - least_bill <= best + EQUAL * utility:
                return programme.steps(end - first + 1) if end else None
            payoff = utility - programme.add(row[:room])
            if payoff > best + EQUAL * utility:
                best, end = payoff, slot
    return programme.steps(end - first + 1) if end else None


def _last_worth(job: TrainingJob, first: int, horizon: int, least: float) -> int:
    """Return the last slot in which the job's completion is worth more than ``least``."""
    low, high = first - 1, horizon
    while low < high:
        middle = (low + high + 1) // 2
        if job.utility.of(middle - job.arrival) > least:
            low = middle
        else:
            high = middle - 1
    return low


def _blocks(first: int, last: int, least_slots: int) -> Iterator[slice]:
    """Yield rows of slots: first as many as may be enough, then twice as many, and so on."""
    row, size = first - 1, max(_FIRST_BLOCK, 2 * least_slots)
    while row < last:
        yield slice(row, min(row + size, last))
        row, size = row + size, 2 * size
