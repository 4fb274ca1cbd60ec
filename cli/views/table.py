"""Plain aligned columns: text to the left, numbers to the right, two spaces between, no colour."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

NOTHING: Final = "-"
"""The cell of a value that is not known or does not apply."""

Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)


@dataclass(frozen=True)
class Column(Generic[Row_contra]):
    """A column of a table; a table is a list of them and the rows that they read.

    Attributes:
        title: Heading.
        cell: Text of the cell in a row.
        right: Align it to the right, as numbers are.
        wide: Show it with ``-o wide`` only.
    """

    title: str
    cell: Callable[[Row_contra], str]
    right: bool = False
    wide: bool = False


def table(columns: Iterable[Column[Row]], rows: Iterable[Row], *, wide: bool = False) -> list[str]:
    """Return the lines of a table, the heading first."""
    shown = [column for column in columns if wide or not column.wide]
    cells = [[column.title for column in shown]]
    cells += [[column.cell(row) for column in shown] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [_line(line, shown, widths) for line in cells]


def more(hidden: int) -> list[str]:
    """Return the line below a table that was cut; none if nothing is hidden."""
    return [f"… and {hidden} more, see -o wide"] if hidden else []


def _line(cells: Sequence[str], columns: Sequence[Column[Row]], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if column.right else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    )
    return "  ".join(padded).rstrip()
