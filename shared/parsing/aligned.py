"""Tables whose columns are aligned by blanks or bars: spaCy, H2O, Nerfstudio, Ray Tune.

::

    E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE
    ---  ------  ------------  --------  ------  ------
      0     200         82.03   1941.92   17.36    0.17

    Step (% Done)       Train Iter (time)    ETA (time)           Test PSNR
    ------------------------------------------------------------------------
    500 (1.67%)         22.698 ms            9 m, 25 s            16.5348

    | Trial name | status   |   iter |    ts |   reward |
    |------------+----------+--------+-------+----------|
    | PPO_7d2a1  | RUNNING  |      3 | 12000 |    62.50 |

A line of dashes below a heading makes a table; one of its columns must be a counter. A cell belongs
to the column below whose heading it is, so cells may be missing. Of a table with bars that has
several rows no row is read, unless they begin with the counter: they are different runs.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from shared.parsing.base import LONGEST_NAME, NOTHING, Point, number
from shared.parsing.counters import counts_of
from shared.parsing.metric_names import is_metric
from shared.parsing.position import Position

_RULE: Final = re.compile(r"[ |+]{0,8}[-=─═]{2,}[-=─═ |+]*")
_GROUP: Final = re.compile(r"[-=─═]+")
_CELL: Final = re.compile(r"[^\s|]+(?: [^\s|]+)*")
_COUNTED: Final = re.compile(r"([0-9][0-9,]{0,14})(?: \([0-9.]+ ?%\))?")
_RUN: Final = re.compile(r"[A-Za-z][\w-]*[0-9]")
"""A name with a number, such as ``PPO_7d2a1``."""
_NOTE: Final = re.compile(r" *\([^)]*\)")
_TIME: Final = re.compile(r".*(?:time|duration|eta|elapsed|/ ?sec).*", re.IGNORECASE)
_COUNTERS: Final = {"#": "step", "number_of_trees": "iteration", "trees": "iteration"}
LEAST_COLUMNS: Final = 3
MOST_COLUMNS: Final = 64
LONGEST_LINE: Final = 1000
"""Characters of a line; ten columns have 150."""


class _Column(NamedTuple):
    """A column: its heading, and where it is in a line."""

    name: str
    begin: int
    end: int


class Aligned:
    """Values under the headings of their columns."""

    format = "table"

    def __init__(self) -> None:
        self._above = ""
        self._columns: tuple[_Column, ...] = ()
        self._has_bars = False
        self._rows: list[Sequence[Point]] = []
        self._run = ""
        self._has_runs = False
        self._position = Position()

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._position.held_bytes

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        if len(line) > LONGEST_LINE:
            self._above, self._columns = "", ()
            return NOTHING
        if line[:1] in "-=+|─═ " and _RULE.fullmatch(line):
            return self._rule(line)
        above, self._above = self._above, line
        del above
        if not self._columns or self._has_runs:
            return NOTHING
        points = self._row(line)
        if self._has_bars and points and not self._is_of_one_run():
            self._rows.append(points)
            return NOTHING
        return points

    def _is_of_one_run(self) -> bool:
        """Return True if a row begins with its counter: then each row is a later moment."""
        counts = counts_of({_counter(self._columns[0].name): 1.0})
        return counts.step is not None or counts.epoch is not None

    def _rule(self, line: str) -> Sequence[Point]:
        """Begin a table below its heading, or end one with bars; return the rows of that."""
        above, self._above = self._above, ""
        if self._has_bars and self._rows:
            rows, self._rows, self._columns = self._rows, [], ()
            return rows[0] if len(rows) == 1 else NOTHING
        columns = _columns(above, line)
        is_table = LEAST_COLUMNS <= len(columns) <= MOST_COLUMNS
        self._columns = columns if is_table and _has_counter(columns) else ()
        self._has_bars, self._rows = above.lstrip().startswith("|"), []
        return NOTHING

    def _row(self, line: str) -> Sequence[Point]:
        cells = _placed(line, self._columns)
        if not cells:
            self._columns = ()
            return NOTHING
        first = cells.get(self._columns[0].name, "")
        if _RUN.match(first) and first != self._run:
            self._run, self._has_runs = first, bool(self._run)
            if self._has_runs:
                return NOTHING
        counters = {
            _counter(name): float(counted[1].replace(",", ""))
            for name, text in cells.items()
            if (counted := _COUNTED.fullmatch(text)) is not None
        }
        counts = counts_of(counters)
        if counts.step is None and counts.epoch is None:
            return NOTHING
        numbers = {name: number(text) for name, text in cells.items()}
        named = [
            (name, value)
            for name, value in numbers.items()
            if value is not None and is_metric(_counter(name)) and not _TIME.fullmatch(name)
        ]
        return self._position.points(named, counts)


def _columns(heading: str, rule: str) -> tuple[_Column, ...]:
    """Return the columns of a heading with a rule below it; empty if they do not fit."""
    cells = [_Column(cell[0], cell.start(), cell.end()) for cell in _cells(heading)]
    groups = [group.span() for group in _GROUP.finditer(rule)]
    if len(groups) == 1:
        begin, end = groups[0]
        fits = bool(cells) and begin <= cells[0].begin and len(rule) >= cells[-1].begin
        return tuple(cells) if fits and end >= cells[-1].begin else ()
    columns = [
        _Column(heading[begin:end].strip(" |")[:LONGEST_NAME], begin, end) for begin, end in groups
    ]
    whole = " ".join(column.name for column in columns).split()
    return tuple(columns) if whole == heading.replace("|", " ").split() else ()


def _cells(line: str) -> Iterator[re.Match[str]]:
    return _CELL.finditer(line)


def _placed(line: str, columns: Sequence[_Column]) -> dict[str, str]:
    """Return the cells of a row by the heading above each; empty if it is no row."""
    placed: dict[str, str] = {}
    for cell in _cells(line):
        above = [c for c in columns if c.begin < cell.end() and cell.start() < c.end]
        if len(above) != 1 or above[0].name in placed:
            return {}
        placed[above[0].name] = cell[0]
    placed.pop("", None)
    return placed


def _counter(name: str) -> str:
    """Return a heading as a counter is called: ``Step (% Done)`` counts as ``step``."""
    plain = _NOTE.sub("", name).strip().lower()
    return _COUNTERS.get(plain, plain)


def _has_counter(columns: Sequence[_Column]) -> bool:
    counts = counts_of({_counter(column.name): 1.0 for column in columns})
    return counts.step is not None or counts.epoch is not None
