"""Where a training run leads: remaining time and loss (docs/policies/convergence.md)."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from shared.convergence import curve, pace
from shared.progress import Goal, Span

MOST_READ: Final = 2000
"""Of a longer series evenly spaced points are read."""
MOST_FITTED: Final = 32
"""The curve is fitted to the means of at most this many equal parts of the series."""
LARGEST: Final = 1e15
"""A step or a time beyond this is a mistake."""
SEGMENTS: Final = 16
"""The pace is taken between at most this many."""


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
    """What is to come, each with a band that holds about two thirds; None if not predictable.

    Attributes:
        remaining_seconds: Time until ``total_steps``.
        remaining_loss: How much the metric will still gain until then, 0 or above.
    """

    remaining_seconds: Span | None = None
    remaining_loss: Span | None = None


def forecast(
    points: Sequence[Point], total_steps: float | None, now: float, goal: Goal
) -> Forecast:
    """Return how long a run will take from now, and how much it will still gain.

    Points that are not finite, or whose step is not above the ones before, are left out. The cost
    is bounded, however many points there are. It never raises and never gives NaN or infinity.

    Args:
        points: Of one attempt, in the order of their steps; the whole run, not only its end.
        total_steps: Where the run ends; without it nothing can be predicted.
        now: Seconds.
        goal: Whether the metric is to fall or to rise.

    Source:
        As ``curve.further_drop``; the pace and the bands are ours.
    """
    usable = _usable(points)
    if total_steps is None or not abs(total_steps) <= LARGEST or not usable:
        return Forecast()
    return Forecast(
        _remaining_seconds(usable, total_steps, now), _remaining_loss(usable, total_steps, goal)
    )


def _usable(points: Sequence[Point]) -> list[Point]:
    stride = -(-len(points) // MOST_READ) or 1
    reached = -math.inf
    found: list[Point] = []
    for point in points[::-stride][::-1]:  # from the end, so that the last one is among them
        if point.step > reached and _is_sane(point):
            found.append(point)
            reached = point.step
    return found


def _is_sane(point: Point) -> bool:
    return (
        abs(point.step) <= LARGEST
        and abs(point.at_seconds) <= LARGEST
        and math.isfinite(point.value)
    )


def _remaining_seconds(points: Sequence[Point], total_steps: float, now: float) -> Span | None:
    first, last = points[0], points[-1]
    left = total_steps - last.step
    if left <= 0:
        return Span(0.0, 0.0, 0.0)
    if len(points) <= pace.LEAST_SEGMENTS:
        return None
    ends = [points[i] for i in _edges(len(points) - 1, SEGMENTS)]
    found = pace.seconds_per_step([p.step for p in ends], [p.at_seconds for p in ends])
    if found is None:
        return None
    # since the last point it went on, but not beyond the next one: it may stand still
    usual_gap = (last.step - first.step) / (len(points) - 1)
    silent_seconds = max(0.0, now - last.at_seconds)

    def until_end(seconds_per_step: float) -> float:
        return left * seconds_per_step - min(
            silent_seconds, min(left, usual_gap) * seconds_per_step
        )

    return Span(until_end(found.value), until_end(found.low), until_end(found.high))


def _remaining_loss(points: Sequence[Point], total_steps: float, goal: Goal) -> Span | None:
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
    found = curve.further_drop(
        [sum((p.step - first.step) / length for p in part) / len(part) for part in parts],
        [sum(p.value / unit for p in part) / len(part) for part in parts],
        (total_steps - first.step) / length,
    )
    span = Span(found.value * largest, found.low * largest, found.high * largest)
    return span if math.isfinite(span.high) else None


def _edges(count: int, most: int) -> list[int]:
    """Return the borders of at most ``most`` nearly equal parts of ``count`` things."""
    parts = min(count, most)
    return [i * count // parts for i in range(parts + 1)]
