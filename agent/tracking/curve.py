"""A series of any length in bounded memory: means of equal intervals of the whole run."""

from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from shared.convergence.forecast import Point
from shared.progress import MOST_CURVE_POINTS

MOST_INTERVALS: Final = 2 * MOST_CURVE_POINTS
"""At this number, each two intervals are merged: from then on they are twice as long."""


class Curve:
    """Values in the order they were read.

    Three numbers for each interval: means of step, value and time. Means, because the loss of one
    batch is noisy.
    """

    def __init__(self) -> None:
        self._steps = array("d")
        self._values = array("d")
        self._times = array("d")
        self._length = 1
        self._shown: list[float] = []
        self._empty()

    def add(self, step: float, value: float, at_seconds: float) -> None:
        """Add the next value, finite; ``at_seconds`` since the epoch."""
        self._in_open += 1
        self._open_steps += step / self._length
        self._open_values += value / self._length  # divided first: a sum may overflow
        self._open_times += at_seconds / self._length
        if self._in_open == self._length:
            self._close()

    def cut(self, step: float) -> None:
        """Remove the values from ``step`` on: the run restarted there."""
        kept = sum(reached < step for reached in self._steps)
        for column in (self._steps, self._values, self._times):
            del column[kept:]
        self._shown = []
        self._empty()

    def points(self) -> Iterator[Point]:
        """Yield all intervals, also the last one that is not full yet, oldest first."""
        yield from map(Point, self._steps, self._values, self._times)
        if self._in_open:
            share = self._length / self._in_open
            sums = (self._open_steps, self._open_values, self._open_times)
            yield Point(*(total * share for total in sums))

    def values(self) -> tuple[float, ...]:
        """Return at most ``MOST_CURVE_POINTS`` values, oldest first, including first and last.

        They are for a chart: six digits are enough, and less than half the bytes.
        """
        values = self._shown
        if len(values) != len(self._values):
            values += map(_rounded, self._values[len(values) :])
        if self._in_open:
            open_mean = self._open_values * (self._length / self._in_open)
            values = [*values, _rounded(open_mean)]
        if len(values) <= MOST_CURVE_POINTS:
            return tuple(values)
        return tuple(map(values.__getitem__, _spread(len(values))))

    def _empty(self) -> None:
        self._in_open = 0
        self._open_steps = self._open_values = self._open_times = 0.0

    def _close(self) -> None:
        self._steps.append(self._open_steps)
        self._values.append(self._open_values)
        self._times.append(self._open_times)
        self._empty()
        if len(self._steps) == MOST_INTERVALS:
            for column in (self._steps, self._values, self._times):
                column[:] = array("d", _halved(column))
            self._length *= 2
            self._shown = []


@cache
def _spread(count: int) -> tuple[int, ...]:
    """Return the indices of the values to show out of ``count``, including first and last."""
    last, places = count - 1, MOST_CURVE_POINTS - 1
    return tuple(round(i * last / places) for i in range(MOST_CURVE_POINTS))


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _halved(column: Sequence[float]) -> list[float]:
    return [first / 2 + second / 2 for first, second in zip(column[::2], column[1::2], strict=True)]
