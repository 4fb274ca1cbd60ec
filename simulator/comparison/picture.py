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


def draw(outcome: Outcome, path: Path) -> None:
    """Write an SVG: six bar charts, and mean JCT against makespan with value as colour."""
    policies: list[str] = outcome.series["policies"]
    found: list[Mapping[str, Any]] = outcome.series["found"]
    with drawing.figure(path, 11.0, 8.0, salt="compare", font_size=7) as figure:
        rows: list[Any] = [list(_BARS[:3]), list(_BARS[3:]), ["front"] * 3]
        charts = figure.subplot_mosaic(rows)
        for name in _BARS:
            _bars(charts[name], policies, found, name)
        _front(charts["front"], outcome)
        figure.suptitle(outcome.title)


def _got(found: Sequence[Mapping[str, Any]], policy: str, name: str) -> list[float]:
    values = [one["metrics"][policy][name] for one in found]
    return [] if None in values else values


def _bars(
    axes: Any, policies: Sequence[str], found: Sequence[Mapping[str, Any]], name: str
) -> None:
    axes.set_title(MEASURES[name].title)
    for place, policy in enumerate(policies):
        values = _got(found, policy, name)
        if not values:
            continue
        error = stdev(values) if len(values) >= _PAIR else 0.0
        colour = _OURS if policy == "combined" else _THEIRS
        axes.bar(place, fmean(values), color=colour, yerr=error, error_kw={"lw": 0.6})
    axes.set_xticks(range(len(policies)), policies, rotation=70)


def _front(axes: Any, outcome: Outcome) -> None:
    found: list[Mapping[str, Any]] = outcome.series["found"]
    points = {
        policy: tuple(fmean(_got(found, policy, name)) for name in ("mean", "makespan"))
        for policy in outcome.series["policies"]
    }
    for policy, (mean, makespan) in points.items():
        worth = _got(found, policy, "value")
        on = policy in outcome.series["front"]
        colour = {"c": [fmean(worth)], "vmin": 0.0, "vmax": 1.0} if worth else {"color": _NO_VALUE}
        ring = _FRONT if on else "none"
        axes.scatter(mean, makespan, edgecolors=ring, linewidths=1.5, **colour)
        label = f"{policy} ({fmean(worth):.2f})" if worth else policy
        axes.annotate(label, (mean, makespan), textcoords="offset points", xytext=(4, 3))
    axes.set_xlabel("mean JCT s")
    axes.set_ylabel("makespan s")
    axes.set_title("Front (ringed: nobody dominates it); in brackets and as colour: value obtained")
    axes.grid(visible=True, alpha=0.3)
