"""The cheapest way to spread steps of work over slots: one forward dynamic programme."""

from typing import Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from extender.policy.slots import FloatMatrix, FloatVector

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
        # In front of best[0] stand +inf: fewer than no steps cannot be done.
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
            # Row d of what was there earlier holds, at c, the cost of c - d steps.
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
    """Return what ``target`` steps cost in as many slots as one likes, d of them ``costs[d]``."""
    best = np.full(target + 1, np.inf)
    best[0] = 0.0
    for steps in range(1, target + 1):
        most = min(steps, len(costs) - 1)
        best[steps] = (costs[1 : most + 1] + best[steps - most : steps][::-1]).min()
    return float(best[-1])
