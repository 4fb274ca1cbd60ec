"""The end slot and the work of each slot with the largest payoff: Algorithm 2's outer loop.

One forward dynamic programme spreads the steps of work over the slots at the least cost.
"""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from extender.core.pricing.slots import FloatMatrix, FloatVector
from extender.core.pricing.training_job import TrainingJob

EQUAL: Final = 1e-12
"""Costs nearer than this share are equal, so that rounding decides nothing."""


class Forward:
    """``best[c]``, the least cost of c steps in the slots so far; slot by slot.

    One pass over the slots gives the cost for every completion slot; the paper's recursion starts
    anew for each.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 2, DP_COST.
    """

    def __init__(self, target: int, most: int) -> None:
        """Start before the first slot with nothing done.

        Args:
            target: Steps in all.
            most: Most steps of a slot.
        """
        self._target = target
        self._most = most
        self._reach = 0
        # In front of best[0] lies +inf: fewer than no steps cannot be done.
        self._best = np.full(most + target + 1, np.inf)
        self._best[most] = 0.0
        step = self._best.itemsize
        self._earlier: FloatMatrix = as_strided(
            self._best[most:], (most + 1, target + 1), (-step, step), writeable=False
        )
        self._totals: FloatMatrix = np.empty((most + 1, target + 1))
        self._slots: list[tuple[FloatVector, FloatVector]] = []

    def add(self, costs: FloatVector) -> float:
        """Add a slot in which d steps cost ``costs[d]``; return the cost of all steps so far.

        Args:
            costs: As many as the slot has room for, never falling, at most ``most + 1``.
        """
        most = min(len(costs) - 1, self._target)
        before = self._best[: self._most + self._reach + 1].copy()
        self._slots.append((before, costs[: most + 1]))
        if most:
            end = min(self._target, self._reach + most)
            # Row d of the earlier costs holds, at c, the cost of c - d steps.
            totals = self._totals[: most + 1, : end + 1]
            np.add(self._earlier[: most + 1, : end + 1], costs[: most + 1, None], out=totals)
            totals.min(axis=0, out=self._best[self._most : self._most + end + 1])
            self._reach = end
        return float(self._best[-1])

    def steps(self, slots: int) -> list[int]:
        """Return how many steps each of the first ``slots`` slots does in the cheapest way.

        Of equally cheap ways the one with less work in later slots is taken.
        """
        left = self._target
        backwards = []
        for before, costs in reversed(self._slots[:slots]):
            # before[most + c] is the cost of c steps; beyond its end nothing could be reached.
            at = self._most + left - np.arange(len(costs))
            earlier = np.where(at < len(before), before[np.minimum(at, len(before) - 1)], np.inf)
            totals = earlier + costs
            steps = int((totals <= totals.min() * (1.0 + EQUAL)).argmax())
            backwards.append(steps)
            left -= steps
        return backwards[::-1]


def least_cost(costs: FloatVector, target: int) -> float:
    """Return the cost of ``target`` steps in any number of slots, d of them at ``costs[d]``."""
    best = np.full(target + 1, np.inf)
    best[0] = 0.0
    for steps in range(1, target + 1):
        most = min(steps, len(costs) - 1)
        best[steps] = (costs[1 : most + 1] + best[steps - most : steps][::-1]).min()
    return float(best[-1])


_FIRST_BLOCK: Final = 16
"""Slots in the first block at least."""


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

    The search ends at the slot in which even the bill of an empty cluster would leave no more than
    the best payoff so far: utilities never rise, so no later slot could pay more.

    Args:
        job: The job.
        target: Steps in all.
        idle_costs: Cost of 0, 1, 2, … steps in a slot in which nothing is promised.
        costs: Rows of slots → the same for each of them, (S, steps), +inf beyond a slot's room.
            Called for rows that follow each other, so that a search that ends early needs few.
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
        if block == 1:  # a long search: computing the exact bill pays now
            least_bill = least_cost(idle_costs, target)
        table = costs(rows)
        # up to the last step with room; fewer may be impossible for a job of many workers
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
