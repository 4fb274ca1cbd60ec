"""Rows of `bench plan` as a picture: how planning grows with nodes, and with the gang."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.bars import SETTINGS

_PARTS = {"view_ms": "reading the job", "plan_ms": "planning", "cycle_ms": "whole cycle"}
_WIDTH, _HEIGHT = 9.0, 3.2


def draw(rows: Sequence[Mapping[str, Any]], nodes: int, gang: int, file: Path) -> None:
    """Write an SVG with two charts, both axes logarithmic."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
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
