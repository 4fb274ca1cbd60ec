"""Plain aligned columns: text to the left, numbers to the right, two spaces between, no colour."""

from collections.abc import Iterable, Sequence


def columns(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: str = "") -> list[str]:
    """Return the lines of a table.

    Args:
        header: Names of the columns.
        rows: Cells as texts, as many as there are names.
        right: The right-aligned columns by name, with spaces between.
    """
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    to_the_right = [name in right.split() for name in header]
    return [_line(row, widths, to_the_right) for row in table]


def _line(row: Sequence[str], widths: Sequence[int], to_the_right: Sequence[bool]) -> str:
    cells = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(row, widths, to_the_right, strict=True)
    )
    return "  ".join(cells).rstrip()
