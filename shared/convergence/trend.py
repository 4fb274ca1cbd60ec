"""Trend of the end of a training curve, and what it promises: a Theil-Sen line over log steps.

Real curves fall ever more slowly, roughly by equal amounts each time the number of steps doubles.
So the line over the logarithm of the step goes on where one over the step would promise too much.
A median of slopes ignores single values that jump. Uses only ``math``, on a few dozen points.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import Final

LEAST_POINTS: Final = 4
PART: Final = 0.5
"""The trend is that of this last part of the curve."""
SURE: Final = 2.0
"""Standard errors added to the slope: with 97.7 % confidence it is not steeper."""


def further_fall(
    steps: Sequence[float], values: Sequence[float], begin: int, noise: float, longer: float
) -> float:
    """Return how far a curve falls at most, at the trend of its end; +inf with too few points.

    Args:
        steps: Strictly rising, from the start of the run.
        values: The values there; finite.
        begin: Index of the first point that counts.
        noise: Standard deviation of a value, 0 or above.
        longer: How many times as long as now the run becomes, 1 or above.

    Source:
        Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau", JASA 63, 1968. The
        standard error is that of a least-squares line, which that of Sen's hardly exceeds.
    """
    gap = (steps[-1] - steps[0]) / (len(steps) - 1)  # the first value is one step old, not none
    length = steps[-1] - steps[0] + gap
    since = steps[-1] - PART * (steps[-1] - steps[begin])
    end = [
        (math.log((step - steps[0] + gap) / length), value)
        for step, value in zip(steps, values, strict=True)
        if step > since
    ]
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in combinations(end, 2) if x1 > x0]
    if len(end) < LEAST_POINTS or not slopes:
        return math.inf
    middle = sum(x for x, _ in end) / len(end)
    error = noise / math.sqrt(sum((x - middle) ** 2 for x, _ in end))
    return (max(0.0, -median(slopes)) + SURE * error) * math.log(longer)
