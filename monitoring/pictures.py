"""Runs every query of every panel on a Prometheus, and draws a picture of each dashboard."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from monitoring import drawing
from monitoring.panels import Dashboard, Panel, Query
from monitoring.queries import filled
from monitoring.server import Line, Prometheus


@dataclass(frozen=True)
class Span:
    """A time span: seconds since the epoch, and Prometheus durations.

    Attributes:
        step: Between two values, in seconds.
        rate: For ``$__rate_interval``.
        window: For ``$window``.
    """

    begin: float
    end: float
    step: float
    rate: str
    window: str


@dataclass(frozen=True)
class Result:
    """A query of a panel and its result; without lines it has none."""

    dashboard: Dashboard
    panel: Panel
    query: Query
    lines: tuple[Line, ...]

    @property
    def place(self) -> tuple[str, str]:
        """Dashboard and panel."""
        return self.dashboard.name, self.panel.title


def run(server: Prometheus, dashboards: Sequence[Dashboard], span: Span) -> Iterator[Result]:
    """Run every query over the whole span.

    Raises:
        QueryError: Prometheus cannot answer one.
    """
    for dashboard in dashboards:
        for panel in dashboard.panels:
            for query in panel.queries:
                text = filled(query, dashboard, rate=span.rate, window=span.window)
                lines = server.between(text, span.begin, span.end, span.step)
                yield Result(dashboard, panel, query, tuple(_finite(lines)))


def _finite(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines with values; the quantile of an empty histogram is not a number."""
    for line in lines:
        points = tuple((at, v if math.isfinite(v) else math.nan) for at, v in line.points)
        if not all(math.isnan(value) for _, value in points):
            yield Line(line.labels, points)


def empty(
    results: Sequence[Result], reasons: Mapping[tuple[str, str], str]
) -> tuple[tuple[str, str, str], ...]:
    """Return dashboard, panel and query of results that are empty without a known reason."""
    return tuple(
        (*one.place, one.query.text)
        for one in results
        if not one.lines and one.place not in reasons
    )


def draw(results: Sequence[Result], folder: Path, suffix: str = "svg") -> None:
    """Write a picture of each dashboard into a folder."""
    dashboards = list(dict.fromkeys(one.dashboard for one in results))
    for dashboard in dashboards:
        lines: dict[str, list[tuple[str, Line]]] = {}
        for one in results:
            if one.dashboard is dashboard:
                key = drawing.key(one.panel)
                lines.setdefault(key, []).extend((one.query.legend, line) for line in one.lines)
        drawing.draw(dashboard, lines, folder / f"{dashboard.name}.{suffix}")
