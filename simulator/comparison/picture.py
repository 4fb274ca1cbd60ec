"""A comparison as a picture: bars of each metric, and the front."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final

from simulator import drawing
from simulator.comparison.verdicts import MEASURES
from simulator.results import Outcome

_BARS: Final = ("mean", "p95", "makespan", "value", "utilisation", "rho")
_OURS, _THEIRS, _FRONT, _NO_VALUE = "#009E73", "#999999", "#D55E00", "#56B4E9"
_PAIR: Final = 2
_NEAR: Final = (0.05, 0.05)
"""Points of the front nearer than this share of the axes get one label together."""

Point = tuple[float, float]


def draw(outcome: Outcome, path: Path) -> None:
    """Write an SVG: six bar charts, and mean JCT against makespan with value as colour."""
    policies: list[str] = outcome.series["policies"]
    by_seed: list[Mapping[str, Any]] = outcome.series["found"]
    with drawing.figure(path, 11.0, 8.0, salt="compare", font_size=7) as figure:
        rows: list[Any] = [list(_BARS[:3]), list(_BARS[3:]), ["front"] * 3]
        charts = figure.subplot_mosaic(rows)
        for name in _BARS:
            _bars(charts[name], policies, by_seed, name)
        _front(charts["front"], outcome)
        figure.suptitle(outcome.title)


def _values(by_seed: Sequence[Mapping[str, Any]], policy: str, name: str) -> list[float]:
    values = [seed["metrics"][policy][name] for seed in by_seed]
    return [] if None in values else values


def _bars(
    axes: Any, policies: Sequence[str], by_seed: Sequence[Mapping[str, Any]], name: str
) -> None:
    axes.set_title(MEASURES[name].title)
    axes.set_xticks(range(len(policies)), policies, rotation=70)
    for place, policy in enumerate(policies):
        values = _values(by_seed, policy, name)
        if not values:
            continue
        error = stdev(values) if len(values) >= _PAIR else 0.0
        colour = _OURS if policy == "combined" else _THEIRS
        axes.bar(place, fmean(values), color=colour, yerr=error, error_kw={"lw": 0.6})
    if not any(_values(by_seed, policy, name) for policy in policies):
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no job has a utility", transform=axes.transAxes, ha="center")


def _front(axes: Any, outcome: Outcome) -> None:
    by_seed: list[Mapping[str, Any]] = outcome.series["found"]
    policies: list[str] = outcome.series["policies"]
    worths = {policy: _values(by_seed, policy, "value") for policy in policies}
    points = {
        policy: (
            fmean(_values(by_seed, policy, "mean")),
            fmean(_values(by_seed, policy, "makespan")),
        )
        for policy in policies
    }
    for policy, point in points.items():
        worth, on = worths[policy], policy in outcome.series["front"]
        colour = {"c": [fmean(worth)], "vmin": 0.0, "vmax": 1.0} if worth else {"color": _NO_VALUE}
        ring = _FRONT if on else "none"
        axes.scatter(*point, edgecolors=ring, linewidths=1.5, **colour)
    names = {p: f"{p} ({fmean(worth):.2f})" if worth else p for p, worth in worths.items()}
    for together in _groups(points):
        _label(axes, [names[policy] for policy in together], [points[p] for p in together])
    axes.set_xlabel("mean JCT s")
    axes.set_ylabel("makespan s")
    more = "; in brackets and as colour: value obtained" if any(worths.values()) else ""
    axes.set_title(f"Front (ringed: not dominated){more}")
    axes.margins(y=0.1)
    axes.grid(visible=True, alpha=0.3)


def _groups(points: Mapping[str, Point]) -> list[list[str]]:
    """Return the policies in groups of near points, from left to right."""
    spans = [max(axis) - min(axis) or 1.0 for axis in zip(*points.values(), strict=True)]
    groups: list[list[str]] = []
    for policy in sorted(points, key=lambda name: points[name]):
        near = [g for g in groups if any(_near(points[policy], points[p], spans) for p in g)]
        groups = [g for g in groups if g not in near]
        groups.append([*(p for g in near for p in g), policy])
    return groups


def _near(point: Point, other: Point, spans: Sequence[float]) -> bool:
    apart = (abs(a - b) / span for a, b, span in zip(point, other, spans, strict=True))
    return all(part < most for part, most in zip(apart, _NEAR, strict=True))


def _label(axes: Any, names: Sequence[str], points: Sequence[Point]) -> None:
    """Write the names right of the last point, or left of the first one in the right half."""
    left, right = axes.get_xlim()
    first, last = points[0], points[-1]
    turned = last[0] > (left + right) / 2
    where, shift, side = (first, -4, "right") if turned else (last, 4, "left")
    axes.annotate(", ".join(names), where, textcoords="offset points", xytext=(shift, 3), ha=side)
