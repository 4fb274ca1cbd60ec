"""What a rule changes against the default scheduler, which never moves anything, on one seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from msgspec import Struct

from shared.model import Uid
from simulator.experiments.specon.job_classes import SharingModel
from simulator.experiments.specon.movers import Tally
from simulator.experiments.specon.scenarios import NOISE, Scenario, tasks
from simulator.experiments.specon.variants import Variant
from simulator.models.fluid import Fluid, Run, Task
from simulator.numbers import gain

SAME: Final = 1e-6
"""Seconds: ends that differ by less are the same."""


class Measures(Struct, frozen=True):
    """One rule on one seed; gains in % of the default scheduler's, more is better.

    Attributes:
        mean: Gain of the mean job time, submission to end.
        makespan: Gain of the time from the first start to the last end.
        faster: Part of the jobs that ended earlier, in %.
        slower: Part that ended later.
        best: Largest gain of one job.
        winners: Mean gain of the faster jobs; 0 if there is none.
        losers: Mean loss of the slower ones, positive.
        nearly: Gain of the mean time to 95 % of the loss reduction.
        mean_seconds: Mean job time.
        makespan_seconds: Makespan.
        requests: Requests to Algorithm 2.
        moves: Moves it ordered.
        stays: Tasks it left where they were.
        balances: Moves by Algorithm 3 or by count balancing.
    """

    mean: float
    makespan: float
    faster: float
    slower: float
    best: float
    winners: float
    losers: float
    nearly: float
    mean_seconds: float
    makespan_seconds: float
    requests: int = 0
    moves: int = 0
    stays: int = 0
    balances: int = 0


@dataclass(frozen=True)
class Times:
    """Seconds of every job from submission, in order of submission."""

    to_end: Mapping[Uid, float]
    nearly: Mapping[Uid, float]
    makespan: float


Pair = tuple[float, float]
"""Seconds of one job under the default scheduler, and under a rule."""


@dataclass(frozen=True)
class Case:
    """A rule on a workload."""

    scenario: Scenario
    model: SharingModel
    variant: Variant | None


def times(run: Run, jobs: Sequence[Task]) -> Times:
    """Return the times of a run."""
    return Times(
        to_end={job.uid: run.ended[job.uid] - job.arrives_at for job in jobs},
        nearly={job.uid: run.nearly[job.uid] - job.arrives_at for job in jobs},
        makespan=max(run.ended.values()) - min(job.arrives_at for job in jobs),
    )


def played(case: Case, jobs: Sequence[Task]) -> tuple[Times, Tally]:
    """Run one rule, or the default scheduler where there is none."""
    hosts, slowdown = case.scenario.host_names, case.model.slowdown
    if case.variant is None:
        return times(Fluid(jobs, hosts, slowdown=slowdown).play(), jobs), Tally()
    pause_seconds = case.variant.pause_seconds
    fluid = Fluid(jobs, hosts, pause_seconds=pause_seconds, slowdown=slowdown)
    rules, weighing, tally = case.variant.rules()
    run = fluid.play(rules, weighing, case.variant.convergence.interval_seconds)
    return times(run, jobs), tally


def compared(default: Times, found: Times, tally: Tally) -> Measures:
    """Return what a rule changed."""
    before, after = list(default.to_end.values()), list(found.to_end.values())
    gains = [gain(a, b) for a, b in zip(after, before, strict=True)]
    won = [g for g, a, b in zip(gains, after, before, strict=True) if a < b - SAME]
    lost = [-g for g, a, b in zip(gains, after, before, strict=True) if a > b + SAME]
    return Measures(
        mean=gain(fmean(after), fmean(before)),
        makespan=gain(found.makespan, default.makespan),
        faster=100.0 * len(won) / len(gains),
        slower=100.0 * len(lost) / len(gains),
        best=max(gains),
        winners=fmean(won) if won else 0.0,
        losers=fmean(lost) if lost else 0.0,
        nearly=gain(fmean(found.nearly.values()), fmean(default.nearly.values())),
        mean_seconds=fmean(after),
        makespan_seconds=found.makespan,
        requests=tally.requests,
        moves=tally.moves,
        stays=tally.stays,
        balances=tally.balances,
    )


def measured(cases: Sequence[Case], seed: int) -> list[Measures]:
    """Run all cases on one seed, in the order given."""
    return [compared(*one) for one in _both(cases, seed)]


def pairs(cases: Sequence[Case], seed: int) -> list[list[Pair]]:
    """Run all cases on one seed; return the times of each job, in order of submission."""
    return [
        list(zip(default.to_end.values(), found.to_end.values(), strict=True))
        for default, found, _ in _both(cases, seed)
    ]


def _both(cases: Sequence[Case], seed: int) -> Iterator[tuple[Times, Times, Tally]]:
    """Yield the default scheduler's times, the rule's, and what it did; each is run once."""
    drawn: dict[tuple[str, str, float], tuple[Task, ...]] = {}
    defaults: dict[tuple[str, str], Times] = {}
    for case in cases:
        noise = case.variant.noise if case.variant else NOISE
        where = (case.scenario.name, case.model.name)
        key = (*where, noise)
        if key not in drawn:
            drawn[key] = tasks(case.scenario, case.model, seed, noise)
        if where not in defaults:
            defaults[where], _ = played(Case(case.scenario, case.model, None), drawn[key])
        default = defaults[where]
        yield default, *(played(case, drawn[key]) if case.variant else (default, Tally()))
