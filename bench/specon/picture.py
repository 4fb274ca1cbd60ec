"""Picture of the runs: nodes of each job over time, and the parts of moves."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench.specon.outcome import PARTS, JobOutcome, Outcome
from bench.specon.report import NONE, POLICIES

TITLES: Final[Mapping[str, str]] = {
    NONE: "never migrating",
    "specon": "SpeCon",
    "count": "count balancing",
}
NODE_COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
PART_COLOURS: Final = ("#56B4E9", "#F0E442", "#D55E00", "#999999")
_WIDTH, _HEIGHT = 11.0, 5.6
_BAR = 0.7


def draw(outcomes: Sequence[Outcome], seed: int, file: Path) -> None:
    """Write an SVG: the runs of one seed as Gantt charts, and the parts of all moves below."""
    settings: Any = {"svg.hashsalt": "specon", "svg.fonttype": "none", "font.size": 8}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        grid = figure.add_gridspec(2, len(POLICIES), height_ratios=(5, 1.4))
        runs = {outcome.policy: outcome for outcome in outcomes if outcome.seed == seed}
        end = max(run.makespan_seconds for run in runs.values()) * 1.05
        charts = [figure.add_subplot(grid[0, column]) for column in range(len(POLICIES))]
        for axes, policy in zip(charts, POLICIES, strict=True):
            _gantt(axes, runs[policy], end, labelled=axes is charts[0])
        _legend(figure, runs[NONE])
        _parts(figure.add_subplot(grid[1, :]), outcomes)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None})


def _gantt(axes: Any, run: Outcome, end: float, *, labelled: bool) -> None:
    nodes = _nodes(run)
    for row, job in enumerate(run.jobs):
        for stay in job.stays:
            colour = NODE_COLOURS[nodes.index(stay.node)]
            axes.barh(row, stay.ended - stay.begun, _BAR, stay.begun, color=colour)
        _mark(axes, row, job)
    axes.set_yticks(range(len(run.jobs)), [job.name for job in run.jobs] if labelled else [])
    axes.invert_yaxis()
    axes.set_xlim(0, end)
    axes.set_xlabel("seconds")
    times = f"mean {run.mean_seconds:.0f} s, makespan {run.makespan_seconds:.0f} s"
    axes.set_title(f"{TITLES[run.policy]}: {times}")


def _mark(axes: Any, row: int, job: JobOutcome) -> None:
    """Draw a tick at 95 % of the loss reduction."""
    at = job.submitted + job.converged_seconds
    axes.plot([at, at], [row - _BAR / 2, row + _BAR / 2], color="black", linewidth=1.0)


def _legend(figure: Figure, run: Outcome) -> None:
    pairs = zip(NODE_COLOURS, _nodes(run), strict=False)
    handles: list[Any] = [Patch(color=colour, label=node) for colour, node in pairs]
    mark = Line2D([], [], color="black", marker="|", linestyle="", label="95 % of the loss")
    figure.legend(handles=[*handles, mark], loc="outside upper center", ncols=5, fontsize=7)


def _nodes(run: Outcome) -> list[str]:
    return sorted({stay.node for job in run.jobs for stay in job.stays})


def _parts(axes: Any, outcomes: Sequence[Outcome]) -> None:
    moving = [policy for policy in POLICIES if policy != NONE]
    for row, policy in enumerate(moving):
        moves = [
            m for outcome in outcomes if outcome.policy == policy for m in outcome.completed_moves()
        ]
        left = 0.0
        for part, colour in zip(PARTS, PART_COLOURS, strict=True):
            mean = statistics.mean(move.parts[part] for move in moves) if moves else 0.0
            axes.barh(row, mean, _BAR, left, color=colour, label=part if row == 0 else None)
            if moves:
                axes.text(left + mean / 2, row, f"{mean:.1f}", ha="center", va="center")
            left += mean
    names = [TITLES[policy] for policy in moving]
    axes.set_yticks(range(len(moving)), names)
    axes.invert_yaxis()
    axes.set_xlabel("seconds from the request to the first step elsewhere, mean of all moves")
    axes.legend(loc="center right", ncols=len(PARTS), fontsize=7)
    axes.set_xlim(0, axes.get_xlim()[1] * 1.5)
