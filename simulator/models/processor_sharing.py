"""Processor sharing: the CPU of each task on a busy machine (water-filling)."""

from collections.abc import Sequence
from itertools import accumulate


def shares(
    capacity: float, limits: Sequence[float], weights: Sequence[float] | None = None
) -> list[float]:
    """Return the part of ``capacity`` each task gets, in the order given.

    Each task gets capacity in proportion to its weight, but no more than its limit; what a limit
    leaves is shared among the others in the same way. No capacity stays idle that a task can use.

    Args:
        capacity: Of the machine, 0 or above.
        limits: Most that each task can use, in the same unit, 0 or above.
        weights: Above 0; None: all equal.
    """
    if sum(limits) <= capacity:
        return list(limits)
    count = len(limits)
    equal = capacity / count
    if weights is None:
        if min(limits) >= equal:
            return [equal] * count
        weights = [1.0] * count
    order = sorted(range(count), key=lambda i: (limits[i] / weights[i], i))
    together = list(accumulate(weights[i] for i in reversed(order)))[::-1]
    parts, left = [0.0] * count, capacity
    for i, weight in zip(order, together, strict=True):
        parts[i] = min(limits[i], left * weights[i] / weight)
        left = max(0.0, left - parts[i])
    return parts


def interference(limits: Sequence[float], slowdown: float) -> float:
    """Return the factor by which tasks that want more than a whole machine slow each other down.

    ``1 / (1 + slowdown * max(0, sum(limits) - 1))``: 1 without contention, or with a slowdown of 0.
    """
    return 1.0 / (1.0 + slowdown * max(0.0, sum(limits) - 1.0))
