"""What would be read from one file: the knowledge of the agent, without a cluster. Pure."""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from math import isfinite
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from shared.convergence.forecast import Point as CurvePoint
from shared.convergence.forecast import forecast
from shared.errors import MalformedError
from shared.parsing.base import (
    AnyParser,
    DocumentParser,
    GivesHint,
    Parser,
    Point,
    ReadsEarly,
    RecordParser,
    Unit,
)
from shared.parsing.choosing import parser_for
from shared.parsing.cri_lines import CriCutter
from shared.parsing.cutting import LineCutter
from shared.parsing.following import advice, followed, why_none
from shared.parsing.metric_names import MOST_METRICS, best_of, goal_of
from shared.parsing.series import Series
from shared.places import MetricsPlace
from shared.progress import Goal, Span

LINE_BYTES: Final = 64 * 1024
"""Bytes kept of a line, as the agent does by default."""
PIECE_BYTES: Final = 256 * 1024
MOST_KEPT: Final = 1024
"""Values of a metric from which the time left is predicted; of more, every second is dropped."""
_ANY: Final = 2**31
_CRI: Final = re.compile(rb"[0-9]{4}-[0-9-]{5}T[0-9:.]{8,24}\S{1,6} std(?:out|err) [FP][ :]")
Read = Callable[[int, int], bytes]
"""Takes an offset and a length; returns those bytes of the file, fewer at its end.

Except for documents (``is_document``), no offset is below one before it.
"""


class Finding(Struct, frozen=True, kw_only=True):
    """What would be read from a file.

    Attributes:
        file: Its name.
        format: One of ``shared.places.FORMATS``; ``auto``: none was detected.
        lines: Lines read; 0 of a binary file or a document.
        metric: The metric that would be followed; None if none.
        goal: Direction in which it improves.
        points: Its values.
        value: The last one; None if it is no number.
        step: Of the last value; None if its place is unknown.
        total_steps: Where the run ends, in the same unit; None if the file does not say.
        unit: What a step counts.
        attempts: 1, one more after each restart of the run.
        remaining: Seconds to the end, counted from the last value; None if it is not known.
        stated_left: Seconds to the end as the program itself states it; None if it does not.
        why_not: Why the metric or the time left is not known.
        regex: A pattern that might read values where none is found; empty if none is known.
        series: Names of all metrics.
    """

    file: str
    format: str
    lines: int = 0
    metric: str | None = None
    goal: Goal | None = None
    points: int = 0
    value: float | None = None
    step: float | None = None
    total_steps: int | None = None
    unit: Unit | None = None
    attempts: int = 1
    remaining: Span | None = None
    stated_left: float | None = None
    why_not: str = ""
    regex: str = ""
    series: tuple[str, ...] = ()


class _Metric(Struct):
    """The values of one metric.

    Attributes:
        count: All of this attempt and those before.
        is_finite: One of them is a finite number.
        curve: Those that have a step and a time, thinned out.
        last: The last one.
        placed: The last one that has a step: some steps are too coarse to distinguish values.
    """

    last: Point
    placed: Point | None = None
    count: int = 0
    is_finite: bool = False
    curve: list[CurvePoint] = field(default_factory=list)


class _Values:
    """The values of a file."""

    def __init__(self) -> None:
        self.metrics: dict[str, _Metric] = {}
        self.totals: dict[Unit, int] = {}
        self.left_seconds: float | None = None
        self._series = Series()

    @property
    def attempts(self) -> int:
        """See ``Finding``."""
        return self._series.attempt

    def take(self, point: Point, at_seconds: float | None) -> None:
        """Take the next value."""
        taken = self._series.take(point)
        if not taken.is_new:
            return
        if taken.has_new_metrics:
            self.metrics, self.totals = {}, {}
        if taken.has_new_unit and (metric := self.metrics.get(point.metric)) is not None:
            metric.curve = []
        if taken.restarted:
            for other in self.metrics.values():
                other.curve = [p for p in other.curve if p.step < (point.step or 0.0)]
        if point.metric in self.metrics or len(self.metrics) < MOST_METRICS:
            self._keep(point, at_seconds if taken.is_finite else None)

    def _keep(self, point: Point, at_seconds: float | None) -> None:
        """Keep a value; for the curve, if it has a time."""
        if point.total_steps:
            self.totals[point.unit] = point.total_steps
        self.left_seconds = self.left_seconds if point.left_seconds is None else point.left_seconds
        metric = self.metrics.setdefault(point.metric, _Metric(point))
        metric.last, metric.count = point, metric.count + 1
        metric.is_finite = metric.is_finite or isfinite(point.value)
        metric.placed = metric.placed if point.step is None else point
        if point.step is not None and at_seconds is not None:
            metric.curve.append(CurvePoint(point.step, point.value, at_seconds))
            if len(metric.curve) > MOST_KEPT:
                del metric.curve[::2]


