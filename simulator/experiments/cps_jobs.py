"""CPS job level, groups 1 to 7: start order of five jobs, whatever their submission order."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from simulator import seeds
from simulator.experiments.cps import flaws, live, paper, pictures
from simulator.experiments.cps.paper import GROUPS, Group
from simulator.experiments.registry import Options
from simulator.numbers import Spread, spread
from simulator.results import Beside, Outcome, Table
from simulator.workload import Job

TITLE: Final = "CPS: the order of five jobs (groups 1 to 7)"
NAME: Final = "cps-jobs"
SEEDS: Final = 40
CPS: Final = "CPS"
BUILT_IN: Final = "built-in"
_ALL: Final = 100.0
_CPU: Final = 2
_NODE_CPU: Final = 64
"""Enough for all five jobs, as in the paper."""

Found = tuple[str, ...]


@dataclass(frozen=True)
class Orders:
    """Start orders of one shuffle: job names by group, under CPS and the built-in order."""

    submitted: tuple[int, ...]
    cps: dict[int, Found]
    built_in: dict[int, Found]


def run(options: Options) -> Outcome:
    """Submit each group in shuffled order, and record the start orders."""
    chosen = seeds.seeds(seeds.IN_SAMPLE, options.seeds or SEEDS)
    params = replace(options.parameters, order=Order.CPS)
    runs = seeds.over(partial(_run_seed, params), chosen, TITLE, options.processes)
    rows = [_Row.from_runs(group, runs) for group in GROUPS]
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{paper.SOURCE}, Sect. 4.2 (Tables 3 and 5, Figs. 7 to 10)",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("order of submission", chosen[0], chosen[-1]),),
        assumptions=tuple(_assumptions()),
        findings=tuple(_findings(rows, params)),
        tables=(_table(rows), flaws.reversal(params), flaws.ageing(params)),
        series={
            "groups": [row.name for row in rows],
            CPS: [row.cps.mean for row in rows],
            BUILT_IN: [row.built_in.mean for row in rows],
        },
        parameters=parameters_hash(params),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the share of shuffles in which each group started in the expected order."""
    series: dict[str, Any] = outcome.series
    with pictures.figure(path, 7.5, 2.8) as chart:
        axes = chart.add_subplot()
        names = [name.replace(", ", "\n") for name in series["groups"]]
        pictures.bars(axes, names, {order: series[order] for order in (CPS, BUILT_IN)})
        axes.set_ylabel("in the expected order, %")
        axes.set_ylim(0, 118)
        axes.legend(fontsize=7, ncols=2, loc="upper right")


@dataclass(frozen=True)
class _Row:
    group: Group
    cps: Spread
    built_in: Spread
    usual: Found

    @classmethod
    def from_runs(cls, group: Group, runs: Sequence[Orders]) -> "_Row":
        cps = [run.cps[group.number] for run in runs]
        built_in = [run.built_in[group.number] for run in runs]
        return cls(
            group,
            spread(_ALL * _expected(order, group) for order in cps),
            spread(_ALL * _expected(order, group) for order in built_in),
            Counter(cps).most_common(1)[0][0],
        )

    @property
    def name(self) -> str:
        return f"{self.group.number}: {self.group.scenario}"


def _run_seed(params: CoreParameters, seed: int) -> Orders:
    shuffle = tuple(int(i) for i in seeds.generator(seed).permutation(paper.JOBS))
    cps: dict[int, Found] = {}
    built_in: dict[int, Found] = {}
    for group in GROUPS:
        jobs = _jobs(group)
        waiting = live.submitted([jobs[i] for i in shuffle])
        started = live.cycle(waiting, live.machines(group.nodes, _NODE_CPU), params)
        cps[group.number] = tuple(job.job for job in started)
        built_in[group.number] = live.order(waiting)
    return Orders(shuffle, cps, built_in)


def _jobs(group: Group) -> list[Job]:
    return [
        replace(
            live.job(f"job-{i + 1}", _CPU, group.m[i]),
            user_priority=group.u[i],
            class_value=paper.CLASSES[group.b[i]],
            max_wait_seconds=60.0 * group.waits[i],
        )
        for i in range(paper.JOBS)
    ]


def _expected(order: Found, group: Group) -> bool:
    """Return True if jobs started set by set, in any order within a set."""
    left = list(order)
    for together in group.order:
        first, left = left[: len(together)], left[len(together) :]
        if {int(name.rpartition("-")[2]) for name in first} != together:
            return False
    return not left


def _table(rows: Sequence[_Row]) -> Table:
    return Table(
        "Share of the shuffles that start in the expected order, %, ours ± deviation / paper",
        ("group", "expected", "usual order with CPS", CPS, BUILT_IN),
        tuple(
            (
                row.name,
                " then ".join(_set(name) for name in row.group.order),
                ", ".join(name.rpartition("-")[2] for name in row.usual),
                Beside(row.cps, _ALL),
                Beside(row.built_in, _ALL if row.group.built_in_knows else None),
            )
            for row in rows
        ),
        digits=0,
        note="Jobs in braces have one value V and start in the order of their creation. The paper "
        "says that the built-in order is the same in group 1 and random in the others, without a "
        "number; a random order of five jobs is the expected one in 1 of 120 cases.",
    )


def _set(together: frozenset[int]) -> str:
    names = ", ".join(map(str, sorted(together)))
    return names if len(together) == 1 else f"{{{names}}}"


def _assumptions() -> Iterator[str]:
    yield paper.LOST
    yield (
        "Values: u = 5, b = 50, L = 30 min, m = 4, and in S1 b = 50, 50, 100, 100, 1, in S2 L = 5, "
        "10, 20, 40, 60 min, in S3 m = 6, 5, 4, 3, 2, in S4 u = 10, 8, 6, 4, 2."
    )
    yield (
        "In creation order S2 to S4 could not tell CPS from first come, first served; each group "
        "is submitted in a shuffled order, one shuffle a seed, a second between two jobs."
    )
    yield (
        "Groups 5 to 7 are group 2 on other frameworks and other numbers of nodes. The order is "
        "decided before either matters, so that they can only repeat group 2."
    )
    yield '"Built-in" is Volcano\'s plugin `priority`: by PriorityClass, then by creation.'


def _findings(rows: Sequence[_Row], params: CoreParameters) -> Iterator[str]:
    right = [row for row in rows if row.cps.mean == _ALL]
    yield (
        f"With CPS {len(right)} of {len(rows)} groups start in the order that the paper states, in "
        "every shuffle."
    )
    blind = [row for row in rows if not row.group.built_in_knows]
    predictable = [row for row in rows if row.group.built_in_knows]
    yield (
        f"The built-in order gives it in {predictable[0].built_in.mean:.0f} % of the shuffles of "
        f"group {predictable[0].group.number}, where PriorityClasses differ, and in "
        f"{max(row.built_in.mean for row in blind):.0f} % at most of the others."
    )
    yield from flaws.findings(params)
