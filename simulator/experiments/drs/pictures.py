"""Gains as bars: a chart per speed, a group per experiment, a bar per scheduler."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from simulator import drawing

_WIDTH, _HEIGHT = 10.0, 3.2
_LEAST: Final = -80.0

Rows = Sequence[tuple[str, Mapping[str, Sequence[float]]]]
"""Group → bar → mean and deviation."""


def draw(charts: Mapping[str, Rows], claim: float | None, path: Path) -> None:
    """Write an SVG; bars below the lower edge are cut and labelled with their value."""
    with drawing.figure(path, _WIDTH, _HEIGHT, salt="drs") as figure:
        panels = figure.subplots(1, len(charts), sharey=True, squeeze=False)[0]
        for axes, (title, rows) in zip(panels, charts.items(), strict=True):
            _chart(axes, rows)
            axes.set_title(title)
            axes.axhline(0, color="black", linewidth=0.8)
            if claim is not None:
                axes.axhline(claim, color="black", linewidth=0.8, linestyle="--")
        panels[0].set_ylabel("shorter than DRAGON's, %")
        panels[-1].legend(fontsize=7)


def _chart(axes: Any, rows: Rows) -> None:
    names = list(dict.fromkeys(name for _, bars in rows for name in bars))
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        at = [i + (number - (len(names) - 1) / 2) * width for i in range(len(rows))]
        means = [bars[name][0] for _, bars in rows]
        shown = [max(mean, _LEAST) for mean in means]
        errors = [bars[name][1] if bars[name][0] > _LEAST else 0.0 for _, bars in rows]
        axes.bar(at, shown, width * 0.92, yerr=errors, error_kw={"linewidth": 0.6}, label=name)
        for x, mean in zip(at, means, strict=True):
            if mean < _LEAST:
                axes.text(x, _LEAST, f"{mean:.0f}", ha="center", va="top", fontsize=6)
    axes.set_xticks(range(len(rows)), [group for group, _ in rows])
    axes.set_ylim(_LEAST - 12.0, 60.0)
