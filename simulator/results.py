"""Results of an experiment: tables with the paper's numbers beside ours, findings, assumptions.

They are kept as JSON, the only source of the tables in docs/reproduction.md.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from simulator.numbers import Spread


class Beside(Struct, frozen=True, tag=True):
    """A number of ours beside the printed one; ``paper`` is None where the paper has none."""

    ours: Spread
    paper: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours divided by the paper's; None without a number of the paper, or where it is 0."""
        return self.ours.mean / self.paper if self.paper else None


Cell = str | int | float | Spread | Beside | None


class Table(Struct, frozen=True):
    """A table; ``digits`` is the number of decimals, ``note`` goes below it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    digits: int = 0
    note: str = ""


class Outcome(Struct, frozen=True, kw_only=True):
    """Results of one experiment.

    Attributes:
        name: Name for ``shuntyard-sim reproduce``.
        title: Title for reports.
        source: Paper, table or figure.
        command: Command that repeats it.
        seeds: Use, first and last seed of each range of seeds.
        assumptions: Assumptions where the paper is silent.
        findings: Sentences that the numbers support.
        tables: The tables.
        series: Data of the picture beyond the tables; JSON.
        parameters: Digest of the policy parameters.
        seconds: Duration on the machine that ran it.
    """

    name: str
    title: str
    source: str
    command: str
    seeds: tuple[tuple[str, int, int], ...]
    assumptions: tuple[str, ...]
    findings: tuple[str, ...]
    tables: tuple[Table, ...]
    series: dict[str, Any] = {}
    parameters: str = ""
    seconds: float = 0.0


def write(outcome: Outcome, path: Path) -> None:
    """Keep an outcome as JSON, the same bytes for the same outcome."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(outcome, order="deterministic"), indent=1)
    path.write_bytes(text + b"\n")


def read(path: Path) -> Outcome:
    """Return a kept outcome.

    Raises:
        msgspec.ValidationError: The file is no outcome.
    """
    return msgspec.json.decode(path.read_bytes(), type=Outcome)


def markdown(table: Table) -> Iterator[str]:
    """Yield the lines of a table in Markdown, title and note included."""
    yield f"**{table.title}**"
    yield ""
    yield _line(table.head)
    yield "|" + "---|" * len(table.head)
    for row in table.rows:
        yield _line([text(cell, table.digits) for cell in row])
    if table.note:
        yield ""
        yield table.note


def text(cell: Cell, digits: int) -> str:
    """Return a cell as text: ours ± spread / paper (ratio)."""
    if cell is None:
        return "-"
    if isinstance(cell, str | int):
        return str(cell)
    if isinstance(cell, float):
        return f"{cell:.{digits}f}"
    if isinstance(cell, Spread):
        return _spread(cell, digits)
    ours = _spread(cell.ours, digits)
    if cell.paper is None:
        return ours
    ratio = "" if cell.ratio is None else f" ({cell.ratio:.2f})"
    return f"{ours} / {cell.paper:.{digits}f}{ratio}"


def _spread(cell: Spread, digits: int) -> str:
    if cell.count == 1:
        return f"{cell.mean:.{digits}f}"
    return f"{cell.mean:.{digits}f} ± {cell.deviation:.{digits}f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
