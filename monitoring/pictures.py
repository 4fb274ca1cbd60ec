"""Every query of every panel, asked of a Prometheus; and what it said, as a picture a dashboard."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from monitoring import drawing
from monitoring.panels import Dashboard, Panel, Query
from monitoring.querying import filled
from monitoring.server import Line, Prometheus


@dataclass(frozen=True)
class Span:
    """What is looked at: seconds since the epoch, and Prometheus' durations.

    Attributes:
        step: From one value to the next, in seconds.
        rate: For ``$__rate_interval``.
        window: For ``$window``.
    """

    begin: float
    end: float
    step: float
    rate: str
    window: str


@dataclass(frozen=True)
class Asked:
    """A query of a panel and what it gave; without lines it found nothing."""

    dashboard: Dashboard
    panel: Panel
    query: Query
    lines: tuple[Line, ...]

    @property
    def place(self) -> tuple[str, str]:
        """Dashboard and panel."""
        return self.dashboard.name, self.panel.title


def ask(server: Prometheus, dashboards: Sequence[Dashboard], span: Span) -> Iterator[Asked]:
    """Ask every query, over the whole span.

    Raises:
        QueryError: Prometheus cannot answer one.
    """
    for dashboard in dashboards:
        for panel in dashboard.panels:
            for query in panel.queries:
                text = filled(query, dashboard, rate=span.rate, window=span.window)
                lines = server.between(text, span.begin, span.end, span.step)
                yield Asked(dashboard, panel, query, tuple(_finite(lines)))


def _finite(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield what says something: a quantile of nothing is no number."""
    for line in lines:
        points = tuple((at, v if math.isfinite(v) else math.nan) for at, v in line.points)
        if not all(math.isnan(value) for _, value in points):
            yield Line(line.labels, points)


def empty(
    answers: Sequence[Asked], reasons: Mapping[tuple[str, str], str]
) -> tuple[tuple[str, str, str], ...]:
    """Return dashboard, panel and query of what found nothing and has no reason for it."""
    return tuple(
        (*one.place, one.query.text)
        for one in answers
        if not one.lines and one.place not in reasons
    )


def draw(answers: Sequence[Asked], folder: Path, suffix: str = "svg") -> None:
    """Write a picture of each dashboard into a folder."""
    dashboards = list(dict.fromkeys(one.dashboard for one in answers))
    for dashboard in dashboards:
        found: dict[str, list[tuple[str, Line]]] = {}
        for one in answers:
            if one.dashboard is dashboard:
                key = drawing.key(one.panel)
                found.setdefault(key, []).extend((one.query.legend, line) for line in one.lines)
        drawing.draw(dashboard, found, folder / f"{dashboard.name}.{suffix}")
