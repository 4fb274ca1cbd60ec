"""OASiS, Fig. 6: influence of the price bounds, and alternatives to the printed ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from extender.core.cluster.utility import Utility
from extender.core.decisionlog.replay import parameters_hash
from extender.core.pricing import price_bounds
from extender.core.pricing.price_bounds import Bounds
from simulator import seeds
from simulator.experiments.oasis import contest, pictures
from simulator.experiments.oasis.contest import KAPPA, kappa, listed, planned, printed
from simulator.experiments.oasis.paper import ESTIMATED, ESTIMATES, JOBS, SOURCE
from simulator.experiments.oasis.planned import normalised_jobs
from simulator.experiments.oasis.workload import ASSUMPTIONS, Setting
from simulator.experiments.registry import Options
from simulator.models.slot_world import SlotWorkload
from simulator.numbers import Spread, spread
from simulator.results import Beside, Outcome, Table

TITLE: Final = "OASiS: wrong estimates and other choices of the price bounds (Fig. 6)"
NAME: Final = "oasis-bounds"
SEEDS: Final = 40
SETTINGS: Final = tuple(Setting(jobs) for jobs in JOBS)
SWEEP: Final = (1e2, 1e3, 3e3, 1e4, 2.5e4, 5e4, 1.5e5, 2.5e5, 5e5, 1e6, 1e7, 1e8)
"""Values of κ; they include ``KAPPA`` times each of ``ESTIMATES``."""
WRONG_U: Final = (0.2, 10.0)
QUANTILES: Final = (0.1, 0.25, 0.4, 0.5)
WORTHLESS: Final = 1e-3
"""Share of a job's utility at its arrival below which a completion counts 0."""
_PRINTED: Final = "printed (23)-(26)"
_PRINTED_CUT: Final = "printed, and what is worth less than 0.001 of its best counts 0"

Utilities = dict[str, list[list[float]]]
"""Bounds → number of jobs → seed → total utility."""


