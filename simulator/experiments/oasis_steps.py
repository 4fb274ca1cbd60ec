"""OASiS beyond the paper: other reserve prices, replanning, co-location."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from extender.core.decisionlog.replay import parameters_hash
from simulator import seeds
from simulator.experiments.oasis import contest, pictures
from simulator.experiments.oasis.contest import (
    ADMITTED_FIRST,
    COLOCATED,
    COLOCATED_GBPS,
    DENSITY,
    OASIS,
    PAST,
    QUANTILE,
    SORTED,
    WITHOUT_COMMITMENT,
    Runs,
    listed,
    ratios,
    utilities,
)
from simulator.experiments.oasis.paper import JOBS, SOURCE
from simulator.experiments.oasis.workload import ASSUMPTIONS, Setting
from simulator.experiments.registry import Options
from simulator.results import Outcome, Table

TITLE: Final = "OASiS: steps beyond the paper"
NAME: Final = "oasis-steps"
SEEDS: Final = 40
SETTINGS: Final = tuple(Setting(jobs) for jobs in JOBS)
NAMES: Final = (
    OASIS,
    PAST,
    SORTED,
    QUANTILE,
    ADMITTED_FIRST,
    WITHOUT_COMMITMENT,
    DENSITY,
    COLOCATED,
)


def run(options: Options) -> Outcome:
    """Run the variants on the workload of Fig. 3."""
    count = options.seeds or SEEDS
    chosen, fresh = seeds.seeds(seeds.IN_SAMPLE, count), seeds.seeds(seeds.HELD_OUT, count)
    runs = contest.run_all(SETTINGS, NAMES, chosen, TITLE, options)
    held_out = contest.run_all(SETTINGS, NAMES, fresh, f"{TITLE}: held out", options)
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"not of the paper; workload as in {SOURCE}, Fig. 3",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(
            ("parameters were chosen on some of these", chosen[0], chosen[-1]),
            ("held out", fresh[0], fresh[-1]),
        ),
        assumptions=(*ASSUMPTIONS, *_assumptions()),
        findings=tuple(_findings(runs, held_out)),
        tables=(_table(runs, "seeds 1…"), _table(held_out, "held-out seeds")),
        series={
            "jobs": list(JOBS),
            "utility": {name: [utilities(s).mean for s in runs[name]] for name in NAMES},
        },
        parameters=parameters_hash(options.parameters),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw total utility by number of jobs, with a bar per variant."""
    with pictures.figure(path) as chart:
        axes = chart.add_subplot()
        groups = [str(jobs) for jobs in outcome.series["jobs"]]
        pictures.bars(axes, groups, outcome.series["utility"])
        axes.set_xlabel("jobs")
        axes.set_ylabel("total utility")


def _table(runs: Runs, which: str) -> Table:
    return Table(
        f"Total utility; {which}",
        ("variant", *(f"{jobs} jobs" for jobs in JOBS), f"/ OASiS at {JOBS[-1]}"),
        tuple(
            (
                name,
                *(utilities(by_seed) for by_seed in runs[name]),
                listed([ratios(runs[name][-1], runs[OASIS][-1])]),
            )
            for name in NAMES
        ),
    )


def _assumptions() -> Iterator[str]:
    yield (
        "OASiS: κ = 5·10⁴. Replanned, admitted first: the same κ; without commitment: κ = 10⁶. The "
        "future is planned anew in each slot with an arrival; pausing and moving cost nothing."
    )
    yield (
        f"Co-location: a job may have all its workers and servers on one worker server in a slot; "
        f"they exchange gradients at {COLOCATED_GBPS:g} Gbit/s and use no network. Communication "
        "is most of the work here, so that it gains more than it would for compute-bound jobs."
    )


def _findings(runs: Runs, held_out: Runs) -> Iterator[str]:
    for which, runs_ in (("seeds 1…", runs), ("held-out seeds", held_out)):
        for name in (QUANTILE, ADMITTED_FIRST, WITHOUT_COMMITMENT, COLOCATED):
            yield f"{name}, {which}: {_by(runs_, name, OASIS)} times OASiS."
        yield (
            f"{WITHOUT_COMMITMENT}, {which}: {_by(runs_, WITHOUT_COMMITMENT, DENSITY)} times "
            "density greedy, which knows no future and no prices."
        )


def _by(runs: Runs, name: str, reference: str) -> str:
    return listed(ratios(runs[name][at], runs[reference][at]) for at in range(len(JOBS)))
