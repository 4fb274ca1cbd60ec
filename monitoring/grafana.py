"""Dashboards as Grafana's classic JSON, built with Grafana's own library for Grafana 10.4.

Source:
    https://grafana.github.io/grafana-foundation-sdk, and Grafana's dashboard schema, version 39;
    later versions migrate it when they load it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from grafana_foundation_sdk.builders import (
    common,
    heatmap,
    prometheus,
    stat,
    table,
    timeseries,
)
from grafana_foundation_sdk.builders import (
    dashboard as board,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from monitoring.panels import Annotation, Dashboard, Kind, Level, Panel, Query, Row

SCHEMA_VERSION: Final = 39
COLUMNS: Final = 24
HEIGHTS: Final = {Kind.LINES: 8, Kind.NUMBER: 3, Kind.HEATMAP: 8, Kind.TABLE: 8}
SOURCE: Final = model.DataSourceRef(type_val="prometheus", uid="$datasource")
BUILDS: Final = '{__name__=~"shuntyard_build_info|shuntyard_agent_build_info"}'
WINDOWS: Final = ("1h", "5m", "15m", "6h", "1d", "7d")
"""Windows for rare events; the first is the default."""
NAMESPACE: Final = "namespace"
_FORMATS: Final = {
    Kind.LINES: PromQueryFormat.TIME_SERIES,
    Kind.NUMBER: PromQueryFormat.TIME_SERIES,
    Kind.HEATMAP: PromQueryFormat.HEATMAP,
    Kind.TABLE: PromQueryFormat.TABLE,
}
_NOW: Final = frozenset({Kind.NUMBER, Kind.TABLE})
"""Kinds that show the last value only."""
_COLOURS: Final = {
    Level.PLAIN: "text",
    Level.GOOD: "green",
    Level.WARNING: "orange",
    Level.BAD: "red",
}

Json = dict[str, Any]
Builder = timeseries.Panel | stat.Panel | heatmap.Panel | table.Panel


def text(dashboard: Dashboard) -> str:
    """Return the text of the dashboard's file."""
    return json.dumps(page(dashboard), indent=1, ensure_ascii=False) + "\n"


def page(dashboard: Dashboard) -> Json:
    """Return the dashboard in Grafana's model."""
    made = (
        board.Dashboard(f"Shuntyard / {dashboard.title}")
        .uid(dashboard.uid)
        .description(dashboard.about)
        .tags(["shuntyard"])
        .version(1)
        .readonly()
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .refresh("30s")
        .time("now-3h", "now")
        .timezone("browser")
        .link(_link())
    )
    for variable in _variables(dashboard):
        made = made.with_variable(variable)
    for annotation in dashboard.annotations:
        made = made.annotation(_annotation(annotation))
    built = made.build()
    built.schema_version = SCHEMA_VERSION
    built.panels = list(_placed(dashboard.rows))
    content = cast("Json", json.loads(JSONEncoder().encode(built)))
    for annotation, one in zip(
        dashboard.annotations, content["annotations"]["list"], strict=True
    ):  # fields of Prometheus' own annotations, which the library does not have
        one |= {"titleFormat": annotation.title, "textFormat": annotation.name, "step": "60s"}
    return content


def _link() -> board.DashboardLink:
    """Return the menu of all our dashboards, which keeps the chosen variables."""
    link = board.DashboardLink("Shuntyard").type(model.DashboardLinkType.DASHBOARDS)
    return (
        link.tags(["shuntyard"])
        .as_dropdown(as_dropdown=True)
        .include_vars(include_vars=True)
        .keep_time(keep_time=True)
    )


def _annotation(annotation: Annotation) -> board.AnnotationQuery:
    return (
        board.AnnotationQuery()
        .name(annotation.name)
        .datasource(SOURCE)
        .enable(enable=True)
        .icon_color(_COLOURS[annotation.level])
        .expr(annotation.query.expression)
    )


def _variables(
    dashboard: Dashboard,
) -> Iterator[board.DatasourceVariable | board.QueryVariable | board.CustomVariable]:
    yield board.DatasourceVariable("datasource").label("Data source").type("prometheus")
    yield _values_of("job", f"label_values({BUILDS}, job)")
    yield _values_of("instance", 'label_values({job=~"$job"}, instance)')
    texts = [query.text for panel in dashboard.panels for query in panel.queries]
    if any(f"${NAMESPACE}" in one for one in texts):
        yield _values_of(NAMESPACE, 'label_values(shuntyard_team_waiting_jobs{job=~"$job"}, team)')
    if any("$window" in one for one in texts):
        yield _choice("window", WINDOWS)
    for name, values in dashboard.choices:
        yield _choice(name, values)


