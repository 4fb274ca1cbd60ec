"""Dashboards as Grafana's classic JSON, which every Grafana from 10 on accepts.

Source:
    Grafana's dashboard schema, version 39; later versions migrate it when they load it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from monitoring.panels import Dashboard, Kind, Panel, Query, Row

SCHEMA_VERSION: Final = 39
COLUMNS: Final = 24
HEIGHTS: Final = {Kind.LINES: 8, Kind.NUMBER: 3, Kind.HEATMAP: 8}
SOURCE: Final = {"type": "prometheus", "uid": "$datasource"}
BUILDS: Final = '{__name__=~"shuntyard_build_info|shuntyard_agent_build_info"}'
WINDOWS: Final = ("1h", "5m", "15m", "6h", "1d", "7d")
"""Windows for rare events; the first is the default."""

Json = dict[str, Any]


def text(dashboard: Dashboard) -> str:
    """Return the text of the dashboard's file."""
    return json.dumps(page(dashboard), indent=1, ensure_ascii=False) + "\n"


def page(dashboard: Dashboard) -> Json:
    """Return the dashboard in Grafana's model."""
    return {
        "uid": dashboard.uid,
        "title": f"Shuntyard / {dashboard.title}",
        "description": dashboard.about,
        "tags": ["shuntyard"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "links": [_link()],
        "templating": {"list": list(_variables(dashboard))},
        "panels": list(_placed(dashboard.rows)),
    }


def _link() -> Json:
    """Return the menu of all our dashboards, which keeps the chosen variables."""
    return {
        "type": "dashboards",
        "title": "Shuntyard",
        "tags": ["shuntyard"],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
    }


def _variables(dashboard: Dashboard) -> Iterator[Json]:
    yield {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
    }
    yield _values_of("job", f"label_values({BUILDS}, job)")
    yield _values_of("instance", 'label_values({job=~"$job"}, instance)')
    if any("$window" in one.text for panel in dashboard.panels for one in panel.queries):
        yield _choice("window", WINDOWS)
    for name, values in dashboard.choices:
        yield _choice(name, values)


def _values_of(name: str, query: str) -> Json:
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": SOURCE,
        "query": query,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"selected": True, "text": "All", "value": "$__all"},
        "refresh": 2,
        "sort": 1,
        "hide": 0,
    }


def _choice(name: str, values: Sequence[str]) -> Json:
    chosen = {"selected": True, "text": values[0], "value": values[0]}
    options = [{"selected": value == values[0], "text": value, "value": value} for value in values]
    return {
        "name": name,
        "label": name,
        "type": "custom",
        "query": ",".join(values),
        "options": options,
        "current": chosen,
        "multi": False,
        "includeAll": False,
        "hide": 0,
    }


def _placed(rows: Sequence[Row]) -> Iterator[Json]:
    """Yield headings and panels with their positions, row by row."""
    number, y = 1, 0
    for row in rows:
        place = {"h": 1, "w": COLUMNS, "x": 0, "y": y}
        yield {
            "id": number, "type": "row", "title": row.title, "collapsed": False,
            "gridPos": place, "panels": [],
        }  # fmt: skip
        number, y, x = number + 1, y + 1, 0
        height = max(HEIGHTS[panel.kind] for panel in row.panels)
        for panel in row.panels:
            place = {"h": height, "w": panel.width, "x": x, "y": y}
            yield {"id": number, "gridPos": place, **_panel(panel)}
            number, x = number + 1, x + panel.width
        y += height


def _panel(panel: Panel) -> Json:
    return {
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "targets": [
            _target(panel, letter, one)
            for letter, one in zip("ABCDEFGH", panel.queries, strict=False)
        ],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _OPTIONS[panel.kind],
    }


def _target(panel: Panel, letter: str, query: Query) -> Json:
    return {
        "refId": letter,
        "datasource": SOURCE,
        "expr": query.expression,
        "legendFormat": query.legend,
        "instant": panel.kind is Kind.NUMBER,
        "range": panel.kind is not Kind.NUMBER,
        "format": "heatmap" if panel.kind is Kind.HEATMAP else "time_series",
    }


def _defaults(panel: Panel) -> Json:
    defaults: Json = {"unit": panel.unit.value}
    if panel.most is not None:
        defaults["max"] = panel.most
    if panel.kind is Kind.LINES:
        defaults["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 40 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        }
    return defaults


_OPTIONS: Final[dict[Kind, Json]] = {
    Kind.LINES: {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    Kind.NUMBER: {
        "colorMode": "none",
        "graphMode": "area",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    },
    Kind.HEATMAP: {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
        "legend": {"show": True},
        "tooltip": {"mode": "single", "yHistogram": False},
        "yAxis": {"unit": "none"},
    },
}
