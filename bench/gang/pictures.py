"""Pictures of `bench gang` and `bench plan`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

COLOURS: Final[Mapping[str, str]] = {
    "plain": "#999999",
    "intree": "#56B4E9",
    "coscheduling": "#E69F00",
    "shuntyard": "#009E73",
    "shuntyard-direct": "#CC79A7",
}
SETTINGS: Final[Any] = {"svg.hashsalt": "gang", "svg.fonttype": "none", "font.size": 8}
_GANG_WIDTH, _GANG_HEIGHT = 9.0, 3.2


def draw_gang(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write an SVG of pods per second; a star marks a scheduler that did not bind all pods."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    schedulers = list(dict.fromkeys(row["scheduler"] for row in rows))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(_GANG_WIDTH, _GANG_HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        width = 0.8 / len(schedulers)
        for number, scheduler in enumerate(schedulers):
            own = [row for row in rows if row["scheduler"] == scheduler]
            places = [
                shapes.index(row["shape"]) + (number - (len(schedulers) - 1) / 2) * width
                for row in own
            ]
            heights = [row["bound_per_second"] for row in own]
            marks = ["" if row["pods"] == row["wanted"] else "*" for row in own]
            colour = COLOURS.get(scheduler)
            bars = axes.bar(places, heights, width * 0.92, color=colour, label=scheduler)
            labels = [f"{height:.0f}{mark}" for height, mark in zip(heights, marks, strict=True)]
            axes.bar_label(bars, labels, fontsize=6)
        axes.set_xticks(range(len(shapes)), shapes)
        axes.set_xlabel("gangs by pods of each")
        axes.set_ylabel("pods bound per second")
        figure.legend(loc="outside upper center", ncols=len(schedulers), fontsize=7)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None})


_PARTS = {"view_ms": "reading the job", "plan_ms": "planning", "cycle_ms": "whole cycle"}
_PLAN_WIDTH, _PLAN_HEIGHT = 9.0, 3.2


def draw_plan(rows: Sequence[Mapping[str, Any]], nodes: int, gang: int, file: Path) -> None:
    """Write an SVG of planning times by nodes and by gang, with logarithmic axes."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(_PLAN_WIDTH, _PLAN_HEIGHT), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _lines(left, [row for row in rows if row["gang"] == gang], "nodes")
        _lines(right, [row for row in rows if row["nodes"] == nodes], "gang")
        left.set_xlabel(f"nodes (a gang of {gang} pods)")
        right.set_xlabel(f"pods of the gang ({nodes} nodes)")
        left.set_ylabel("milliseconds")
        left.legend(fontsize=7)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None})


def _lines(axes: Any, rows: Sequence[Mapping[str, Any]], by: str) -> None:
    for part, label in _PARTS.items():
        axes.loglog([r[by] for r in rows], [r[part] for r in rows], marker="o", label=label)
    axes.grid(visible=True, alpha=0.3)
