"""Draws a dashboard roughly as Grafana shows it, for the documentation."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import MultipleLocator

from monitoring import grafana
from monitoring.panels import Dashboard, Kind, Level, Panel, Unit
from monitoring.server import Line

WIDTH_INCHES: Final = 15.0
UNIT_INCHES: Final = 0.36
"""Height of one line of Grafana's grid."""
TITLE_INCHES: Final = 0.5
LEGEND_UNITS: Final = 2
"""Lines of the grid that a panel leaves to its legend."""
LEGEND_ROWS: Final = 3
LETTERS_PER_COLUMN: Final = 11.0
"""Letters of a legend that fit into one column of the grid."""
MARK_LETTERS: Final = 6
LONG_SECONDS: Final = 1800.0
"""From such a span on the axis of time has minutes."""
GAP_STEPS: Final = 1.5
"""A step that is so many times the shortest one is a gap."""
"""Width of the mark before a legend."""
MOST_STEPS: Final = 6.0
"""Of values on an axis."""
LEAST_HEIGHT: Final = 3.0
"""Of less, an axis has parts of seconds and of a whole."""
TIMES: Final = (
    *(1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0),
    *(3600.0, 7200.0, 14_400.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 604_800.0),
    *(day * 86_400.0 for day in (30, 100, 200, 500, 1000)),
)
COUNTS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)
MOST_DIGITS: Final = 1000.0
UNITS_FROM: Final = 5.0
"""From so many hours or minutes on, times are shown in that unit."""
_LABEL: Final = re.compile(r"{{(\w+)}}")
COLOURS: Final = [
    *("#2f6db5", "#e07b2a", "#3a9a5b", "#c23b3b", "#7d5fb2"),
    *("#8c6a4f", "#d06ba8", "#6f7782", "#b3a72a", "#2ba3b0"),
]
LEVELS: Final = {
    Level.PLAIN: "black",
    Level.GOOD: "#3a9a5b",
    Level.WARNING: "#e07b2a",
    Level.BAD: "#c23b3b",
}
_SETTINGS: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "shuntyard",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.prop_cycle": f"cycler('color', {COLOURS})",
}

_UNSIGNED: Final = {"Date": None, "Creator": None}
"""No date and no version in the file, so that the same drawing gives the same bytes."""
Span = tuple[float, float]
"""Begin and end, seconds since the epoch."""
Answers = Mapping[str, Sequence[tuple[str, Line]]]
"""By the panel's key: legend and line of each series."""


def key(panel: Panel) -> str:
    """Return the unique name of a panel on its page: a number and a curve may share a title."""
    return f"{panel.kind.value} {panel.title}"


def draw(dashboard: Dashboard, answers: Answers, path: Path) -> None:
    """Write the picture, in the format of the path's suffix."""
    placed = [one for one in grafana.page(dashboard)["panels"] if one["type"] != "row"]
    rows = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in placed)
    with mpl.rc_context(_SETTINGS):
        height = rows * UNIT_INCHES + TITLE_INCHES
        figure = Figure(figsize=(WIDTH_INCHES, height))
        top = 1 - TITLE_INCHES / height
        grid = GridSpec(
            rows, grafana.COLUMNS, figure,
            left=0.045, right=0.985, bottom=0.0, top=top, wspace=14.0, hspace=0.6,
        )  # fmt: skip
        title = f"Shuntyard / {dashboard.title}"
        figure.text(0.015, 1 - 0.12 / height, title, fontsize=14, va="top")
        span = _span(answers)
        for one, panel in zip(placed, dashboard.panels, strict=True):
            place = one["gridPos"]
            below = LEGEND_UNITS if panel.kind is not Kind.NUMBER else 1
            rows_of_it = slice(place["y"], place["y"] + place["h"] - below)
            axes = figure.add_subplot(grid[rows_of_it, place["x"] : place["x"] + place["w"]])
            axes.set_title(_title(panel, dashboard))
            _DRAW[panel.kind](axes, panel, answers.get(key(panel), ()), span)
        _headings(figure, dashboard, grid)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata=_UNSIGNED if path.suffix == ".svg" else None)


def _span(answers: Answers) -> tuple[float, float]:
    """Return the times of the first and the last value, so that all axes are alike."""
    times = [at for lines in answers.values() for _, line in lines for at, _ in line.points]
    return min(times, default=0.0), max(times, default=1.0)


