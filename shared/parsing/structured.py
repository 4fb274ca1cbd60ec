"""Structured lines: one JSON object per line, or CSV with a header.

JSON: our ``metrics.jsonl``, fairseq's ``--log-format json``, many others. CSV: Keras ``CSVLogger``,
Lightning ``metrics.csv``, and similar files.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from sys import getsizeof
from typing import Any, Final

from shared.parsing.base import LONGEST_NAME, NOTHING, Point, number, plain
from shared.parsing.counters import COUNTERS, TOTALS, counts_of, is_counter
from shared.parsing.json_scan import decoded
from shared.parsing.metric_names import TIME_KEYS, is_known, is_metric
from shared.parsing.position import Position
from shared.parsing.stated_end import stated_left

MOST_KEYS: Final = 256
"""Numbers of one line that are read."""
MOST_COLUMNS: Final = 256
_BLANKS: Final = "  "
"""Columns that are aligned by blanks (fastai): a name has no blank."""
_WIDE: Final = re.compile(r" {2,}")
"""Between headings of several words: ``Iter       Train Loss   Remaining Time``."""
_TIME_BEHIND: Final = re.compile(r" +\([0-9:]{1,12}\)$")
"""A time behind the last cell, without a heading: fastai 1."""
_SEPARATORS: Final = (",", "\t", ";", _BLANKS)
_VALIDATION: Final = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "dev"})
_BOTH: Final = re.compile(r"([0-9]{1,15})/([0-9]{1,15})")
"""Of a key such as ``global_step/max_steps``: both numbers."""
_DATA_KEYS: Final = frozenset(
    {"mode", "split", "phase", "stage", "subset", "set", "type", "kind", "event"}
)
"""Keys of texts that may say of what data a line is."""
_NAME_KEYS: Final = ("metric", "metric_name", "name", "key", "tag", "variable")
"""Keys of texts that say what ``value`` is."""
_RATES: Final = frozenset({"lr", "learning rate", "learning_rate"})
"""Headings of a learning rate: a training keeps one for some rows, a search has others in each."""
_WORD: Final = re.compile(r"[a-z]+")
_LOSS: Final = "loss"
_COUNTER: Final = ("step", "epoch", "iter", "update", "round", "interacts")
"""Each of ``COUNTERS`` has one of these; to skip other lines quickly."""
EARLIEST: Final = 946_684_800.0
"""The year 2000, seconds since the epoch: numbers below are no times."""
LATEST: Final = 1e11


class JsonLines:
    """Lines of JSON objects: every number is a metric, except steps and times.

    Steps are known by their keys (``counters``). Nested objects and ``null`` are ignored. ``NaN``
    and ``Infinity``, which Python's ``json`` writes and JSON forbids, are read. A line that says it
    is of validation (``"mode": "val"``) has names with ``val_`` before them.

    Args:
        strict: A line without a step is not of this format: programs log other JSON too.
    """

    format = "jsonl"

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._position = Position()

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._position.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        text = line.strip()
        if not (text.startswith("{") and text.endswith("}")):
            return NOTHING
        fields = decoded(text)
        numbers = _numbers(fields)
        counts = counts_of(numbers)
        if counts.step is None and counts.epoch is None and self._strict:
            return NOTHING
        validates = _validates(fields)
        # its steps count batches of the other data
        position = self._position
        place = position.last if validates else position.place(counts)
        at_seconds, left_seconds = _moment(fields), _left(fields)
        return [
            Point(
                f"val_{name}" if validates else name,
                value,
                position.step_of(name, place) if position.begins_anew else place.step,
                place.total_steps,
                at_seconds,
                unit=place.unit,
                left_seconds=left_seconds,
            )
            for name, value in numbers.items()
            if is_metric(name)
        ]


def _validates(fields: Mapping[str, Any]) -> bool:
    """Return True for a line that says it is of validation: ``"split": "val"``."""
    if _DATA_KEYS.isdisjoint(fields):  # most lines
        return False
    texts = (fields.get(key) for key in _DATA_KEYS)
    words = (_WORD.findall(text.lower()) for text in texts if isinstance(text, str))
    return any(not _VALIDATION.isdisjoint(found) for found in words)


def _left(fields: Mapping[str, Any]) -> float | None:
    """Return the time left of a line: Detectron2's in seconds, LLaMA-Factory's as a text."""
    if "eta_seconds" not in fields and "remaining_time" not in fields:
        return None
    seconds, text = fields.get("eta_seconds"), fields.get("remaining_time")
    if isinstance(text, str):
        return stated_left(f"eta {text}")
    return plain(seconds)


def _numbers(fields: Mapping[str, Any]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for key, value in fields.items():
        number = value if type(value) is float else plain(value)  # most are: no call for them
        if number is not None and key and len(key) <= LONGEST_NAME:
            if len(numbers) == MOST_KEYS:
                break
            numbers[key] = number
        elif type(value) is str and "/" in key and (both := _BOTH.fullmatch(value)):
            numbers.update(_count_and_end(key, float(both[1]), float(both[2])))
    return numbers


def _count_and_end(key: str, count: float, end: float) -> dict[str, float]:
    """Return what ``"global_step/max_steps": "120/600"`` says; empty for another key."""
    counter, _, total = key.lower().partition("/")
    is_pair = counter in COUNTERS and total in TOTALS
    return {counter: count, total: end} if is_pair else {}


def _moment(fields: Mapping[str, Any]) -> float | None:
    """Return the time of a line; ``time`` is often a duration, which is much smaller."""
    for key in TIME_KEYS:
        time = plain(fields[key]) if key in fields else None
        if time is not None and EARLIEST <= time < LATEST:
            return time
    return None


class Table:
    """Rows below a header.

    The header is the first line of two or more names; a similar later one replaces it (a program
    that restarts writes it again, Lightning rewrites the file with more columns). Lines with
    another number of cells are ignored, and so are empty cells (Lightning writes training and
    validation in separate rows) and texts (Keras writes ``NA``).

    Args:
        strict: The header must have a step (``step``, ``epoch``, …), or nothing but metrics with a
            loss among them, and a learning rate: prose has commas too.
    """

    format = "csv"

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._separator = ","
        self._header: tuple[str, ...] = ()
        self._grouped: tuple[str, ...] = ()
        self._counters = False
        self._position = Position()
        self._has_rows = False
        self._rate: float | None = None

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return sum(map(getsizeof, (*self._header, *self._grouped))) + self._position.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        cells = self._cells(line) if self._header else ()
        values = [number(cell) for cell in cells]
        if len(values) == len(self._header) and any(value is not None for value in values):
            return self._row(values, cells)
        names = line.lstrip("#").split() if line.startswith("#") else ()
        if not line.startswith("#") or (names and is_counter(names[0])):
            self._take_header("  ".join(names) or line)
        return NOTHING

    def _cells(self, line: str) -> Sequence[str]:
        """Return the cells of a line; the first row decides whether names may have blanks."""
        if line.endswith(")") and self._separator == _BLANKS:
            line = _TIME_BEHIND.sub("", line)
        cells, names = _cells(line, self._separator), self._grouped
        if len(cells) == len(self._header) + 1 and not cells[-1]:
            del cells[-1]  # each row ends with a separator, the header does not
        if not names or (len(cells) == len(self._header) and self._header != names):
            return cells
        rows = (cells, _WIDE.split(line.strip()))
        found = next((row for row in rows if len(row) == len(names)), None)
        if found is None or number(found[0]) is None:
            return cells
        self._header = names
        return found

    def _row(self, values: Sequence[float | None], cells: Sequence[str]) -> Sequence[Point]:
        self._has_rows = True
        rows = zip(self._header, values, strict=True)
        numbers = {name: value for name, value in rows if value is not None and name}
        texts = dict(zip(map(str.lower, self._header), cells, strict=True))
        counts = counts_of(numbers)
        if self._counters and counts.step is None and counts.epoch is None:
            return NOTHING
        if self._strict and not self._counters and self._has_other_rate(numbers):
            return NOTHING
        named = [(_named(n, texts), value) for n, value in numbers.items() if is_metric(n)]
        return self._position.points(named, counts)

    def _has_other_rate(self, numbers: Mapping[str, float]) -> bool:
        """Return True for a row whose learning rate is not that of the row above it."""
        rate = next((value for name, value in numbers.items() if name.lower() in _RATES), None)
        before, self._rate = self._rate, rate
        return rate is not None and rate != before

    def _take_header(self, line: str) -> None:
        separators = [separator for separator in _SEPARATORS if separator in line]
        if not separators:
            return
        lower = line.lower()
        if self._strict and not (_LOSS in lower or any(word in lower for word in _COUNTER)):
            return
        for separator in separators:
            names = _cells(line, separator)
            grouped = _WIDE.split(line.strip()) if separator == _BLANKS else []
            if separator == _BLANKS and not (names and is_counter(names[0])):
                continue
            names = names if self._is_header(names) or not grouped else grouped
            if self._is_header(names):
                self._separator, self._header, self._has_rows = separator, tuple(names), False
                self._grouped = tuple(grouped)
                self._counters = any(map(is_counter, names))
                return

    def _is_header(self, names: Sequence[str]) -> bool:
        filled = {name for name in names if name}
        if (
            not 1 < len(names) <= MOST_COLUMNS
            or not filled
            or len(filled) < len([n for n in names if n])
        ):
            return False
        if any(number(name) is not None or len(name) > LONGEST_NAME for name in filled):
            return False
        has_step = any(map(is_counter, filled))
        if self._strict and not has_step:  # a row has no place then
            are_known = all(is_known(name) or name.lower() in _RATES for name in filled)
            return are_known and any(_LOSS in name.lower() for name in filled)
        return has_step or not self._has_rows or not filled.isdisjoint(self._header)


def _named(name: str, texts: Mapping[str, str]) -> str:
    """Return the name of a value: that of a column, or what the other columns of the row say.

    ``epoch,split,loss`` and ``step,metric,value`` have rows of different things.
    """
    if name.lower() == "value":
        keys = (key for key in _NAME_KEYS if texts.get(key))
        name = next((texts[key][:LONGEST_NAME] for key in keys), name)
    return f"val_{name}" if _validates(texts) else name


def _cells(line: str, separator: str) -> list[str]:
    if separator == _BLANKS:
        return line.split() if _BLANKS in line else []
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, strict=True))]
    except (csv.Error, StopIteration):
        return []
