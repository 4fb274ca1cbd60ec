"""OASiS, Figs. 8 and 9: twelve jobs on nine servers, utility and lateness."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from extender.core.decisionlog.replay import parameters_hash
from simulator import seeds
from simulator.experiments.oasis import lateness, pictures, testbed
from simulator.experiments.oasis.contest import DENSITY, FOUR, OASIS, PRINTED, QUANTILE, RUNNERS
from simulator.experiments.oasis.lateness import Late
from simulator.experiments.oasis.paper import SOURCE, TESTBED_LATENESS, TESTBED_UTILITY
from simulator.experiments.registry import Options
from simulator.numbers import spread
from simulator.results import Beside, Outcome, Table

TITLE: Final = "OASiS: the testbed, twelve jobs in ten slots (Figs. 8 and 9)"
NAME: Final = "oasis-testbed"
SEEDS: Final = 40
SHOWN: Final = (OASIS, QUANTILE, PRINTED, *FOUR, DENSITY)
_OURS: Final = {OASIS, QUANTILE, PRINTED}
_JOBS: Final = 3
_PAST: Final = 4
_PAST_SAMPLES: Final = 8

BySeed = Sequence[Mapping[str, tuple[float, list[Late]]]]
"""Seed → name → total utility and lateness of each job."""


def run(options: Options) -> Outcome:
    """Run all policies on twelve drawn jobs."""
    chosen = seeds.seeds(seeds.IN_SAMPLE, options.seeds or SEEDS)
    by_seed = seeds.over(partial(_run_seed, options), chosen, TITLE, options.processes)
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{SOURCE}, Figs. 8 and 9",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("nothing was chosen by these", chosen[0], chosen[-1]),),
        assumptions=testbed.ASSUMPTIONS,
        findings=tuple(_findings(by_seed)),
        tables=(_utilities(by_seed), _lateness(by_seed)),
        series={"utility": {name: _utility(by_seed, name) for name in SHOWN}},
        parameters=parameters_hash(options.parameters),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the total utilities."""
    with pictures.figure(path) as chart:
        axes = chart.add_subplot()
        utilities: Mapping[str, float] = outcome.series["utility"]
        axes.bar(range(len(utilities)), list(utilities.values()), 0.7, color=pictures.COLOURS)
        axes.set_xticks(range(len(utilities)), list(utilities), rotation=15)
        axes.set_ylabel("total utility")
        axes.spines[["top", "right"]].set_visible(False)


def _run_seed(options: Options, seed: int) -> dict[str, tuple[float, list[Late]]]:
    jobs = testbed.draw(seeds.generator(seed, _JOBS))
    samples = [testbed.draw(seeds.generator(seed, _PAST, n)) for n in range(_PAST_SAMPLES)]
    past = type(jobs)(
        tuple(job for sample in samples for job in sample.jobs),
        tuple(width for sample in samples for width in sample.widths),
        jobs.cluster,
    )
    runs = {name: RUNNERS[name](jobs, past, options.parameters) for name in SHOWN}
    return {name: (run.utility, lateness.late_jobs(jobs, run)) for name, run in runs.items()}


def _utility(by_seed: BySeed, name: str) -> float:
    return spread(runs[name][0] for runs in by_seed).mean


def _utilities(by_seed: BySeed) -> Table:
    return Table(
        "Total utility of twelve jobs, ours ± deviation / paper (ratio)",
        ("policy", "utility", "/ OASiS"),
        tuple(
            (
                name,
                Beside(spread(runs[name][0] for runs in by_seed), TESTBED_UTILITY.get(name)),
                f"{_utility(by_seed, name) / _utility(by_seed, OASIS):.2f}",
            )
            for name in SHOWN
        ),
    )


def _lateness(by_seed: BySeed) -> Table:
    rows = []
    for name in SHOWN:
        late = [runs[name][1] for runs in by_seed]
        among = _finished if name in _OURS else _any
        box = lateness.quartiles(late, among)
        cells = lateness.cells(box, TESTBED_LATENESS.get(name))
        rows.append((name, *cells, lateness.share(late, _finished, _any)))
    return Table(
        "Actual minus target completion in slots",
        ("policy", *lateness.HEAD, "finished, %"),
        tuple(rows),
        digits=1,
        note="OASiS: the jobs it admits; the others: all jobs, unfinished ones as if done at T.",
    )


def _any(_late: Late) -> bool:
    return True


def _finished(late: Late) -> bool:
    return late.finished


def _findings(by_seed: BySeed) -> Iterator[str]:
    named = [OASIS, *FOUR]
    ours = sorted(named, key=lambda name: -_utility(by_seed, name))
    theirs = sorted(named, key=lambda name: -TESTBED_UTILITY[name])
    yield f"By utility: {', '.join(ours)}; printed: {', '.join(theirs)}."
    best = max(FOUR, key=lambda name: _utility(by_seed, name))
    yield (
        f"OASiS (κ = 5·10⁴) has {_utility(by_seed, OASIS) / _utility(by_seed, best):.2f} times the "
        f"utility of {best}, the best of the four (printed "
        f"{TESTBED_UTILITY[OASIS] / max(TESTBED_UTILITY[name] for name in FOUR):.2f}); with the "
        f"printed bounds {_utility(by_seed, PRINTED) / _utility(by_seed, best):.2f} times, and "
        f"density greedy has {_utility(by_seed, DENSITY) / _utility(by_seed, best):.2f} times."
    )
    yield (
        "Two servers of eight cores carry all parameter servers, so that few workers run at a "
        "time. What the twelve jobs were is not printed: the level cannot be compared, the order "
        "of the policies can."
    )
