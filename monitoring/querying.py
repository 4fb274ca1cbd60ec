"""Panels' queries as Prometheus takes them: what Grafana would put in for its variables."""

import re
from collections.abc import Iterator

from monitoring.panels import Dashboard, Panel, Query

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def filled(query: Query, dashboard: Dashboard, *, rate: str, window: str) -> str:
    """Return PromQL with all jobs and instances chosen, and the first of every other choice.

    Args:
        query: Of a panel.
        dashboard: Whose panel it is.
        rate: For ``$__rate_interval``, e.g. ``4m``.
        window: For ``$window``.

    Raises:
        KeyError: It names a variable that the dashboard does not have.
    """
    values = {"job": ".+", "instance": ".+", "__rate_interval": rate, "window": window}
    values |= {name: choices[0] for name, choices in dashboard.choices}
    return _VARIABLE.sub(lambda found: values[found[1] or found[2]], query.expression)


def queries(dashboards: tuple[Dashboard, ...]) -> Iterator[tuple[Dashboard, Panel, Query]]:
    """Yield every query of every panel."""
    for dashboard in dashboards:
        for panel in dashboard.panels:
            for query in panel.queries:
                yield dashboard, panel, query
