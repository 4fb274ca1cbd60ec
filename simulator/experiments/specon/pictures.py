"""Pictures of SpeCon's gains, with the paper's single runs."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes

from simulator import drawing

BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#999999"
"""Okabe and Ito's colours, safe for colour-blind readers."""
_COLOURS: Final = {"W": BLUE, "T": ORANGE}


figure: Final = partial(drawing.figure, salt="specon")


def scattered(series: Mapping[str, Any], path: Path) -> None:
    """Draw the gains of each seed, and the paper's.

    Args:
        series: ``workloads``; ``models``; ``runs``, workload → model → gains of mean job time, of
            makespan, by seed; ``paper``, workload → both gains.
        path: Of the SVG.
    """
    runs, printed, names = series["runs"], series["paper"], series["workloads"]
    with figure(path, 10.0, 2.7) as chart:
        for axes, name in zip(chart.subplots(1, len(names), sharey=True), names, strict=True):
            for model in series["models"]:
                mean, makespan = runs[name][model]
                axes.scatter(mean, makespan, s=9, alpha=0.6, color=_COLOURS[model], label=model)
            axes.scatter(*printed[name], s=110, marker="*", color="black", label="paper")
            axes.axhline(0.0, color=GREY, linewidth=0.5)
            axes.axvline(0.0, color=GREY, linewidth=0.5)
            axes.margins(0.12)
            axes.set_title(name, fontsize=9)
            axes.set_xlabel("gain of mean job time, %")
        chart.axes[0].set_ylabel("gain of makespan, %")
        handles, labels = chart.axes[0].get_legend_handles_labels()
        chart.legend(handles, labels, loc="outside right center", fontsize=7)


def marked(axes: Axes, names: Sequence[str], ours: Sequence[Sequence[float]], title: str) -> None:
    """Draw means with their deviations, one row per name.

    Args:
        axes: Axes to draw on.
        names: Names of the rows.
        ours: Mean and deviation of each row.
        title: Title of the numbers.
    """
    rows = range(len(names))
    means, deviations = zip(*ours, strict=True)
    axes.errorbar(means, rows, xerr=deviations, fmt="o", color=BLUE, capsize=2, label="ours")
    axes.set_yticks(rows, names)
    axes.margins(y=0.15)
    axes.axvline(0.0, color=GREY, linewidth=0.5)
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.set_title(title, fontsize=8)


def distributed(series: Mapping[str, Any], path: Path) -> None:
    """Draw completion times by quantile, and gains by job number.

    Args:
        series: ``shares``; ``curves``, rows of a source and the quantiles under both schedulers;
            ``groups``, rows of a source and gains, with ``group_names``.
        path: Of the SVG.
    """
    shares = [100.0 * share for share in series["shares"]]
    colours = {"authors": "black", **_COLOURS}
    with figure(path, 10.0, 3.0) as chart:
        left, right = chart.subplots(1, 2)
        for source, (default, specon) in series["curves"]:
            left.plot(default, shares, color=colours[source], label=f"{source}, default")
            left.plot(
                specon, shares, color=colours[source], linestyle="--", label=f"{source}, SpeCon"
            )
        left.set_xlabel("completion time, s")
        left.set_ylabel("% of the 50 jobs")
        left.grid(visible=True, alpha=0.3)
        left.legend(fontsize=7)
        bars = ("black", BLUE, ORANGE, PINK, GREEN)
        width = 0.8 / len(series["groups"])
        for number, (source, gains) in enumerate(series["groups"]):
            places = [i + (number - 2) * width for i in range(len(gains))]
            right.bar(places, gains, width * 0.9, color=bars[number], label=source)
        right.axhline(0.0, color=GREY, linewidth=0.5)
        right.set_xticks(range(len(series["group_names"])), series["group_names"])
        right.set_xlabel("jobs by number")
        right.set_ylabel("gain of mean job time, %")
        right.legend(fontsize=7)


def compared(series: Mapping[str, Any], path: Path) -> None:
    """Draw the gains of several rules by workload, a chart per goal.

    Args:
        series: ``workloads``; ``charts``, rows of a title and rows of a rule and its gains by
            workload.
        path: Of the SVG.
    """
    charts, workloads = series["charts"], series["workloads"]
    colours = (GREY, GREEN, ORANGE, PINK)
    with figure(path, 10.0, 2.8) as chart:
        for axes, (what, rules) in zip(chart.subplots(1, len(charts)), charts, strict=True):
            width = 0.8 / len(rules)
            for number, (name, gains) in enumerate(rules):
                places = [i + (number - (len(rules) - 1) / 2) * width for i in range(len(gains))]
                axes.bar(places, gains, width * 0.95, color=colours[number], label=name)
            axes.axhline(0.0, color="black", linewidth=0.5)
            axes.set_xticks(range(len(workloads)), workloads, fontsize=7)
            axes.set_title(what, fontsize=8)
        handles, labels = chart.axes[0].get_legend_handles_labels()
        chart.legend(handles, labels, loc="outside right center", fontsize=7)
