"""The queries of the panels, with values for Grafana's variables."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from monitoring.panels import Dashboard, Panel, Query

_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")

WITHOUT_RESULT: Final[Mapping[tuple[str, str], str]] = {
    ("health", "Held answers"): "no answer of the demo is held: its gangs are small",
    ("overview", "Starts inside their band"): "few jobs of the demo wait for the half minute after "
    "which estimates are looked at",
    ("teams", "GPUs by team"): "no node of the demo has GPUs",
    ("teams", "Teams"): "no node of the demo has GPUs",
}
"""Dashboard and panel, and why one of its queries has no result in a run of the demo."""


def filled(query: Query, dashboard: Dashboard, *, rate: str, window: str) -> str:
    """Return PromQL for all jobs and instances, and the first value of every other variable.

    Args:
        query: Of a panel.
        dashboard: Of the panel.
        rate: For ``$__rate_interval``, e.g. ``4m``.
        window: For ``$window``.

    Raises:
        KeyError: It names a variable that the dashboard does not have.
    """
    values = {"job": ".+", "instance": ".+", "__rate_interval": rate, "window": window}
    values["namespace"] = ".+"
    values |= {name: choices[0] for name, choices in dashboard.choices}
    return _VARIABLE.sub(lambda match: values[match[1] or match[2]], query.expression)


def queries(dashboards: tuple[Dashboard, ...]) -> Iterator[tuple[Dashboard, Panel, Query]]:
    """Yield every query of every panel."""
    for dashboard in dashboards:
        for panel in dashboard.panels:
            for query in panel.queries:
                yield dashboard, panel, query
