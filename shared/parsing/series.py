"""Classifies points in the order read: new, repeated, or the first after a restart of the run.

Steps that go back are a restart: the program resumed from a checkpoint, or from the beginning. Two
things look the same and are not. Several ranks print the same steps, a little out of order. And a
file is rewritten with its old content (Lightning's ``metrics.csv``, when a metric is added).

A program may also train one model after another, each with its own metrics and its own end.
"""

from array import array
from math import inf, isfinite
from sys import getsizeof
from typing import Final

from msgspec import Struct

from shared.parsing.base import Point, Unit
from shared.parsing.metric_names import MOST_METRICS, is_training_loss

LAG_POINTS: Final = 16
"""Points that one rank may be behind another."""
METRIC_BYTES: Final = 600
"""Memory of the steps of one metric."""


class Taken(Struct, frozen=True):
    """A classified point.

    Attributes:
        point: The point.
        is_new: It is no duplicate, and its name is kept.
        restarted: It is the first of a new attempt.
        attempt: 1, one more after each restart.
        has_new_metrics: That attempt is another training: the metrics so far have ended.
        has_new_unit: Its metric counts in another unit from here on: its steps so far are void.
    """

    point: Point
    is_new: bool
    restarted: bool
    attempt: int
    has_new_metrics: bool = False
    has_new_unit: bool = False

    @property
    def is_finite(self) -> bool:
        """True if the value is a finite number; NaN and infinity are events."""
        return isfinite(self.point.value)


class Series:
    """All metrics of one source, i.e. of one file or one container's log.

    A metric without steps has neither duplicates nor restarts.
    """

    def __init__(self) -> None:
        self.attempt = 1
        self._metrics: dict[str, _Metric] = {}
        self._has_ranks = False
        self._held_bytes = 0
        self._last: Point | None = None

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the metrics."""
        return self._held_bytes

    def take(self, point: Point) -> Taken:
        """Classify a point, and remember it."""
        metric, step = self._metrics.get(point.metric), point.step
        if metric is None or step is None or not metric.goes_on(step, point.unit):
            return self._take(point, metric)
        if point.total_steps is not None:
            self._last = point
        return Taken(point, True, False, self.attempt)

    def _take(self, point: Point, metric: "_Metric | None") -> Taken:
        step = point.step
        has_new_metrics = metric is None and self._has_ended(point)
        if point.total_steps is not None:
            self._last = point
        if has_new_metrics:
            self._begin_attempt()
        if metric is None:
            if len(self._metrics) >= MOST_METRICS:
                return Taken(point, False, False, self.attempt)
            metric = self._add(point.metric)
        if step is None:
            return Taken(point, True, False, self.attempt)
        if has_new_unit := metric.has_other_unit(point.unit):
            metric = self._metrics[point.metric] = _Metric()
        metric.unit = point.unit
        restarted = metric.begins_attempt(step, point.value, ranks=self._has_ranks)
        if restarted:
            self._begin_attempt()
            metric = self._add(point.metric)
        is_new = metric.add(step, point.value)
        self._has_ranks = self._has_ranks or not (is_new or metric.is_repeating)
        restarted = restarted or has_new_metrics
        return Taken(
            point,
            is_new,
            restarted,
            self.attempt,
            has_new_metrics=has_new_metrics,
            has_new_unit=has_new_unit,
        )

    def _has_ended(self, point: Point) -> bool:
        """Return True if the last point ended its training, and this one is before another end."""
        last = self._last
        if last is None or last.step is None or last.total_steps is None or point.step is None:
            return False
        is_other = point.unit == last.unit and point.total_steps not in (None, last.total_steps)
        has_begun = is_other and point.step < last.step and last.step >= last.total_steps - 1
        return has_begun and is_training_loss(last.metric) and is_training_loss(point.metric)

    def _begin_attempt(self) -> None:
        self.attempt += 1
        self._metrics, self._held_bytes = {}, 0

    def _add(self, name: str) -> "_Metric":
        self._held_bytes += METRIC_BYTES + getsizeof(name)
        added = self._metrics[name] = _Metric()
        return added

    def file_restarted(self) -> None:
        """Note that the file was truncated or rewritten: its old content may come again."""
        for metric in self._metrics.values():
            metric.may_repeat = True


class _Metric:
    """Steps of one metric in one attempt."""

    __slots__ = ("_first", "_last", "_recent", "is_repeating", "may_repeat", "unit")

    def __init__(self) -> None:
        self.may_repeat = False
        self.is_repeating = False
        self.unit: Unit | None = None
        self._first: tuple[float, str] | None = None
        self._last = -inf
        self._recent = array("d")

    def begins_attempt(self, step: float, value: float, *, ranks: bool) -> bool:
        """Return True if this step begins another attempt.

        With one rank each step comes once, so any step back is a restart. Once a step has come
        twice there are several ranks, and a recent step belongs to a rank that lags.
        """
        may_repeat, self.may_repeat = self.may_repeat, False
        if may_repeat and step <= self._last:
            self.is_repeating = (step, repr(value)) == self._first
            return not self.is_repeating
        if step >= self._last or self.is_repeating:
            return False
        return not (ranks and step in self._recent)

    def has_other_unit(self, unit: Unit) -> bool:
        """Return True if the steps so far count something else."""
        return self.unit is not None and self.unit != unit

    def goes_on(self, step: float, unit: Unit) -> bool:
        """Add a step that is plainly the next one; else do nothing and return False."""
        is_next = step > self._last and self._first is not None and unit == self.unit
        if is_next and not (self.may_repeat or self.is_repeating):
            self._remember(step)
            return True
        return False

    def add(self, step: float, value: float) -> bool:
        """Return True if the step is new."""
        if step <= self._last:
            return False
        self.is_repeating = False
        self._first = self._first or (step, repr(value))
        self._remember(step)
        return True

    def _remember(self, step: float) -> None:
        self._last = step
        recent = self._recent
        recent.append(step)
        if len(recent) > LAG_POINTS:
            del recent[0]
