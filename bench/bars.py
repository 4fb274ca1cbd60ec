"""Rows of `bench gang` as a picture: pods bound per second, a group of bars for each shape."""

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
_WIDTH, _HEIGHT = 9.0, 3.2


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write an SVG; a scheduler that did not bind all has a star on its bar."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    schedulers = list(dict.fromkeys(row["scheduler"] for row in rows))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
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