def _headings(figure: Figure, dashboard: Dashboard, grid: GridSpec) -> None:
    rows = [one for one in grafana.page(dashboard)["panels"] if one["type"] == "row"]
    _, tops, lefts, _ = grid.get_grid_positions(figure)
    for one in rows:
        place = one["gridPos"]["y"]
        figure.text(lefts[0], tops[place], one["title"], fontsize=11, color="#555555", va="center")


def _title(panel: Panel, dashboard: Dashboard) -> str:
    chosen = {name: values[0] for name, values in dashboard.choices}
    return Template(panel.title).safe_substitute(chosen)


def _number(axes: Axes, panel: Panel, lines: Sequence[tuple[str, Line]], _span: Span) -> None:
    axes.set_axis_off()
    values = [value for _, value in lines[0][1].points if not math.isnan(value)] if lines else []
    value = values[-1] if values else None
    text = "no data" if value is None else shown(value, panel.unit)
    size = 12 if value is None else 20
    place = axes.transAxes
    colour = "black" if value is None else _colour(panel, value)
    axes.text(0.02, 0.45, text, fontsize=size, va="center", transform=place, color=colour)


def _colour(panel: Panel, value: float) -> str:
    held = [level for at, level in panel.limits if at is None or value >= at]
    return LEVELS[held[-1] if held else Level.PLAIN]


def _table(axes: Axes, panel: Panel, lines: Sequence[tuple[str, Line]], _span: Span) -> None:
    """Draw a row for each value of the label, and a column for each query, its last value."""
    axes.set_axis_off()
    columns = [query.legend for query in panel.queries]
    cells: dict[str, dict[str, str]] = {}
    for column, line in lines:
        row = " ".join(line.labels.values())
        cells.setdefault(row, {})[column] = shown(line.points[-1][1], panel.unit)
    if not cells:
        axes.text(0.5, 0.5, "nothing in this run", ha="center", transform=axes.transAxes)
        return
    rows = sorted(cells)
    made = axes.table(
        [[row, *(cells[row].get(column, "") for column in columns)] for row in rows],
        colLabels=["", *columns], loc="upper left", cellLoc="left", colLoc="left",
        edges="horizontal",
    )  # fmt: skip
    made.auto_set_font_size(value=False)
    made.set_fontsize(8)
    made.scale(1.0, 1.4)


def _curves(axes: Axes, panel: Panel, lines: Sequence[tuple[str, Line]], span: Span) -> None:
    names, begin = [_legend(legend, line) for legend, line in lines], span[0]
    if panel.stacked and lines:
        times = sorted({at for _, line in lines for at, _ in line.points})
        values = [[dict(line.points).get(at, 0.0) for at in times] for _, line in lines]
        axes.stackplot([at - begin for at in times], values, labels=names, alpha=0.75)
    else:
        for name, (_, line) in zip(names, lines, strict=True):
            at, values_of_it = _with_gaps(line, begin)
            marker = "." if len(at) == 1 else None
            axes.plot(at, values_of_it, label=name, lw=1.1, marker=marker)
    _dress(axes, panel.unit, span, drawn=bool(lines))
    for limit, level in panel.limits:
        if lines and limit is not None and limit <= axes.get_ylim()[1]:
            axes.axhline(limit, color=LEVELS[level], ls="--", lw=0.8)
    if lines:
        _explain(axes, panel.width)


def _with_gaps(line: Line, begin: float) -> tuple[list[float], list[float]]:
    """Return times and values; where a value is missing, the line is broken as in Grafana."""
    steps = [later[0] - one[0] for one, later in pairwise(line.points)]
    usual = min(steps, default=0.0)
    times, values = [line.points[0][0] - begin], [line.points[0][1]]
    for step, (at, value) in zip(steps, line.points[1:], strict=True):
        if step > GAP_STEPS * usual:
            times.append(at - begin - usual)
            values.append(math.nan)
        times.append(at - begin)
        values.append(value)
    return times, values


def _explain(axes: Axes, width: int) -> None:
    """Put the legend below, in as many columns as fit; long names are cut."""
    handles, names = axes.get_legend_handles_labels()
    longest = max(map(len, names)) + MARK_LETTERS
    columns = max(1, int(width * LETTERS_PER_COLUMN / longest))
    fit = columns * LEGEND_ROWS
    if len(names) > fit:
        names[fit - 1] = f"and {len(names) - fit + 1} more"
    axes.legend(
        handles[:fit], names[:fit], fontsize=6.5, ncols=columns, loc="upper left",
        bbox_to_anchor=(-0.01, -0.11), frameon=False, handlelength=1.0, columnspacing=1.0,
        borderaxespad=0.0, labelspacing=0.2,
    )  # fmt: skip


