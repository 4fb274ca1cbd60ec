"""The picture of the calibration: coverage and width by how much of the run is over."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bench.calibration.measured import Figures
from bench.calibration.predicting import SEEN, Prediction

SETTINGS: Final[Any] = {"svg.hashsalt": "calibration", "svg.fonttype": "none", "font.size": 8}
_WIDTH, _HEIGHT = 7.2, 3.0
_LOWEST, _HIGHEST = 0.60, 0.73
_COLOURS: Final = {"time left": "#0072B2", "further improvement": "#D55E00"}


def draw(figures: Figures, file: Path) -> None:
    """Write an SVG with two charts."""
    found = {"time left": figures.times, "further improvement": figures.gains}
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        coverage, width = figure.subplots(1, 2)
        coverage.axhspan(_LOWEST, _HIGHEST, color="#999999", alpha=0.25, label="goal")
        for name, predictions in found.items():
            parts = [_at(predictions, seen) for seen in SEEN]
            kept = [(s, part) for s, part in zip(SEEN, parts, strict=True) if part]
            places = [seen for seen, _ in kept]
            style = {"marker": "o", "markersize": 3, "color": _COLOURS[name], "label": name}
            coverage.plot(places, [_holds(part) for _, part in kept], **style)
            width.plot(places, [_median_width(part) for _, part in kept], **style)
        coverage.set_title("How often the band holds what came", fontsize=9)
        coverage.set_ylabel("predictions that hold")
        width.set_title("How wide the band is", fontsize=9)
        width.set_ylabel("median width, of the time left\nor of the whole improvement")
        for axes in (coverage, width):
            axes.set_xlabel("how much of the run is over")
            axes.set_ylim(0, 1 if axes is coverage else None)
            axes.xaxis.set_major_formatter(PercentFormatter(1))
            axes.yaxis.set_major_formatter(PercentFormatter(1))
            axes.grid(visible=True, alpha=0.3)
        coverage.legend(loc="lower right", fontsize=7)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None})


def _at(predictions: Sequence[Prediction], seen: float) -> list[Prediction]:
    return [p for p in predictions if p.seen == seen and p.span is not None]


def _holds(predictions: Sequence[Prediction]) -> float:
    return sum(p.holds for p in predictions) / len(predictions)


def _median_width(predictions: Sequence[Prediction]) -> float:
    return median((p.span.high - p.span.low) / p.scale for p in predictions if p.span)
