"""Aligned columns: text to the left, numbers to the right, two spaces between.

On a terminal the lines fit its width: columns that matter least are left out, long texts are cut.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from cli.views.terminal import UNLIMITED, Colour, Terminal, coloured

NOTHING: Final = "-"
"""The cell of a value that is not known or does not apply."""
_GAP: Final = "  "

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
        rank: Left out of a table that is too wide; the column with the largest rank goes first,
            0 stays.
        least: Its cells may be cut to this many characters; 0: never.
        colour: Colour of the cell in a row; None: none.
        order: Key by which rows are sorted by this column; None: the cell's text.
    """

    title: str
    cell: Callable[[Row_contra], str]
    right: bool = False
    wide: bool = False
    rank: int = 0
    least: int = 0
    colour: Callable[[Row_contra], Colour] | None = None
    order: Callable[[Row_contra], Any] | None = None


def table(
    columns: Iterable[Column[Row]],
    rows: Iterable[Row],
    *,
    wide: bool = False,
    screen: Terminal = UNLIMITED,
) -> list[str]:
    """Return the lines of a table, the heading first; with ``wide`` they may be too long."""
    shown, rows = [column for column in columns if wide or not column.wide], list(rows)
    cells = {id(column): [column.title, *map(column.cell, rows)] for column in shown}
    widths = {key: max(map(len, texts)) for key, texts in cells.items()}
    if screen.height is not None and not wide:
        shown, widths = _fitted(shown, widths, screen.width)
    styles = _styles(shown, rows) if screen.colours else None
    return [
        _line(
            [cells[id(column)][number] for column in shown],
            shown,
            [widths[id(column)] for column in shown],
            styles[number] if styles else None,
        )
        for number in range(len(rows) + 1)
    ]


def more(hidden: int) -> list[str]:
    """Return the line below a table that was cut; none if nothing is hidden."""
    return [f"… and {hidden} more, see -o wide"] if hidden else []


def cut(text: str, width: int) -> str:
    """Return a text of at most this many characters; a longer one ends with ``…``."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def _fitted(
    columns: Sequence[Column[Row]], widths: dict[int, int], width: int
) -> tuple[list[Column[Row]], dict[int, int]]:
    """Return the columns that fit, and their widths: the last ones are cut first."""
    shown = list(columns)

    def least(column: Column[Row]) -> int:
        own = widths[id(column)]
        return min(own, max(column.least, len(column.title))) if column.least else own

    while _total(map(least, shown)) > width and any(column.rank for column in shown):
        shown.remove(max(shown, key=lambda column: column.rank))
    spare = max(0, width - _total(map(least, shown)))
    fitted: dict[int, int] = {}
    for column in shown:
        longer = min(spare, widths[id(column)] - least(column))
        fitted[id(column)] = least(column) + longer
        spare -= longer
    return shown, fitted


def _total(widths: Iterable[int]) -> int:
    each = list(widths)
    return sum(each) + len(_GAP) * (len(each) - 1)


def _styles(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[list[Colour]]:
    """Return the colour of each cell, those of the heading first."""
    none = Colour.NONE
    styles = [[Colour.BOLD for _ in columns]]
    styles += [[c.colour(row) if c.colour else none for c in columns] for row in rows]
    return styles


def _line(
    cells: Sequence[str],
    columns: Sequence[Column[Row]],
    widths: Sequence[int],
    styles: Sequence[Colour] | None,
) -> str:
    padded = [
        cut(cell, width).rjust(width) if column.right else cut(cell, width).ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    padded = [*padded[:-1], padded[-1].rstrip()] if padded else []
    if styles is None:
        return _GAP.join(padded).rstrip()
    return _GAP.join(map(coloured, padded, styles)).rstrip()
