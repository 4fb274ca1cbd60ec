"""Lateness (actual minus target completion), as in the boxes of Fig. 4 and Fig. 9."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.cluster.utility import Sigmoid
from extender.core.pricing.training_job import TrainingJob
from simulator.models.slot_world import SlotRun, SlotWorkload
from simulator.numbers import Spread, quantile, spread
from simulator.results import Cell

CRITICAL: Final = 4.0
"""γ2 from which a job is time-critical."""


@dataclass(frozen=True)
class Late:
    """Lateness of one job in one run.

    Attributes:
        slots: Completion (T if unfinished) minus arrival minus γ3.
        finished: Whether it completed.
        critical: Whether it is time-critical.
    """

    slots: float
    finished: bool
    critical: bool


def late_jobs(workload: SlotWorkload, run: SlotRun) -> list[Late]:
    """Return the lateness of each job."""
    return [
        Late(
            (workload.cluster.horizon if end is None else end) - job.arrival - sigmoid(job).target,
            end is not None,
            sigmoid(job).decay >= CRITICAL,
        )
        for job, end in zip(workload.jobs, run.completions, strict=True)
    ]


def sigmoid(job: TrainingJob) -> Sigmoid:
    """Return the job's utility, which has a target here.

    Raises:
        TypeError: It is another kind of utility.
    """
    if not isinstance(job.utility, Sigmoid):
        raise TypeError(f"{job.name}: expected a sigmoid utility, which has a target")
    return job.utility


def quartiles(
    by_seed: Sequence[Sequence[Late]], among: Callable[[Late], bool]
) -> tuple[Spread, Spread, Spread] | None:
    """Return first quartile, median and third quartile over seeds; None without such jobs."""
    chosen = [[late.slots for late in jobs if among(late)] for jobs in by_seed]
    non_empty = [jobs for jobs in chosen if jobs]
    if not non_empty:
        return None
    low, middle, high = (spread(quantile(jobs, q) for jobs in non_empty) for q in (0.25, 0.5, 0.75))
    return low, middle, high


HEAD: Final = ("first quartile", "paper", "median", "paper", "third quartile", "paper")


def cells(
    box: tuple[Spread, Spread, Spread] | None, printed: Sequence[float] | None
) -> tuple[Cell, ...]:
    """Return quartiles, each followed by the printed one, without a ratio as values may be 0."""
    ours: Sequence[Cell] = box if box is not None else (None,) * 3
    papers: Sequence[Cell] = printed if printed is not None else (None,) * 3
    return tuple(cell for pair in zip(ours, papers, strict=True) for cell in pair)


def share(
    by_seed: Sequence[Sequence[Late]], among: Callable[[Late], bool], of_all: Callable[[Late], bool]
) -> Spread:
    """Return the percentage of the jobs ``of_all`` that are ``among``, over seeds."""
    return spread(
        100.0 * sum(among(late) for late in jobs if of_all(late)) / sum(map(of_all, jobs))
        for jobs in by_seed
    )
