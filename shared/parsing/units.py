"""One unit for each metric of a log: its steps count epochs, or they count steps. Pure.

::

    Epoch 1 Batch 500 Loss 3.62
    Epoch 1 Loss 3.39             the mean of the epoch: no step back from 500 to 1

Some programs only show in their second epoch that a count goes on over the end of the first. So a
metric may change its unit: where two of its values follow each other in the other one, or where one
is at a part of an epoch, at which no mean of an epoch is.
"""

from collections.abc import Sequence
from sys import getsizeof

from shared.parsing.base import Point, Unit
from shared.parsing.metric_names import Names


class Units:
    """Drops the values of a metric that stand alone in another unit than those around them."""

    def __init__(self) -> None:
        self._units: Names[Unit] = Names()
        self._waiting: dict[str, Point] = {}

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the names and of the values that wait."""
        return self._units.held_bytes + sum(map(getsizeof, self._waiting.values()))

    def kept(self, points: Sequence[Point]) -> list[Point]:
        """Return the points that count, with those that waited for the second in their unit."""
        kept: list[Point] = []
        for point in points:
            unit = self._units.get(point.metric)
            if unit == point.unit or unit is None or is_inside_epoch(point):
                self._units.put(point.metric, point.unit)
                self._waiting.pop(point.metric, None)
            elif (first := self._waiting.pop(point.metric, None)) is None:
                self._waiting[point.metric] = point
                continue
            else:
                self._units.put(point.metric, point.unit)
                kept.append(first)
            kept.append(point)
        return kept


def is_inside_epoch(point: Point) -> bool:
    """Return True for a value at a part of an epoch: it is the mean of none."""
    return point.unit == "epoch" and point.step is not None and not point.step.is_integer()
