"""Structured lines: one JSON object per line, or CSV with a header.

JSON: our ``metrics.jsonl``, fairseq's ``--log-format json``, many others. CSV: Keras ``CSVLogger``,
Lightning ``metrics.csv``, and similar files.
"""

import csv
from collections.abc import Mapping, Sequence
from math import isfinite
from sys import getsizeof
from typing import Any, Final

from agent.parsing.base import LONGEST_NAME, NOTHING, Point, number, plain
from agent.parsing.json_scan import decoded
from agent.parsing.metric_names import STEP_KEYS, TIME_KEYS, TOTAL_KEYS, is_metric

MOST_KEYS: Final = 256
"""Numbers of one line that are read."""
MOST_COLUMNS: Final = 256
_SEPARATORS: Final = (",", "\t", ";")


class JsonLines:
    """Lines of JSON objects: every number is a metric, except steps and times.

    The step is the first of ``step``, ``global_step``, ``iteration``, ``num_updates``, ``epoch``
    that exists. Nested objects and ``null`` are ignored. ``NaN`` and ``Infinity``, which Python's
    ``json`` writes and JSON forbids, are read.

    Args:
        strict: A line without a step is not of this format: programs log other JSON too.
    """

    format = "jsonl"

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        text = line.strip()
        if not (text.startswith("{") and text.endswith("}")):
            return NOTHING
        fields = decoded(text)
        step = _first(fields, STEP_KEYS)
        if step is None and self._strict:
            return NOTHING
        total = _first(fields, TOTAL_KEYS)
        total_steps = int(total) if total is not None and 0 < total < 2**63 else None
        at_seconds = _first(fields, TIME_KEYS)
        return [
            Point(key, value, step, total_steps, at_seconds)
            for key, value in _numbers(fields)
            if is_metric(key)
        ]


def _numbers(fields: Mapping[str, Any]) -> list[tuple[str, float]]:
    numbers: list[tuple[str, float]] = []
    for key, value in fields.items():
        if len(numbers) == MOST_KEYS:
            break
        if key and len(key) <= LONGEST_NAME and (number := plain(value)) is not None:
            numbers.append((key, number))
    return numbers


def _first(fields: Mapping[str, Any], keys: Sequence[str]) -> float | None:
    for key in keys:
        if key in fields and (value := plain(fields[key])) is not None and isfinite(value):
            return value
    return None


class Table:
    """Rows below a header.

    The header is the first line of two or more names; a similar later one replaces it (a program
    that restarts writes it again, Lightning rewrites the file with more columns). Lines with
    another number of cells are ignored, and so are empty cells (Lightning writes training and
    validation in separate rows) and texts (Keras writes ``NA``).

    Args:
        strict: The header must have a step (``step``, ``epoch``, …): prose has commas too.
    """

    format = "csv"

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._separator = ","
        self._header: tuple[str, ...] = ()
        self._step: int | None = None
        self._has_rows = False

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return sum(map(getsizeof, self._header))

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        cells = _cells(line, self._separator) if self._header else ()
        values = [number(cell) for cell in cells]
        if len(values) == len(self._header) and any(value is not None for value in values):
            return self._row(values)
        if not line.startswith("#"):
            self._take_header(line)
        return NOTHING

    def _row(self, values: Sequence[float | None]) -> Sequence[Point]:
        self._has_rows = True
        step = None
        if self._step is not None:
            step = values[self._step]
            if step is None or not isfinite(step):
                return NOTHING
        return [
            Point(name, value, step)
            for name, value in zip(self._header, values, strict=True)
            if value is not None and name and is_metric(name)
        ]

    def _take_header(self, line: str) -> None:
        for separator in _SEPARATORS:
            names = _cells(line, separator)
            if self._is_header(names):
                self._separator, self._header, self._has_rows = separator, tuple(names), False
                steps = [names.index(key) for key in STEP_KEYS if key in names]
                self._step = steps[0] if steps else None
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
        has_step = not filled.isdisjoint(STEP_KEYS)
        if self._strict and not has_step:
            return False
        return has_step or not self._has_rows or not filled.isdisjoint(self._header)


def _cells(line: str, separator: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, strict=True))]
    except (csv.Error, StopIteration):
        return []
