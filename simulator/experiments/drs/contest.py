"""Runs schedulers on the same jobs, and measures them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.elastic import ScalingParameters
from simulator import numbers, seeds
from simulator.baselines.dragon import Dragon, DragonParameters, TfOperator
from simulator.experiments.drs import setting
from simulator.experiments.drs.scaler import Scaler
from simulator.experiments.drs.setting import Assumed
from simulator.experiments.registry import Options
from simulator.models.parameter_server import Done, Scheduler, run
from simulator.numbers import Spread

CLAIM: Final = 26.56
"""Claimed best gain of DRS over DRAGON and the training operator, in percent."""
EQUAL: Final = 0.5
"""Percent by which a makespan may be longer and still count as equal."""


@dataclass(frozen=True)
class Contestant:
    """A named scheduler: the training operator, DRAGON, or the policy with parameters."""

    name: str
    how: DragonParameters | ScalingParameters | None = None
    any_worker: bool = True

    def scheduler(self, engine: CoreParameters) -> Scheduler:
        """Return a new scheduler for one run."""
        if isinstance(self.how, DragonParameters):
            return Dragon(self.how)
        if isinstance(self.how, ScalingParameters):
            return Scaler(self.how, engine, any_worker=self.any_worker)
        return TfOperator()


def contestants(params: ScalingParameters) -> tuple[Contestant, ...]:
    """Return the five compared schedulers; the last is the policy as configured."""
    printed = replace(
        params, marginal_gain=False, start_with_fewer=False, starvation_seconds=None, reserve=False
    )
    gaining = replace(params, starvation_seconds=None)
    return (
        DRAGON,
        Contestant("tf-operator"),
        Contestant("DRS", printed),
        Contestant("DRS-m", gaining),
        Contestant("DRS-ms", params),
    )


DRAGON: Final = Contestant("DRAGON", DragonParameters())


@dataclass(frozen=True)
class Case:
    """One run per seed: a scheduler on an experiment at a speed."""

    contestant: Contestant
    speed: str
    experiment: int
    assumed: Assumed = field(default_factory=Assumed)


@dataclass(frozen=True)
class Figures:
    """Measures of one run, in seconds except ``rescales``.

    Attributes:
        makespan: From the first arrival to the last end.
        mean: Mean time from arrival to end.
        weighted: The same, weighted with the utilities.
        urgent: Time of the important job of experiment 3; otherwise of the last job.
        rescales: Number of changes of a job's workers.
    """

    makespan: float
    mean: float
    weighted: float
    urgent: float
    rescales: float


MEASURES: Final[Mapping[str, str]] = {
    "makespan": "makespan",
    "mean": "mean job time",
    "weighted": "mean job time weighted with the utilities",
}


def figures(done: Sequence[Done]) -> Figures:
    """Return the measures of a run."""
    weights = sum(job.job.utility for job in done)
    return Figures(
        makespan=max(job.ended_at for job in done),
        mean=sum(job.seconds for job in done) / len(done),
        weighted=sum(job.job.utility * job.seconds for job in done) / weights,
        urgent=next(job.seconds for job in done if job.job.name == setting.URGENT),
        rescales=sum(job.rescales for job in done),
    )


def one_seed(cases: Sequence[Case], engine: CoreParameters, seed: int) -> tuple[Figures, ...]:
    """Return the figures of every case for one seed."""
    return tuple(_run(case, engine, seed) for case in cases)


def _run(case: Case, engine: CoreParameters, seed: int) -> Figures:
    jobs = setting.jobs(seed, case.experiment, case.speed, case.assumed)
    scheduler = case.contestant.scheduler(engine)
    return figures(run(jobs, setting.NODES, scheduler, setting.TICK_SECONDS))


class Results:
    """The figures of cases over the same seeds."""

    def __init__(self, figures: Mapping[Case, Sequence[Figures]]) -> None:
        self._found = figures

    def values(self, case: Case, measure: str) -> list[float]:
        """Return one figure for each seed."""
        return [float(getattr(run_, measure)) for run_ in self._found[case]]

    def spread(self, case: Case, measure: str) -> Spread:
        """Return the mean of a figure over seeds."""
        return numbers.spread(self.values(case, measure))

    def gains(self, case: Case, measure: str = "makespan") -> list[float]:
        """Return by how many percent a figure is below DRAGON's, seed by seed."""
        against = self.values(replace(case, contestant=DRAGON), measure)
        pairs = zip(self.values(case, measure), against, strict=True)
        return [numbers.gain(value, reference) for value, reference in pairs]

    def gain(self, case: Case, measure: str = "makespan") -> Spread:
        """Return the mean of the gains."""
        return numbers.spread(self.gains(case, measure))

    def share(self, case: Case, least: float, measure: str = "makespan") -> float:
        """Return on how many percent of the seeds the gain is at least this."""
        gains = self.gains(case, measure)
        return 100.0 * sum(gain >= least for gain in gains) / len(gains)

    def worse(self, case: Case) -> float:
        """Return on how many percent of the seeds the makespan is longer than DRAGON's."""
        gains = self.gains(case)
        return 100.0 * sum(gain < -EQUAL for gain in gains) / len(gains)


def contest(cases: Sequence[Case], chosen: Sequence[int], options: Options, what: str) -> Results:
    """Run all cases on all seeds; DRAGON is added wherever it is not a case."""
    with_dragon = tuple(
        dict.fromkeys(case_ for case in cases for case_ in (replace(case, contestant=DRAGON), case))
    )
    run_seed = partial(one_seed, with_dragon, options.parameters)
    rows = seeds.over(run_seed, chosen, what, options.processes)
    return Results({case: [row[i] for row in rows] for i, case in enumerate(with_dragon)})
