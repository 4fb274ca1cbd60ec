"""Picture of the runs: workers of each job over time, with a column per contestant."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.elastic.outcome import JobOutcome, Outcome

COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
"""Colours of the jobs by name; the last one is the important job, if any."""
_WIDTH, _ROW_HEIGHT = 11.0, 2.2
SETTINGS: Final[Any] = {"svg.hashsalt": "elastic", "svg.fonttype": "none", "font.size": 8}


def draw(outcomes: Sequence[Outcome], file: Path) -> None:
    """Write an SVG of the first seed: workers of the jobs over time, stacked."""
    shown = [
        outcome for outcome in outcomes if outcome.seed == min(other.seed for other in outcomes)
    ]
    rows = list(dict.fromkeys(outcome.experiment for outcome in shown))
    columns = list(dict.fromkeys(outcome.contestant for outcome in shown))
    with mpl.rc_context(SETTINGS):
        size = (_WIDTH, _ROW_HEIGHT * len(rows) + 0.5)
        figure = Figure(figsize=size, layout="constrained")
        charts = figure.subplots(len(rows), len(columns), sharex="row", sharey="row", squeeze=False)
        for outcome in shown:
            axes = charts[rows.index(outcome.experiment)][columns.index(outcome.contestant)]
            _chart(axes, outcome)
        for row, name in enumerate(rows):
            charts[row][0].set_ylabel(f"{name}: workers")
        for axes in charts[-1]:
            axes.set_xlabel("seconds")
        handles, names = charts[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(names), fontsize=7)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None})


def _chart(axes: Any, run: Outcome) -> None:
    """Draw one run as a stack of steps."""
    moments = sorted({at for job in run.jobs for at in _changes(job)})
    heights = [[_workers(job, at) for at in moments] for job in run.jobs]
    names = [f"{job.name}" for job in run.jobs]
    axes.stackplot(moments, heights, labels=names, colors=COLOURS, step="post", linewidth=0)
    # the runs of a row share their axes: a later run must not be cut to the first one's
    axes.set_xlim(0, max(axes.get_xlim()[1], moments[-1]))
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.05 * max(map(sum, zip(*heights, strict=True)))))
    axes.set_title(f"{run.contestant}: makespan {run.makespan:.0f} s, mean {run.mean:.0f} s")


def _changes(job: JobOutcome) -> list[float]:
    return [0.0, *(at for at, _ in job.workers), job.completed]


def _workers(job: JobOutcome, at: float) -> int:
    """Return the number of workers from a moment on."""
    if at >= job.completed:
        return 0
    return next((workers for since, workers in reversed(job.workers) if since <= at), 0)
