"""Integers by named row and named column, in one array that grows in place with headroom."""

from collections.abc import Iterable, Sequence
from typing import Final, NewType

import numpy as np

from extender.core.nodes.node_table import IntMatrix

Positions = NewType("Positions", tuple[np.ndarray, ...])
"""Where rows and columns lie; good until one of those rows is dropped."""

_FIRST_ROWS: Final = 64
_FIRST_COLUMNS: Final = 8


class Amounts:
    """Rows keep their place while they live; a new one takes a freed place. Columns only grow."""

    def __init__(self) -> None:
        self._array: IntMatrix = np.zeros((_FIRST_ROWS, _FIRST_COLUMNS), dtype=np.int64)
        self._row: dict[str, int] = {}
        self._column: dict[str, int] = {}
        self._free: list[int] = []

    def add_row(self, row: str) -> None:
        """Add a row of zeros."""
        place = self._free.pop() if self._free else len(self._row)
        self._row[row] = place
        self._grow(rows=place + 1)

    def drop_row(self, row: str) -> None:
        """Take a row away."""
        place = self._row.pop(row)
        self._array[place] = 0
        self._free.append(place)

    def clear_row(self, row: str) -> None:
        """Set a row to zero."""
        self._array[self._row[row]] = 0

    def add(self, row: str, amounts: Iterable[tuple[str, int]], sign: int = 1) -> None:
        """Add ``sign`` times the named amounts to a row."""
        place = self._row[row]
        for name, amount in amounts:
            column = self._place_of(name)
            self._array[place, column] += sign * amount

    def positions(self, rows: Sequence[str], columns: Sequence[str]) -> Positions:
        """Say where these rows and columns lie; unknown columns are added."""
        return Positions(
            np.ix_(
                np.array([self._row[row] for row in rows], dtype=np.intp),
                np.array([self._place_of(column) for column in columns], dtype=np.intp),
            )
        )

    def picked(self, positions: Positions) -> IntMatrix:
        """Return a read-only copy of these rows and columns, in their order."""
        matrix: IntMatrix = self._array[positions]
        matrix.setflags(write=False)
        return matrix

    def _place_of(self, column: str) -> int:
        place = self._column.setdefault(column, len(self._column))
        self._grow(columns=place + 1)
        return place

    def _grow(self, *, rows: int = 0, columns: int = 0) -> None:
        held_rows, held_columns = self._array.shape
        if rows <= held_rows and columns <= held_columns:
            return
        wanted = (
            held_rows if rows <= held_rows else 2 * rows,
            held_columns if columns <= held_columns else 2 * columns,
        )
        grown: IntMatrix = np.zeros(wanted, dtype=np.int64)
        grown[:held_rows, :held_columns] = self._array
        self._array = grown
