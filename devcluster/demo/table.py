"""The rows as a table for a terminal, or as lines for a log."""

from rich.table import Table

from devcluster.demo.curves import Point
from devcluster.demo.rows import FINISHED, Row
from shared.sparkline import sparkline

_STYLES = {"waiting": "yellow", "finished": "green"}


def table(rows: list[Row], seconds: float) -> Table:
    """Return the table for a terminal."""
    drawn = Table(title=f"Shuntyard demo, {seconds:.0f} s", title_justify="left", expand=True)
    for heading in ("job", "V", "state", "step", "loss", "curve", "category", "left"):
        numeric = heading in {"V", "step", "left"}
        drawn.add_column(heading, justify="right" if numeric else "left", no_wrap=True)
    drawn.add_column("pods by node, or why it waits", ratio=1)
    for row in rows:
        drawn.add_row(*_cells(row), style=_STYLES.get(row.state, ""))
    return drawn


def lines(rows: list[Row], seconds: float) -> str:
    """Return one line a job, for output that is not a terminal."""
    return "\n".join(
        f"{seconds:6.1f}s  " + "  ".join(part for part in _labelled(row) if part) for row in rows
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.job,
        "" if row.v is None else f"{row.v:.0f}",
        row.state,
        str(row.last.step) if row.last else "",
        _loss(row.first, row.last),
        sparkline(row.progress.curve) if row.progress else "",
        _category(row),
        _left(row),
        row.nodes or row.reason,
    )


def _labelled(row: Row) -> tuple[str, ...]:
    return (
        f"{row.job:24}",
        f"{row.state:12}",
        "" if row.v is None else f"V={row.v:.0f}",
        f"[{row.nodes}]" if row.nodes else "",
        f"step={row.last.step} loss={_loss(row.first, row.last)}" if row.last else "",
        f"{_category(row)} {_left(row)}".strip(),
        row.reason,
    )


def _category(row: Row) -> str:
    """Nothing once a job has finished: it was the last thing that was known."""
    shown = row.progress is not None and row.state != FINISHED
    return row.progress.category.value if shown and row.progress else ""


def _left(row: Row) -> str:
    if row.progress is None or row.progress.remaining is None or row.state == FINISHED:
        return ""
    return f"{row.progress.remaining.value:.0f} s left"


def _loss(first: Point | None, last: Point | None) -> str:
    """``2.21→0.48``: where the curve began and where it is."""
    return f"{first.loss:.2f}→{last.loss:.2f}" if first and last else ""