def _values_of(name: str, query: str) -> board.QueryVariable:
    return (
        board.QueryVariable(name)
        .label(name)
        .datasource(SOURCE)
        .query(query)
        .multi(multi=True)
        .include_all(include_all=True)
        .all_value(".+")
        .current(model.VariableOption(selected=True, text="All", value="$__all"))
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
    )


def _choice(name: str, values: Sequence[str]) -> board.CustomVariable:
    options = [
        model.VariableOption(selected=value == values[0], text=value, value=value)
        for value in values
    ]
    variable = board.CustomVariable(name).label(name).values(",".join(values))
    return variable.options(options).current(options[0]).multi(multi=False)


def _placed(rows: Sequence[Row]) -> Iterator[model.Panel | model.RowPanel]:
    """Yield headings and panels with their positions, row by row."""
    number, y = 1, 0
    for row in rows:
        place = model.GridPos(h=1, w=COLUMNS, x=0, y=y)
        heading = board.Row(row.title).id(number).collapsed(collapsed=False)
        yield heading.grid_pos(place).build()
        number, y, x = number + 1, y + 1, 0
        height = max(HEIGHTS[panel.kind] for panel in row.panels)
        for panel in row.panels:
            place = model.GridPos(h=height, w=panel.width, x=x, y=y)
            yield _panel(panel).id(number).grid_pos(place).build()
            number, x = number + 1, x + panel.width
        y += height


def _panel(panel: Panel) -> Builder:
    made = _MAKERS[panel.kind](panel)
    made.title(panel.title).description(panel.about).datasource(SOURCE).unit(panel.unit.value)
    if panel.most is not None:
        made.max(panel.most)
    if panel.limits:
        made.thresholds(_thresholds(panel))
    for letter, query in zip("ABCDEFGH", panel.queries, strict=False):
        made.with_target(_target(panel, letter, query))
    return made


def _target(panel: Panel, letter: str, query: Query) -> prometheus.Dataquery:
    made = prometheus.Dataquery().ref_id(letter).datasource(SOURCE).expr(query.expression)
    made = made.legend_format(query.legend).format(_FORMATS[panel.kind])
    return made.instant() if panel.kind in _NOW else made.range()


def _thresholds(panel: Panel) -> board.ThresholdsConfig:
    steps = [model.Threshold(value=at, color=_COLOURS[level]) for at, level in panel.limits]
    if steps[0].value is not None:
        steps.insert(0, model.Threshold(color=_COLOURS[Level.PLAIN]))
    return board.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps)


def _lines(panel: Panel) -> Builder:
    stacking = shapes.StackingMode.NORMAL if panel.stacked else shapes.StackingMode.NONE
    legend = common.VizLegendOptions().display_mode(shapes.LegendDisplayMode.LIST)
    tooltip = common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.MULTI)
    style = common.GraphThresholdsStyleConfig().mode(
        shapes.GraphThresholdsStyleMode.DASHED
        if panel.limits
        else shapes.GraphThresholdsStyleMode.OFF
    )
    return (
        timeseries.Panel()
        .draw_style(shapes.GraphDrawStyle.LINE)
        .line_width(1)
        .fill_opacity(40 if panel.stacked else 5)
        .show_points(shapes.VisibilityMode.NEVER)
        .stacking(common.StackingConfig().mode(stacking).group("A"))
        .thresholds_style(style)
        .legend(legend.placement(shapes.LegendPlacement.BOTTOM).show_legend(show_legend=True))
        .tooltip(tooltip.sort(shapes.SortOrder.DESCENDING))
    )


def _number(panel: Panel) -> Builder:
    mode = shapes.BigValueColorMode.VALUE if panel.limits else shapes.BigValueColorMode.NONE
    last = common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(values=False)
    made = stat.Panel().color_mode(mode).graph_mode(shapes.BigValueGraphMode.AREA)
    return made.reduce_options(last)


def _heatmap(_panel: Panel) -> Builder:
    colours = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME)
    return (
        heatmap.Panel()
        .calculate(calculate=False)
        .cell_gap(1)
        .color(colours.scheme("Oranges").steps(64))
    )


def _table(panel: Panel) -> Builder:
    """Return a table: a row for each value of the label, a column for each query."""
    names = {
        f"Value #{letter}": one.legend
        for letter, one in zip("ABCDEFGH", panel.queries, strict=False)
    }
    organised = {"excludeByName": {"Time": True}, "renameByName": names, "indexByName": {}}
    return (
        table.Panel()
        .with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(model.DataTransformerConfig(id_val="organize", options=organised))
    )


_MAKERS: Final = {
    Kind.LINES: _lines,
    Kind.NUMBER: _number,
    Kind.HEATMAP: _heatmap,
    Kind.TABLE: _table,
}
