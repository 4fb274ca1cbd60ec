"""Points in the order read, told apart: what is new, what is told again, when a run began anew.

Steps that go back are a restart: the program resumed from a checkpoint, or from the beginning. Two
things look like it and are none. Several ranks print the same steps, a little out of order. And a
file is written anew with what it held (Lightning's ``metrics.csv``, when a metric is added).
"""

from array import array
from math import inf, isfinite
from sys import getsizeof
from typing import Final

from msgspec import Struct

from agent.parsing.base import Point
from agent.parsing.metric_names import MOST_METRICS

LAG_POINTS: Final = 16
"""How many points one rank may be behind another."""
METRIC_BYTES: Final = 600
"""For the steps of one metric."""


class Taken(Struct, frozen=True):
    """What a point is.

    Attributes:
        point: The point.
        is_new: It tells something: no duplicate, and of a name we have room for.
        restarted: It is the first of a new attempt.
        attempt: 1, one more after each restart.
    """

    point: Point
    is_new: bool
    restarted: bool
    attempt: int

    @property
    def is_finite(self) -> bool:
        """Whether it has a value to count with; NaN and infinity are events."""
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

    @property
    def held_bytes(self) -> int:
        """Roughly what is kept of the metrics."""
        return self._held_bytes

    def take(self, point: Point) -> Taken:
        """Return what a point is, and remember it."""
        metric = self._metrics.get(point.metric)
        if metric is None:
            if len(self._metrics) >= MOST_METRICS:
                return Taken(point, False, False, self.attempt)
            metric = self._add(point.metric)
        if point.step is None:
            return Taken(point, True, False, self.attempt)
        restarted = metric.begins_attempt(point.step, point.value, ranks=self._has_ranks)
        if restarted:
            self.attempt += 1
            self._metrics, self._held_bytes = {}, 0
            metric = self._add(point.metric)
        is_new = metric.add(point.step, point.value)
        self._has_ranks = self._has_ranks or not (is_new or metric.is_repeating)
        return Taken(point, is_new, restarted, self.attempt)

    def _add(self, name: str) -> "_Metric":
        self._held_bytes += METRIC_BYTES + getsizeof(name)
        added = self._metrics[name] = _Metric()
        return added

    def file_began_anew(self) -> None:
        """The file was cut or written anew: what comes may be what it held, or another run."""
        for metric in self._metrics.values():
            metric.may_repeat = True


class _Metric:
    """Steps of one metric in one attempt."""

    __slots__ = ("_first", "_last", "_recent", "is_repeating", "may_repeat")

    def __init__(self) -> None:
        self.may_repeat = False
        self.is_repeating = False
        self._first: tuple[float, str] | None = None
        self._last = -inf
        self._recent = array("d")

    def begins_attempt(self, step: float, value: float, *, ranks: bool) -> bool:
        """Return whether this step is of another attempt.

        With one rank each step comes once, so that any step back is a restart. Once a step has come
        twice there are several, and a step that came a short while ago is of one that lags.
        """
        may_repeat, self.may_repeat = self.may_repeat, False
        if may_repeat and step <= self._last:
            self.is_repeating = (step, repr(value)) == self._first
            return not self.is_repeating
        if step >= self._last or self.is_repeating:
            return False
        return not (ranks and step in self._recent)

    def add(self, step: float, value: float) -> bool:
        """Return whether the step is new."""
        if step <= self._last:
            return False
        self.is_repeating = False
        self._first = self._first or (step, repr(value))
        self._last = step
        recent = self._recent
        recent.append(step)
        if len(recent) > LAG_POINTS:
            del recent[0]
        return True
