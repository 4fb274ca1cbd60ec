"""Pictures of the OASiS experiments: the same numbers give the same bytes."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from simulator import drawing

COLOURS: Final = (
    "#009E73",
    "#0072B2",
    "#999999",
    "#E69F00",
    "#56B4E9",
    "#CC79A7",
    "#D55E00",
    "#F0E442",
    "#000000",
)
_ALL_BARS: Final = 0.84


def figure(path: Path, width: float = 8.0, height: float = 3.2) -> AbstractContextManager[Figure]:
    """Return a context with a figure, as ``drawing.figure``."""
    return drawing.figure(path, width, height, salt="oasis")


def bars(axes: Any, groups: Sequence[str], heights: Mapping[str, Sequence[float]]) -> None:
    """Draw bars side by side, in a group per name of ``groups``."""
    width = _ALL_BARS / len(heights)
    for number, (label, values) in enumerate(heights.items()):
        offset = (number - (len(heights) - 1) / 2) * width
        places = [place + offset for place in range(len(groups))]
        colour = COLOURS[number % len(COLOURS)]
        axes.bar(places, values, width * 0.92, label=label, color=colour)
    axes.set_xticks(range(len(groups)), groups)
    axes.legend(fontsize=6)
    axes.spines[["top", "right"]].set_visible(False)


def lines(axes: Any, places: Sequence[float], heights: Mapping[str, Sequence[float]]) -> None:
    """Draw a line for each series."""
    for number, (label, values) in enumerate(heights.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(places, values, marker="o", markersize=3, label=label, color=colour)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=6)


def boxes(axes: Any, quartiles: Mapping[str, Sequence[float]]) -> None:
    """Draw a bar from first to third quartile of each, with a mark at the median."""
    for place, (low, middle, high) in enumerate(quartiles.values()):
        colour = COLOURS[place % len(COLOURS)]
        axes.bar(place, high - low, 0.6, bottom=low, color=colour, alpha=0.7)
        axes.hlines(middle, place - 0.3, place + 0.3, color="black")
    axes.set_xticks(range(len(quartiles)), list(quartiles), fontsize=7)
    axes.axhline(0.0, color="black", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
