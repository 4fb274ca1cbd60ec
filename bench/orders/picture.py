"""Picture of the runs: the orders by each measure, live beside simulated, with every seed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.orders.outcome import LIVE, MEASURES, SIMULATED, Outcome, mean_of

COLOURS: Final = {LIVE: "#0072B2", SIMULATED: "#BBBBBB"}
SETTINGS: Final[Any] = {"svg.hashsalt": "orders", "svg.fonttype": "none", "font.size": 8}
_WIDTH, _HEIGHT, _BAR = 9.0, 2.8, 0.38
_TITLES: Final = {"mean": "mean seconds", "makespan": "makespan, seconds", "value": "value"}


def draw(outcomes: Sequence[Outcome], file: Path) -> None:
    """Write an SVG with a chart for each measure; a point is one seed."""
    orders = list(dict.fromkeys(run.order for run in outcomes))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        for axes, measure in zip(figure.subplots(1, len(MEASURES)), MEASURES, strict=True):
            for side, how in enumerate((LIVE, SIMULATED)):
                places = [number + (side - 0.5) * _BAR for number in range(len(orders))]
                heights = [mean_of(outcomes, how, order, measure) for order in orders]
                axes.bar(places, heights, _BAR * 0.92, color=COLOURS[how], label=how)
                for place, order in zip(places, orders, strict=True):
                    own = [o for o in outcomes if (o.how, o.order) == (how, order)]
                    points = [getattr(one, measure) for one in own]
                    axes.plot([place] * len(points), points, "k.", markersize=3)
            axes.set_xticks(range(len(orders)), orders)
            axes.set_title(_TITLES[measure])
        figure.axes[0].legend(fontsize=7)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None})
