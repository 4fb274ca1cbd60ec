"""Forecast of a training run: its pace, remaining time and loss (docs/policies/convergence.md)."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from shared.convergence import bands, curve
from shared.convergence.bands import Bands
from shared.convergence.calibrated import CALIBRATED
from shared.progress import Goal, Span

LEAST_SEGMENTS: Final = 2
OLDEST_WEIGHT: Final = 0.1
"""Weight of the oldest segment; the newest has 1, between them it grows by equal factors."""
_QUANTILES: Final = (1 / 6, 1 / 2, 5 / 6)
"""Low, middle, high: two thirds lie between the outer ones."""
MOST_READ: Final = 2000
"""Points that are read; of a longer series, evenly spaced ones."""
MOST_FITTED: Final = 32
"""The curve is fitted to the means of at most this many equal parts of the series."""
LARGEST: Final = 1e15
"""A step or a time beyond this is an error."""
SEGMENTS: Final = 16
"""Most segments between which the pace is measured."""


def seconds_per_step(steps: Sequence[float], times: Sequence[float]) -> Span | None:
    """Return the weighted median of the pace between the points; None if there are too few.

    A pause is one slow segment among many and does not move the median. The band holds two thirds
    of the segments by weight: on a shared node the pace depends on the other pods, and that does
    not average out.

    Args:
        steps: Strictly rising.
        times: Seconds; segments without a duration are ignored.
    """
    segments = [
        ((t1 - t0) / (k1 - k0), t1 > t0)
        for k0, k1, t0, t1 in zip(steps, steps[1:], times, times[1:], strict=False)
    ]
    last = max(1, len(segments) - 1)
    weighted = sorted(
        (pace, OLDEST_WEIGHT ** (1 - i / last))
        for i, (pace, passed) in enumerate(segments)
        if passed
    )
    if len(weighted) < LEAST_SEGMENTS:
        return None
    low, middle, high = (_quantile(weighted, part) for part in _QUANTILES)
    return Span(middle, low, high)


def _quantile(weighted: Sequence[tuple[float, float]], part: float) -> float:
    """Return the first number at which ``part`` of the weight is reached."""
    left = part * sum(weight for _, weight in weighted)
    for number, weight in weighted:
        left -= weight
        if left <= 0:
            return number
    return weighted[-1][0]


class Point(msgspec.Struct, frozen=True):
    """A value of the metric.

    Attributes:
        step: Step of the training, on the scale of ``total_steps``.
        value: The metric.
        at_seconds: When it was made, or read; seconds on the clock of ``now``.
    """

    step: float
    value: float
    at_seconds: float


class Forecast(msgspec.Struct, frozen=True):
    """A prediction, each value with a band of about two thirds; None if not predictable.

    Attributes:
        remaining_seconds: Time until ``total_steps``.
        remaining_loss: Further improvement of the metric until then, 0 or above.
    """

    remaining_seconds: Span | None = None
    remaining_loss: Span | None = None


def forecast(
    points: Sequence[Point],
    total_steps: float | None,
    now: float,
    goal: Goal,
    *,
    factors: Bands = CALIBRATED,
) -> Forecast:
    """Predict the remaining time of a run, and its further improvement.

    Points that are not finite, or whose step is not above the previous ones, are ignored. The cost
    is bounded for any number of points. It never raises, and never returns NaN or infinity.

    Args:
        points: Of one attempt, in the order of their steps; the whole run, not only its end.
        total_steps: Where the run ends; without it nothing can be predicted.
        now: Seconds.
        goal: Whether the metric is to fall or to rise.
        factors: Of the bands.

    Source:
        As ``curve.further_drop``; the pace and the bands are ours.
    """
    usable = _usable(points)
    if total_steps is None or not abs(total_steps) <= LARGEST or not usable:
        return Forecast()
    return Forecast(
        _remaining_seconds(usable, total_steps, now, factors),
        _remaining_loss(usable, total_steps, goal, factors),
    )


def progress(points: Sequence[Point], total_steps: float) -> float:
    """Return how far a run is by its points, 0 to 1."""
    length = total_steps - points[0].step
    return (points[-1].step - points[0].step) / length if length > 0 else 1.0


def _usable(points: Sequence[Point]) -> list[Point]:
    stride = -(-len(points) // MOST_READ) or 1
    reached = -math.inf
    usable: list[Point] = []
    for point in points[::-stride][::-1]:  # from the end, so that the last one is among them
        if point.step > reached and _is_sane(point):
            usable.append(point)
            reached = point.step
    return usable


def _is_sane(point: Point) -> bool:
    return (
        abs(point.step) <= LARGEST
        and abs(point.at_seconds) <= LARGEST
        and math.isfinite(point.value)
    )


def _remaining_seconds(
    points: Sequence[Point], total_steps: float, now: float, factors: Bands
) -> Span | None:
    first, last = points[0], points[-1]
    left = total_steps - last.step
    if left <= 0:
        return Span(0.0, 0.0, 0.0)
    if len(points) <= LEAST_SEGMENTS:
        return None
    ends = [points[i] for i in _edges(len(points) - 1, SEGMENTS)]
    pace = seconds_per_step([p.step for p in ends], [p.at_seconds for p in ends])
    if pace is None:
        return None
    # it advanced since the last point, but not beyond the next one: it may have stopped
    usual_gap = (last.step - first.step) / (len(points) - 1)
    silent_seconds = max(0.0, now - last.at_seconds)

    def until_end(seconds_per_step: float) -> float:
        return left * seconds_per_step - min(
            silent_seconds, min(left, usual_gap) * seconds_per_step
        )

    span = Span(until_end(pace.value), until_end(pace.low), until_end(pace.high))
    return bands.around_time(span, progress(points, total_steps), factors)


def _remaining_loss(
    points: Sequence[Point], total_steps: float, goal: Goal, factors: Bands
) -> Span | None:
    if len(points) < curve.LEAST_POINTS:
        return None
    first, last = points[0], points[-1]
    largest = max(abs(point.value) for point in points)
    if largest == 0 or total_steps <= last.step:
        return Span(0.0, 0.0, 0.0)
    unit = largest if goal is Goal.MIN else -largest
    length = last.step - first.step
    edges = _edges(len(points), MOST_FITTED)
    parts = [points[i:j] for i, j in pairwise(edges)]
    drop = curve.further_drop(
        [sum((p.step - first.step) / length for p in part) / len(part) for part in parts],
        [sum(p.value / unit for p in part) / len(part) for part in parts],
        (total_steps - first.step) / length,
    )
    span = bands.around_gain(
        drop.value * largest, drop.noise * largest, progress(points, total_steps), factors
    )
    return span if math.isfinite(span.high) else None


def _edges(count: int, most: int) -> list[int]:
    """Return the borders of at most ``most`` nearly equal parts of ``count`` items."""
    parts = min(count, most)
    return [i * count // parts for i in range(parts + 1)]
