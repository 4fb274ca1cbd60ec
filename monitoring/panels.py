"""The parts of a dashboard: panels with queries, in rows. ``grafana`` prints them as JSON.

In a query ``{@}`` is the selector of the chosen job and instance, ``{@, phase="x"}`` the same with
more labels; ``RATE`` is the interval that Grafana chooses, ``WINDOW`` the one that the viewer
chooses, for rare events.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

RATE: Final = "$__rate_interval"
WINDOW: Final = "$window"
_CHOSEN: Final = 'job=~"$job", instance=~"$instance"'


class Kind(StrEnum):
    """How a panel shows its queries; the names are Grafana's."""

    LINES = "timeseries"
    NUMBER = "stat"
    HEATMAP = "heatmap"
    TABLE = "table"


class Level(StrEnum):
    """How good a value is."""

    PLAIN = "plain"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


Limit = tuple[float | None, Level]
"""From which value on a level holds; None: from below all."""


class Unit(StrEnum):
    """Units of values; the names are Grafana's."""

    SECONDS = "s"
    SHARE = "percentunit"
    NUMBER = "short"
    BYTES = "bytes"
    PER_SECOND = "cps"
    REQUESTS = "reqps"
    NONE = "none"


@dataclass(frozen=True)
class Query:
    """One query of a panel.

    Attributes:
        text: PromQL, with the placeholders of the module.
        legend: Name of each line, with ``{{label}}``.
    """

    text: str
    legend: str

    @property
    def expression(self) -> str:
        """PromQL with Grafana's variables."""
        return self.text.replace("{@", "{" + _CHOSEN)


@dataclass(frozen=True)
class Panel:
    """One chart.

    Attributes:
        title: A few words.
        about: What it shows and how to read it, in whole sentences.
        width: Of 24 columns.
        stacked: Lines are put on top of each other.
        most: Upper end of the axis; None: by the values.
        limits: Where values become good or bad, ascending; they colour numbers, and are dashed
            lines in charts.
    """

    title: str
    about: str
    unit: Unit
    queries: tuple[Query, ...]
    kind: Kind = Kind.LINES
    width: int = 8
    stacked: bool = False
    most: float | None = None
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Row:
    """Panels side by side under a heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Annotation:
    """Marks on all charts of a page, where the query has a value.

    Attributes:
        name: As in the list of annotations.
        title: Of a mark, with ``{{label}}``.
    """

    name: str
    title: str
    query: Query
    level: Level = Level.PLAIN


ANNOTATIONS: Final = (
    Annotation(
        "Moves",
        "A move for {{trigger}}: {{outcome}}",
        Query("sum by (trigger, outcome) (increase(shuntyard_migrations_total{@}[1m])) > 0", ""),
        Level.GOOD,
    ),
    Annotation(
        "Parkings",
        "Parked ({{cause}}): {{outcome}}",
        Query("sum by (cause, outcome) (increase(shuntyard_parkings_total{@}[1m])) > 0", ""),
    ),
    Annotation(
        "Takeovers",
        "{{instance}} is the leader",
        Query("changes(shuntyard_acting{@}[1m]) > 0 and shuntyard_acting{@} == 1", ""),
        Level.WARNING,
    ),
)
"""Moves, parkings and takeovers explain many a bend of a curve."""


@dataclass(frozen=True)
class Dashboard:
    """One page.

    Attributes:
        name: Last part of its uid, and its file's name.
        title: Without the product's name.
        about: Its content in one sentence.
        choices: Further variables: name and its values, the first one chosen.
        annotations: Marks on its charts.
    """

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    annotations: tuple[Annotation, ...] = ANNOTATIONS

    @property
    def uid(self) -> str:
        """Its name in links; must not change."""
        return f"shuntyard-{self.name}"

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, row by row."""
        return tuple(panel for row in self.rows for panel in row.panels)


def lines(title: str, about: str, unit: Unit, *queries: tuple[str, str]) -> Panel:
    """Return a panel of lines; queries are pairs of PromQL and legend."""
    return Panel(title, about, unit, tuple(Query(*query) for query in queries))


def number(title: str, about: str, unit: Unit, text: str) -> Panel:
    """Return a small panel that shows one number."""
    queries = (Query(text, title),)
    return Panel(title, about, unit, queries, kind=Kind.NUMBER, width=4)


def count(title: str, about: str, text: str) -> Panel:
    """Return a small panel that shows how many; Prometheus estimates parts of an event."""
    return number(title, about, Unit.NUMBER, f"round({text})")


def heatmap(title: str, about: str, unit: Unit, text: str, label: str) -> Panel:
    """Return a heat map: time to the right, the values of ``label`` upwards."""
    queries = (Query(text, f"{{{{{label}}}}}"),)
    return Panel(title, about, unit, queries, kind=Kind.HEATMAP, width=12)


def table(title: str, about: str, unit: Unit, *queries: tuple[str, str]) -> Panel:
    """Return a table; queries are pairs of PromQL, grouped by one label, and column."""
    made = tuple(Query(*query) for query in queries)
    return Panel(title, about, unit, made, kind=Kind.TABLE, width=12)


def limited(panel: Panel, *limits: Limit) -> Panel:
    """Return the panel with the values from which on it is good or bad."""
    return replace(panel, limits=limits)


def stacked(panel: Panel) -> Panel:
    """Return the panel with its lines on top of each other."""
    return replace(panel, stacked=True)


def wide(panel: Panel, width: int = 12) -> Panel:
    """Return the panel, that many of 24 columns wide."""
    return replace(panel, width=width)


def quantiles(metric: str, interval: str, *, by: str = "") -> tuple[tuple[str, str], ...]:
    """Return the queries for median, 90th and 99th percentile of a histogram."""
    name = f" {{{{{by}}}}}" if by else ""
    groups = f"le, {by}" if by else "le"
    return tuple(
        (
            f"histogram_quantile({level}, "
            f"sum by ({groups}) (rate({metric}_bucket{{@}}[{interval}])))",
            f"{level_name}{name}",
        )
        for level, level_name in (("0.5", "median"), ("0.9", "p90"), ("0.99", "p99"))
    )
