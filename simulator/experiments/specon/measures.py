"""Gains of rules against the default scheduler, which moves nothing, over many seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Final

from msgspec import Struct

from extender.core.decisionlog.replay import parameters_hash
from shared.model import Uid
from simulator import seeds
from simulator.experiments.registry import Options
from simulator.experiments.specon.rules import Tally
from simulator.experiments.specon.scenarios import NOISE, Scenario, SharingModel, tasks
from simulator.experiments.specon.variants import Variant
from simulator.models.fluid import Fluid
from simulator.models.fluid_tasks import Run, Task
from simulator.numbers import Spread, gain, spread
from simulator.results import Beside, Cell

SAME: Final = 1e-6
"""Completions that differ by fewer seconds count as equal."""


class Measures(Struct, frozen=True):
    """Measures of one rule on one seed; gains in % of the default scheduler's, more is better.

    Attributes:
        mean: Gain of the mean job time, submission to end.
        makespan: Gain of the time from the first start to the last end.
        faster: Share of the jobs that ended earlier, in %.
        slower: Share of the jobs that ended later, in %.
        best: Largest gain of one job.
        winners: Mean gain of the faster jobs; 0 if there is none.
        losers: Mean loss of the slower ones, positive.
        nearly: Gain of the mean time to 95 % of the loss reduction.
        mean_seconds: Mean job time.
        makespan_seconds: Makespan.
        requests: Requests to Algorithm 2.
        moves: Moves by Algorithm 2.
        stays: Tasks that Algorithm 2 left where they were.
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


def compared(default: Times, changed: Times, tally: Tally) -> Measures:
    """Return the measures of a rule against the default scheduler."""
    before, after = list(default.to_end.values()), list(changed.to_end.values())
    gains = [gain(a, b) for a, b in zip(after, before, strict=True)]
    won = [g for g, a, b in zip(gains, after, before, strict=True) if a < b - SAME]
    lost = [-g for g, a, b in zip(gains, after, before, strict=True) if a > b + SAME]
    return Measures(
        mean=gain(fmean(after), fmean(before)),
        makespan=gain(changed.makespan, default.makespan),
        faster=100.0 * len(won) / len(gains),
        slower=100.0 * len(lost) / len(gains),
        best=max(gains),
        winners=fmean(won) if won else 0.0,
        losers=fmean(lost) if lost else 0.0,
        nearly=gain(fmean(changed.nearly.values()), fmean(default.nearly.values())),
        mean_seconds=fmean(after),
        makespan_seconds=changed.makespan,
        requests=tally.requests,
        moves=tally.moves,
        stays=tally.stays,
        balances=tally.balances,
    )


def measured(cases: Sequence[Case], seed: int) -> list[Measures]:
    """Run all cases on one seed, in the order given."""
    return [compared(*pair) for pair in _both(cases, seed)]


def pairs(cases: Sequence[Case], seed: int) -> list[list[Pair]]:
    """Run all cases on one seed; return the times of each job, in order of submission."""
    return [
        list(zip(default.to_end.values(), changed.to_end.values(), strict=True))
        for default, changed, _ in _both(cases, seed)
    ]


def _both(cases: Sequence[Case], seed: int) -> Iterator[tuple[Times, Times, Tally]]:
    """Yield the times of the default scheduler and of the rule, and the rule's tally."""
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


SEEDS: Final = 60
SOURCE: Final = "Mao et al., IEEE Systems Journal 2021, arXiv 2010.11307"
ASSUMPTIONS: Final = (
    (
        "A worker is a unit of CPU that the jobs on it share equally, each up to its own limit; a "
        "job is an amount of work. The paper gives no job lengths. Model W (all can use a "
        "whole worker, lengths spread over 4:1) was fitted to the paper's levels and gains, so its "
        "agreement is a fit; T (most jobs use 0.3 of a worker) to its levels only, so its gains "
        "are predictions."
    ),
    "The two frameworks differ by ±30 % (W) or ±25 % (T) in work, one job from another by ±10 %.",
    (
        "The loss falls exponentially: steepness 5.2 (VAE), 19.6 (Bi-RNN), 11.5 (GRU) as figure 1 "
        "has it, 15 for RNN and dynamic RNN; ±10 %. A VAE's ends at 0.64 of its first value, the "
        "others' at 0.1; reported after each of 200 iterations with a relative noise of 0.003."
    ),
    "Growth is relative to the previous value; a tick without a new value does not count.",
    "A move stops a job for 5 s, and jobs are placed round robin, as in the paper.",
    "Only the rules themselves limit moves: no budget, no rest period, no test of the gain.",
)
"""Assumptions of the model; experiments state further ones."""

VARIANTS: Final = (
    "B is Algorithms 1 to 3 with their mistakes corrected; where the paper's text and its example "
    "differ, as in the example (a request as soon as a job is converged, one faster peer is "
    "enough). S is the same as the pseudo-code has it."
)
Row = tuple[Cell, ...]


class Columns:
    """Measures of cases over seeds.

    Attributes:
        used: First and last seed.
        digest: Digest of the extender's parameters.
    """

    def __init__(
        self,
        cases: Mapping[str, Case],
        options: Options,
        what: str,
        *,
        first: int = seeds.IN_SAMPLE,
        count: int = SEEDS,
    ) -> None:
        chosen = seeds.seeds(first, options.seeds or count)
        run = partial(measured, tuple(cases.values()))
        by_seed = seeds.over(run, chosen, what, options.processes)
        self.used = (chosen[0], chosen[-1])
        self.digest = parameters_hash(options.parameters)
        self._found = {name: [row[i] for row in by_seed] for i, name in enumerate(cases)}

    def measures(self, case: str) -> Sequence[Measures]:
        """Return a case's measures, in the order of the seeds."""
        return self._found[case]

    def values(self, case: str, field: str) -> list[float]:
        """Return one field of a case, in the order of the seeds."""
        return [float(getattr(measures, field)) for measures in self._found[case]]

    def spread(self, case: str, field: str) -> Spread:
        """Return one field of a case over the seeds."""
        return spread(self.values(case, field))

    def beside(self, case: str, field: str, paper: float | None) -> Beside:
        """Return one field of a case over the seeds, beside the printed number."""
        return Beside(self.spread(case, field), paper)

    def reached(self, case: str, field: str, paper: float) -> float:
        """Return on how many % of the seeds a field is at least the printed number."""
        values = self.values(case, field)
        return 100.0 * sum(value >= paper for value in values) / len(values)
