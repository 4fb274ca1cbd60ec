"""The cheapest worker-slots of all slots together: schedules where each further worker costs more.

With servers that may be divided the cost of a slot is convex in its workers, so that the dynamic
programme is nothing but a choice of the W cheapest worker-slots.
"""

from collections.abc import Callable

import numpy as np

from extender.core.pricing.slots import FloatMatrix
from extender.core.pricing.training_job import ROUNDING


class Merge:
    """What the work costs if it is done by the end of each slot; never rises with the slot."""

    def __init__(self, marginals: FloatMatrix, work: int) -> None:
        """Keep what the first, second, … worker of each slot costs, (S, N), never falling in N."""
        self._marginals = marginals
        self._work = work
        self._known: dict[int, float] = {}

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self._marginals)

    def cost(self, row: int) -> float:
        """Return what it costs to be done by the end of the slot in ``row``; +inf without room."""
        if row not in self._known:
            self._known[row] = self._cost(row)
        return self._known[row]

    def _cost(self, row: int) -> float:
        costs = self._marginals[: row + 1].ravel()
        if costs.size < self._work:
            return np.inf
        return float(np.partition(costs, self._work - 1)[: self._work].sum())


def most_payoff(costs: Merge, utility: Callable[[int], float]) -> float:
    """Return the largest utility minus cost of any row, at least 0.

    Rows are halved: none of l…u pays more than f(l) - cost(u), as neither ever rises.
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


def divided(costs: FloatMatrix, each: float, workers: int) -> FloatMatrix:
    """Return what ``each`` servers a worker cost for 0…``workers`` workers, (S, workers + 1).

    Args:
        costs: What whole servers cost together, (S, servers + 1); linear between.
        each: b/B.
        workers: Most workers.
    """
    wanted = np.arange(workers + 1) * each
    below = np.floor(wanted + ROUNDING).astype(np.int64)
    above = np.minimum(below + 1, costs.shape[1] - 1)
    rest = np.maximum(wanted - below, 0.0)
    low, high = costs[:, below], costs[:, above]
    room = np.isfinite(low) & (np.isfinite(high) | (rest <= ROUNDING))
    part = np.where(np.isfinite(high), high, 0.0) - np.where(np.isfinite(low), low, 0.0)
    return np.where(room, np.where(np.isfinite(low), low, 0.0) + rest * part, np.inf)