def run(options: Options) -> Outcome:
    """Sweep κ = U/L, scale U alone, and try the printed bounds and quantiles of past jobs."""
    chosen = seeds.seeds(seeds.IN_SAMPLE, options.seeds or SEEDS)
    runs = seeds.over(partial(_run_seed, options), chosen, TITLE, options.processes)
    utilities = {
        name: [[run_[at][name] for run_ in runs] for at in range(len(JOBS))] for name in runs[0][0]
    }
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{SOURCE}, Fig. 6",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("κ was chosen on a few of these", chosen[0], chosen[-1]),),
        assumptions=(
            *ASSUMPTIONS,
            (
                "100 % of U/L stands for κ = 5·10⁴: with the printed bounds a factor of 0.2 to 10 "
                "changes next to nothing. The wrong factor is on L."
            ),
        ),
        findings=tuple(_findings(utilities)),
        tables=(_estimates(utilities), _sweep(utilities), _others(utilities)),
        series={
            "kappa": list(SWEEP),
            "utility": {
                f"{jobs} jobs": [spread(utilities[_kappa(k)][at]).mean for k in SWEEP]
                for at, jobs in enumerate(JOBS)
            },
        },
        parameters=parameters_hash(options.parameters),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw total utility by κ, with a line per number of jobs."""
    with pictures.figure(path) as chart:
        axes = chart.add_subplot()
        pictures.lines(axes, outcome.series["kappa"], outcome.series["utility"])
        axes.set_xscale("log")
        axes.set_xlabel("κ = U/L")
        axes.set_ylabel("total utility")


def _run_seed(options: Options, seed: int) -> list[dict[str, float]]:
    by_setting = []
    for setting in SETTINGS:
        workload, past = contest.workload(seed, setting), contest.past(seed, setting)
        learnt = normalised_jobs(past)
        bounds = {_kappa(ratio): kappa(workload, ratio) for ratio in SWEEP}
        bounds |= {_scaled(factor): _wrong_u(kappa(workload), factor) for factor in WRONG_U}
        bounds[_PRINTED] = printed(workload)
        for share in QUANTILES:
            params = replace(options.parameters.price_bounds, low_quantile=share)
            bounds[_quantile(share)] = price_bounds.quantile_reserve(learnt, params)
        reached = {name: planned(workload, prices).utility for name, prices in bounds.items()}
        reached[_PRINTED_CUT] = planned(_cut(workload), bounds[_PRINTED]).utility
        by_setting.append(reached)
    return by_setting


@dataclass(frozen=True)
class _Cut:
    """A utility with tiny values cut to 0."""

    whole: Utility

    def of(self, duration: float) -> float:
        """Return the utility, or 0."""
        value = self.whole.of(duration)
        return value if value >= WORTHLESS * self.whole.of(0.0) else 0.0


def _cut(workload: SlotWorkload) -> SlotWorkload:
    jobs = tuple(replace(job, utility=_Cut(job.utility)) for job in workload.jobs)
    return replace(workload, jobs=jobs)


def _wrong_u(bounds: Bounds, factor: float) -> Bounds:
    return replace(
        bounds,
        log_high_workers=bounds.log_high_workers + np.log(factor),
        log_high_servers=bounds.log_high_servers + np.log(factor),
    )


def _kappa(ratio: float) -> str:
    return f"κ = {ratio:g}"


def _scaled(factor: float) -> str:
    return f"U times {factor:g}"


def _quantile(share: float) -> str:
    return f"L the {share:g} quantile of past jobs"


def _relative(utilities: Utilities, name: str, at: int) -> Spread:
    """Return the utility divided by that of κ = 5·10⁴, seed by seed."""
    pairs = zip(utilities[name][at], utilities[_kappa(KAPPA)][at], strict=True)
    return spread(reached / reference for reached, reference in pairs)


def _estimates(utilities: Utilities) -> Table:
    return Table(
        "Utility with a wrong estimate of U/L, divided by that with the right value: ours / paper",
        ("jobs", *(f"{100 * factor:g} %" for factor in ESTIMATES)),
        tuple(
            (
                jobs,
                *(
                    Beside(
                        _relative(utilities, _kappa(KAPPA * factor), at),
                        printed_utility / ESTIMATED[jobs][ESTIMATES.index(1.0)],
                    )
                    for factor, printed_utility in zip(ESTIMATES, ESTIMATED[jobs], strict=True)
                ),
            )
            for at, jobs in enumerate(JOBS)
        ),
        digits=2,
    )


def _sweep(utilities: Utilities) -> Table:
    return Table(
        "Total utility by κ = U/L, L = U/κ",
        ("κ", *(f"{jobs} jobs" for jobs in JOBS)),
        tuple(
            (f"{ratio:g}", *(spread(values) for values in utilities[_kappa(ratio)]))
            for ratio in SWEEP
        ),
    )


def _others(utilities: Utilities) -> Table:
    names = (
        _kappa(KAPPA),
        _PRINTED,
        _PRINTED_CUT,
        *(_quantile(share) for share in QUANTILES),
        *(_scaled(factor) for factor in WRONG_U),
    )
    return Table(
        "Total utility with other bounds",
        ("bounds", *(f"{jobs} jobs" for jobs in JOBS)),
        tuple((name, *(spread(values) for values in utilities[name])) for name in names),
        note="Quantiles are of another sample of as many jobs. U alone: L stays as it was.",
    )


def _findings(utilities: Utilities) -> Iterator[str]:
    most = len(JOBS) - 1
    half, tenfold = (_relative(utilities, _kappa(KAPPA * x), most).mean for x in (0.5, 10.0))
    right = ESTIMATED[JOBS[most]][ESTIMATES.index(1.0)]
    yield (
        f"At {JOBS[most]} jobs half of U/L gives {half:.2f} times the utility (printed "
        f"{ESTIMATED[JOBS[most]][1] / right:.2f}) and tenfold {tenfold:.2f} (printed "
        f"{ESTIMATED[JOBS[most]][-1] / right:.2f})."
    )
    kappas = ", ".join(f"{_best(utilities, at):g}" for at in range(len(JOBS)))
    yield (
        f"The best κ is {kappas} for {', '.join(map(str, JOBS))} jobs: smaller, and the reserve "
        "price turns most jobs away; larger, and prices stay near 0 until a server is full."
    )
    changes = [
        abs(_relative(utilities, _scaled(factor), at).mean - 1.0)
        for factor in WRONG_U
        for at in range(len(JOBS))
    ]
    yield (
        f"U alone, wrong by 0.2 or 10, changes the utility by {100 * max(changes):.0f} % at most: "
        "the reserve price L is what matters."
    )
    short, cut = (
        [_relative(utilities, name, at).mean for at in range(len(JOBS))]
        for name in (_PRINTED, _PRINTED_CUT)
    )
    yield (
        f"The printed bounds reach {listed(short)} of the utility of κ = 5·10⁴: L is so low that "
        "prices stay near 0, and that jobs are admitted whose completion is worth next to nothing. "
        f"If such a completion counts 0, they reach {listed(cut)}."
    )
    for share in QUANTILES:
        reached = [_relative(utilities, _quantile(share), at).mean for at in range(len(JOBS))]
        yield f"With L the {share:g} quantile of past jobs it is {listed(reached)}."


def _best(utilities: Utilities, at: int) -> float:
    return max(SWEEP, key=lambda ratio: (spread(utilities[_kappa(ratio)][at]).mean, -ratio))
