"""Results of runs, live and simulated, and how the orders compare in both."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, median
from typing import Any, Final

import msgspec
from msgspec import Struct

LIVE: Final = "live"
SIMULATED: Final = "simulated"
MEASURES: Final = ("mean", "makespan", "value")


class JobOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of one job; times in seconds from the beginning of the run.

    Attributes:
        name: The job.
        submitted: Submission.
        completed: The training was complete.
        worth: What that was worth, and what it would have been worth at once; None: no utility.
        parkings: How often it was parked.
        placed: When its first pod had a node; None: simulated.
        began: When its first step began; None: simulated.
        gone: When none of its pods was left; None: simulated.
        missing_steps: Steps that were not done.
        repeated_steps: Repetitions of steps.
        loss_difference: Of its last loss from that of an undisturbed run with one worker.
    """

    name: str
    submitted: float
    completed: float
    worth: tuple[float, float] | None = None
    parkings: int = 0
    placed: float | None = None
    began: float | None = None
    gone: float | None = None
    missing_steps: int = 0
    repeated_steps: int = 0
    loss_difference: float = 0.0

    @property
    def seconds(self) -> float:
        """From submission to completion."""
        return self.completed - self.submitted


class Outcome(Struct, frozen=True, kw_only=True):
    """Result of one run.

    Attributes:
        how: ``live`` or ``simulated``.
        order: Of the queue.
        seed: Of the workload.
        jobs: All of them.
        load: Load average of the machine at its beginning; None: simulated.
    """

    how: str
    order: str
    seed: int
    jobs: tuple[JobOutcome, ...]
    load: float | None = None

    @property
    def mean(self) -> float:
        """Mean seconds of a job."""
        return fmean(job.seconds for job in self.jobs)

    @property
    def makespan(self) -> float:
        """From the first submission to the last completion."""
        return max(j.completed for j in self.jobs) - min(j.submitted for j in self.jobs)

    @property
    def value(self) -> float:
        """Worth of the completions, divided by that of completing without any wait."""
        pairs = [job.worth for job in self.jobs if job.worth is not None]
        best = sum(at_once for _, at_once in pairs)
        return sum(got for got, _ in pairs) / best if best > 0 else 1.0

    @property
    def parkings(self) -> int:
        """How often its jobs were parked."""
        return sum(job.parkings for job in self.jobs)

    @property
    def wrong_steps(self) -> int:
        """Steps that were lost or repeated."""
        return sum(job.missing_steps + job.repeated_steps for job in self.jobs)


class Ratio(Struct, frozen=True, kw_only=True):
    """Two orders by one measure: the mean over the seeds of the one divided by that of the other.

    Attributes:
        measure: One of ``MEASURES``.
        of: The one order.
        to: The other one.
        live: Live.
        simulated: In the simulator.
    """

    measure: str
    of: str
    to: str
    live: float
    simulated: float

    @property
    def off(self) -> float:
        """By which part the live ratio differs from the simulated one."""
        return self.live / self.simulated - 1.0


def start_seconds(outcomes: Sequence[Outcome]) -> float:
    """Return the median time from a place on a node to the first step, of jobs that ran live."""
    jobs = [job for outcome in outcomes if outcome.how == LIVE for job in outcome.jobs]
    took = [j.began - j.placed for j in jobs if j.began is not None and j.placed is not None]
    return max(0.0, median(took)) if took else 0.0


def end_seconds(outcomes: Sequence[Outcome]) -> float:
    """Return the median time from a completion to the end of the job's pods, likewise."""
    jobs = [job for outcome in outcomes if outcome.how == LIVE for job in outcome.jobs]
    took = [job.gone - job.completed for job in jobs if job.gone is not None]
    return max(0.0, median(took)) if took else 0.0


def mean_of(outcomes: Sequence[Outcome], how: str, order: str, measure: str) -> float:
    """Return the mean of a measure over the seeds.

    Raises:
        statistics.StatisticsError: There is no such run.
    """
    runs = [run for run in outcomes if (run.how, run.order) == (how, order)]
    return fmean(getattr(run, measure) for run in runs)


def ratios(outcomes: Sequence[Outcome]) -> tuple[Ratio, ...]:
    """Return each pair of orders by each measure."""
    orders = list(dict.fromkeys(run.order for run in outcomes))
    return tuple(
        Ratio(
            measure=measure,
            of=later,
            to=earlier,
            live=_ratio(outcomes, LIVE, measure, later, earlier),
            simulated=_ratio(outcomes, SIMULATED, measure, later, earlier),
        )
        for measure in MEASURES
        for earlier, later in combinations(orders, 2)
    )


def _ratio(outcomes: Sequence[Outcome], how: str, measure: str, of: str, to: str) -> float:
    return mean_of(outcomes, how, of, measure) / mean_of(outcomes, how, to, measure)


def row(outcome: Outcome) -> dict[str, Any]:
    """Return a run as a row of results: its jobs and its measures."""
    fields: dict[str, Any] = msgspec.to_builtins(outcome)
    return {
        **fields,
        **{name: round(getattr(outcome, name), 4) for name in MEASURES},
        "parkings": outcome.parkings,
        "wrong_steps": outcome.wrong_steps,
    }


def read(rows: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    """Return the runs of rows that ``row`` made."""
    return msgspec.convert(rows, list[Outcome])


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the lines of two tables: the orders, then their ratios live and simulated."""
    orders = list(dict.fromkeys(run.order for run in outcomes))
    seeds = len({run.seed for run in outcomes})
    lines = [
        f"| {seeds} seeds | mean s | sim. | makespan s | sim. | value | sim. | parkings | sim. |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for order in orders:
        cells = [
            f"{mean_of(outcomes, how, order, measure):.{2 if measure == 'value' else 1}f}"
            for measure in (*MEASURES, "parkings")
            for how in (LIVE, SIMULATED)
        ]
        lines.append(f"| `{order}` | {' | '.join(cells)} |")
    lines += ["", "| ratio | by | live | simulated | live is off by |", "|---|---|---|---|---|"]
    lines += [
        f"| `{r.of}` / `{r.to}` | {r.measure} | {r.live:.2f} | {r.simulated:.2f} | "
        f"{100 * r.off:+.0f} % |"
        for r in ratios(outcomes)
    ]
    return lines