def _heat(axes: Axes, panel: Panel, lines: Sequence[tuple[str, Line]], span: Span) -> None:
    bands = sorted(lines, key=lambda one: _height(_legend(*one)))
    times = sorted({at for _, line in bands for at, _ in line.points})
    if not times:
        _dress(axes, panel.unit, span, drawn=False)
        return
    begin = span[0]
    cells = np.array([[dict(line.points).get(at, 0.0) for at in times] for _, line in bands])
    if "le" in dict(bands[0][1].labels):
        cells = np.diff(cells, axis=0, prepend=0.0)
    axes.grid(visible=False)
    axes.pcolormesh(
        [at - begin for at in times], range(len(bands)), np.where(cells > 0, cells, np.nan),
        cmap="Oranges", shading="nearest", vmin=0.0, rasterized=True,
    )  # fmt: skip
    names = [_legend(*one) for one in bands]
    heights = [_seconds(_height(name)) if panel.unit is Unit.SECONDS else name for name in names]
    axes.set_yticks(range(len(bands)), heights, fontsize=6.5)
    _time(axes, span)


def _time(axes: Axes, span: Span) -> None:
    axes.tick_params(labelsize=7)
    axes.set_xlim(0.0, span[1] - span[0])
    if span[1] - span[0] >= LONG_SECONDS:
        axes.xaxis.set_major_locator(MultipleLocator(LONG_SECONDS / 3))
        axes.xaxis.set_major_formatter(lambda value, _place: f"{value / 60:g} min")
    else:
        axes.xaxis.set_major_formatter(lambda value, _place: f"{value:g} s")


def _dress(axes: Axes, unit: Unit, span: Span, *, drawn: bool) -> None:
    _time(axes, span)
    if not drawn:
        axes.text(0.5, 0.5, "nothing in this run", ha="center", transform=axes.transAxes)
        axes.set_yticks([])
        return
    low, high = axes.dataLim.ymin, axes.dataLim.ymax
    low, high = min(0.0, low), high if high > max(0.0, low) else 1.0
    axes.set_ylim(1.05 * low, 1.05 * high)
    step = _step(high - low, unit)
    if step is not None:
        axes.yaxis.set_major_locator(MultipleLocator(step))
    axes.yaxis.set_major_formatter(lambda value, _place: shown(value, unit))


def _step(height: float, unit: Unit) -> float | None:
    """Return a round distance between values on the axis; None: as matplotlib chooses it."""
    steps = {Unit.SECONDS: TIMES, Unit.NUMBER: COUNTS}.get(unit, ())
    if height < LEAST_HEIGHT:
        return None
    return next((step for step in steps if height / step <= MOST_STEPS), None)


def _legend(legend: str, line: Line) -> str:
    return _LABEL.sub(lambda name: line.labels.get(name[1], ""), legend).strip()


def _height(band: str) -> float:
    return float("inf") if band in {"over", "+Inf"} else float(band)


def shown(value: float, unit: Unit) -> str:
    """Return a value with its unit in short form."""
    match unit:
        case Unit.SECONDS:
            return _seconds(value)
        case Unit.SHARE:
            return f"{100 * value:.3g}%"
        case Unit.BYTES:
            return f"{value / 2**20:.0f} MiB"
        case Unit.PER_SECOND | Unit.REQUESTS:
            return f"{value:.3g}/s"
        case _:
            return _digits(value)


def _digits(value: float) -> str:
    return f"{value:.3g}" if abs(value) < MOST_DIGITS else f"{value:.0f}"


def _seconds(value: float) -> str:
    if math.isinf(value):
        return "more"
    for unit, name in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if abs(value) >= UNITS_FROM * unit:
            return f"{_digits(value / unit)} {name}"
    return f"{1000 * value:.3g} ms" if 0 < abs(value) < 1 else f"{value:.3g} s"


_DRAW: Final[Mapping[Kind, Callable[[Axes, Panel, Sequence[tuple[str, Line]], Span], None]]] = {
    Kind.LINES: _curves,
    Kind.NUMBER: _number,
    Kind.HEATMAP: _heat,
    Kind.TABLE: _table,
}
