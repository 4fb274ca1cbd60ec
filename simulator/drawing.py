"""Figures as SVG files; the same drawing gives the same bytes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure


@contextmanager
def figure(
    path: Path, width: float, height: float, *, salt: str, font_size: int = 8
) -> Iterator[Figure]:
    """Yield a figure to draw in, and write it at the end.

    Args:
        path: Of the SVG; its folder is created.
        width: In inches.
        height: In inches.
        salt: Prefix of ids in the file, so that two pictures on one page have different ids.
        font_size: In points.
    """
    settings: Any = {"svg.hashsalt": salt, "svg.fonttype": "none", "font.size": font_size}
    with mpl.rc_context(settings):
        chart = Figure(figsize=(width, height), layout="constrained")
        yield chart
        path.parent.mkdir(parents=True, exist_ok=True)
        chart.savefig(path, format="svg", metadata={"Date": None})
