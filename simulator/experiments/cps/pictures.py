"""Pictures of the CPS experiments: the same numbers give the same bytes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from simulator import drawing

COLOURS: Final = ("#009E73", "#999999", "#E69F00", "#56B4E9")
_ALL_BARS: Final = 0.8


figure: Final = partial(drawing.figure, salt="cps")


def bars(
    axes: Any,
    names: Sequence[str],
    heights: Mapping[str, Sequence[float]],
    *,
    form: str = "{:.0f}",
) -> None:
    """Draw a group of bars for each name, one bar for each of the series, with its number."""
    width = _ALL_BARS / len(heights)
    for number, (label, values) in enumerate(heights.items()):
        offset = (number - (len(heights) - 1) / 2) * width
        places = [place + offset for place in range(len(names))]
        drawn = axes.bar(places, values, width * 0.92, label=label, color=COLOURS[number])
        axes.bar_label(drawn, [form.format(value) for value in values], fontsize=6)
    axes.set_xticks(range(len(names)), names, fontsize=7)
    axes.spines[["top", "right"]].set_visible(False)