def is_document(file: str, place: MetricsPlace) -> bool:
    """Return True if a file of this name would be read as a whole, and then again in parts.

    Raises:
        InputError: As ``check``.
    """
    return isinstance(_parser(file, place), DocumentParser)


def check(read: Read, file: str, place: MetricsPlace) -> Finding:
    """Return what would be read from a file.

    Args:
        read: Returns parts of the file.
        file: Its name, which may give its format.
        place: The annotation's keys that say how to read: format, metric, regex, total-steps, goal.

    Raises:
        InputError: A key cannot be used.
        MalformedError: The file is not of its format.
    """
    parser = _parser(file, place)
    values = _Values()
    lines = 0
    if isinstance(parser, RecordParser):
        _read_records(parser, read, values)
    elif isinstance(parser, DocumentParser):
        _read_document(parser, read, values)
    else:
        lines = _read_lines(parser, read, values)
    hint = parser.hint if isinstance(parser, GivesHint) else ""
    regex = "" if values.metrics else hint
    return _finding(
        Finding(file=file, format=parser.format, lines=lines, regex=regex), values, place
    )


def _parser(file: str, place: MetricsPlace) -> AnyParser:
    return parser_for(place.format, file_name=file, regex=place.regex, metric=place.metric)


def _read_lines(parser: Parser, read: Read, values: _Values) -> int:
    cutter = CriCutter(LINE_BYTES) if _CRI.match(read(0, 64)) else LineCutter(LINE_BYTES)
    lines = 0
    for piece in chain(_pieces(read), (b"\n",)):  # the last line may have no end yet
        cut = cutter.cut(piece, _ANY)
        lines += len(cut.lines)
        for index, line in enumerate(cut.lines):
            for point in parser.feed(line):
                values.take(point, cut.times[index] if cut.times else None)
    for point in parser.read_early() if isinstance(parser, ReadsEarly) else ():
        values.take(point, None)
    return lines


def _read_records(parser: RecordParser, read: Read, values: _Values) -> None:
    rest = b""
    for piece in _pieces(read):
        data = rest + piece
        points, consumed = parser.feed_bytes(data)
        rest = data[consumed:]
        for point in points:
            values.take(point, None)
    if parser.problem:
        raise MalformedError(parser.problem)


def _read_document(parser: DocumentParser, read: Read, values: _Values) -> None:
    scan = parser.scan()
    for piece in _pieces(read):
        scan.feed(piece)
    for point in parser.points(scan, read):
        values.take(point, None)


def _pieces(read: Read) -> Iterator[bytes]:
    offset = 0
    while piece := read(offset, PIECE_BYTES):
        yield piece
        offset += len(piece)


def _finding(found: Finding, values: _Values, place: MetricsPlace) -> Finding:
    names = tuple(sorted(values.metrics))
    known = {n: m.count for n, m in values.metrics.items() if n == place.metric or best_of([n])}
    finite = {n for n, m in values.metrics.items() if m.is_finite}
    name = followed(known, names, place.metric, finite=finite)
    if name is None:
        nothing = "no values found" if found.regex else f"no values found: {advice('')}"
        why = why_none(names, place.metric) if names else nothing
        return replace(found, why_not=why, series=names)
    metric, goal = values.metrics[name], place.goal or goal_of(name) or Goal.MIN
    last, placed = metric.last, metric.placed
    total = place.total_steps or values.totals.get((placed or last).unit)
    if total is not None and placed is not None and total < (placed.step or 0.0):
        total = None  # the run is beyond it, so it is not the run's
    remaining, why = _remaining(metric, total, goal)
    return replace(
        found,
        metric=name,
        goal=goal,
        points=metric.count,
        value=last.value if isfinite(last.value) else None,
        step=None if placed is None else placed.step,
        total_steps=total,
        unit=None if placed is None else placed.unit,
        attempts=values.attempts,
        remaining=remaining,
        stated_left=values.left_seconds,
        why_not=why,
        series=names,
    )


def _remaining(metric: _Metric, total: int | None, goal: Goal) -> tuple[Span | None, str]:
    """Return the predicted time from the last value to the end, or why it is not known."""
    if metric.placed is None:
        return None, "time left: unknown, because the file does not say the step of a value"
    if total is None:
        advised = "add total-steps=… to the annotation"
        return None, f"time left: unknown, because the file does not say the last step: {advised}"
    if not metric.curve:
        return None, "time left: known while the job runs; the file has no times"
    span = forecast(metric.curve, total, metric.curve[-1].at_seconds, goal).remaining_seconds
    return span, "" if span else "time left: unknown, because there are too few values"
