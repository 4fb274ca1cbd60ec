"""A figure that becomes an SVG file: the same drawing gives the same bytes."""

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
    """Give a figure to draw in, and write it when it is drawn.

    Args:
        path: Of the SVG; its folder is made.
        width: In inches.
        height: In inches.
        salt: What names inside the file begin with, so that two pictures of a page differ in them.
        font_size: In points.
    """
    settings: Any = {"svg.hashsalt": salt, "svg.fonttype": "none", "font.size": font_size}
    with mpl.rc_context(settings):
        chart = Figure(figsize=(width, height), layout="constrained")
        yield chart
        path.parent.mkdir(parents=True, exist_ok=True)
        chart.savefig(path, format="svg", metadata={"Date": None})
