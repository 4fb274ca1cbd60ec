"""CSV with a header: Keras ``CSVLogger``, Lightning ``metrics.csv``, anything alike."""

import csv
from collections.abc import Sequence
from math import isfinite
from sys import getsizeof
from typing import Final

from agent.parsing.base import LONGEST_NAME, NOTHING, Point
from agent.parsing.naming import STEP_KEYS, is_metric
from agent.parsing.numbers import number

MOST_COLUMNS: Final = 256
_SEPARATORS: Final = (",", "\t", ";")


class Table:
    """Rows below a header.

    The header is the first line of two or more names; a later one takes its place if it is alike
    (a program that begins anew writes it again, Lightning writes the file anew with more columns).
    Rows with another number of cells are no rows. Empty cells (Lightning writes training and
    validation in rows of their own) and texts (Keras writes ``NA``) are no values.

    Args:
        strict: A header must name the step (``step``, ``epoch``, …): prose has commas too.
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
        said = {name for name in names if name}
        if (
            not 1 < len(names) <= MOST_COLUMNS
            or not said
            or len(said) < len([n for n in names if n])
        ):
            return False
        if any(number(name) is not None or len(name) > LONGEST_NAME for name in said):
            return False
        counts = not said.isdisjoint(STEP_KEYS)
        if self._strict and not counts:
            return False
        return counts or not self._has_rows or not said.isdisjoint(self._header)


def _cells(line: str, separator: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, strict=True))]
    except (csv.Error, StopIteration):
        return []
