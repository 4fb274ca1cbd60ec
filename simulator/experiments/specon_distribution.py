"""SpeCon's run of 50 jobs: all 50 completion times beside the authors' own."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from extender.core.decisionlog.replay import parameters_hash
from simulator import seeds
from simulator.experiments.registry import Options
from simulator.experiments.specon import paper, variants
from simulator.experiments.specon.measures import (
    ASSUMPTIONS,
    SAME,
    SEEDS,
    SOURCE,
    VARIANTS,
    Case,
    Pair,
    Row,
    pairs,
)
from simulator.experiments.specon.pictures import distributed
from simulator.experiments.specon.scenarios import IN_1200, T, W
from simulator.numbers import gain, quantile, spread
from simulator.results import Beside, Cell, Outcome, Table

TITLE: Final = "SpeCon's 50 jobs: the distribution of completion times"
NAME: Final = "specon-distribution"
QUANTILES: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
GROUPS: Final = ((0, 20), (20, 40), (40, 50))
"""Ranges of job numbers, from 0, end exclusive."""
CASES: Final[Mapping[str, Case]] = {
    "W": Case(IN_1200, W, variants.B),
    "T": Case(IN_1200, T, variants.B),
    "W, pause 60 s, converged ½": Case(
        IN_1200, W, variants.after_pauses(variants.B.with_weights(0.0, 0.5), 60.0)
    ),
    "W, pause 60 s": Case(IN_1200, W, variants.after_pauses(variants.B, 60.0)),
}
"""Model → case; the last two try to explain the authors' pattern."""


def run(options: Options) -> Outcome:
    """Run the 50 jobs, and measure what the authors' data contain."""
    chosen = seeds.seeds(seeds.IN_SAMPLE, options.seeds or SEEDS)
    by_seed = seeds.over(
        partial(pairs, tuple(CASES.values())), chosen, "SpeCon's 50 jobs", options.processes
    )
    by_name = {name: [row[i] for row in by_seed] for i, name in enumerate(CASES)}
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{SOURCE}, Sect. VI-D; the 50 pairs of the authors' public repository",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("all", chosen[0], chosen[-1]),),
        assumptions=(*ASSUMPTIONS, VARIANTS),
        findings=tuple(_findings(by_name)),
        tables=(_quantiles(by_name), _won_and_lost(by_name), _by_number(by_name)),
        series=_series(by_name),
        parameters=parameters_hash(options.parameters),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the distributions, and the gains by job number."""
    distributed(outcome.series, path)


def _column(run_: Sequence[Pair], which: int) -> list[float]:
    return [pair[which] for pair in run_]


def _quantiles(by_name: Mapping[str, Sequence[Sequence[Pair]]]) -> Table:
    rows: list[Row] = []
    for share in QUANTILES:
        cells: list[Cell] = []
        for name in ("W", "T"):
            for which in (0, 1):
                ours = spread(quantile(_column(run_, which), share) for run_ in by_name[name])
                cells.append(Beside(ours, quantile(_column(paper.FIFTY_JOBS, which), share)))
        rows.append((f"{100 * share:.0f} %", *cells))
    return Table(
        "Completion times in seconds, ours ± deviation over seeds / the authors'",
        (
            "quantile",
            *(f"{scheduler}, {m}" for m in ("W", "T") for scheduler in ("default", "SpeCon")),
        ),
        tuple(rows),
    )


MEASURES: Final = ("mean", "faster", "winners", "losers", "best")


def _summary(run_: Sequence[Pair]) -> Mapping[str, float]:
    """Return mean gain, share of faster jobs, their gain, loss of slower jobs, best gain; in %."""
    gains = [gain(after, before) for before, after in run_]
    won = [gain(after, before) for before, after in run_ if after < before - SAME]
    lost = [-gain(after, before) for before, after in run_ if after > before + SAME]
    return {
        "mean": gain(sum(_column(run_, 1)), sum(_column(run_, 0))),
        "faster": 100.0 * len(won) / len(gains),
        "winners": sum(won) / max(1, len(won)),
        "losers": sum(lost) / max(1, len(lost)),
        "best": max(gains),
    }


def _won_and_lost(by_name: Mapping[str, Sequence[Sequence[Pair]]]) -> Table:
    authors = _summary(paper.FIFTY_JOBS)
    rows: list[Row] = []
    for name, runs in by_name.items():
        ours = [_summary(run_) for run_ in runs]
        cells = [Beside(spread(summary[m] for summary in ours), authors[m]) for m in MEASURES]
        rows.append((name, *cells))
    return Table(
        "Jobs that gain and jobs that lose, in %, ours ± deviation over seeds / the authors'",
        ("model", "mean job time", "jobs faster", "gain of the faster", "loss of the slower",
         "best job"),
        tuple(rows),
        digits=1,
    )  # fmt: skip


def _group_gains(run_: Sequence[Pair]) -> list[float]:
    return [
        gain(sum(_column(run_[low:high], 1)), sum(_column(run_[low:high], 0)))
        for low, high in GROUPS
    ]


def _by_number(by_name: Mapping[str, Sequence[Sequence[Pair]]]) -> Table:
    authors = _group_gains(paper.FIFTY_JOBS)
    rows: list[Row] = []
    for name, runs in by_name.items():
        ours = [_group_gains(run_) for run_ in runs]
        cells = [Beside(spread(gains[i] for gains in ours), authors[i]) for i in range(len(GROUPS))]
        rows.append((name, *cells))
    return Table(
        "Gain of mean job time by the job's number, in %, ours ± deviation over seeds / the "
        "authors'",
        ("model", *(f"jobs {low + 1} to {high}" for low, high in GROUPS)),
        tuple(rows),
        digits=1,
    )


def _series(by_name: Mapping[str, Sequence[Sequence[Pair]]]) -> dict[str, Any]:
    shares = [i / 50 for i in range(51)]
    curves = [("authors", _curves([paper.FIFTY_JOBS], shares))]
    curves += [(name, _curves(by_name[name], shares)) for name in ("W", "T")]
    groups = [("authors", _group_gains(paper.FIFTY_JOBS))]
    for name, runs in by_name.items():
        ours = [_group_gains(run_) for run_ in runs]
        groups.append((name, [spread(gains[i] for gains in ours).mean for i in range(len(GROUPS))]))
    return {
        "shares": shares,
        "curves": curves,
        "groups": groups,
        "group_names": [f"{low + 1} to {high}" for low, high in GROUPS],
    }


def _curves(runs: Sequence[Sequence[Pair]], shares: Sequence[float]) -> list[list[float]]:
    """Return the quantiles under both schedulers, each the mean over seeds."""
    return [
        [spread(quantile(_column(run_, which), share) for run_ in runs).mean for share in shares]
        for which in (0, 1)
    ]


def _findings(by_name: Mapping[str, Sequence[Sequence[Pair]]]) -> Iterator[str]:
    authors = _summary(paper.FIFTY_JOBS)
    for name in ("W", "T"):
        level = spread(sum(_column(run_, 0)) / len(run_) for run_ in by_name[name])
        ours = spread(_summary(run_)["mean"] for run_ in by_name[name])
        theirs = sum(_column(paper.FIFTY_JOBS, 0)) / len(paper.FIFTY_JOBS)
        yield (
            f"Model {name}: under the default scheduler a job takes {level.mean:.0f} ± "
            f"{level.deviation:.0f} s, the authors' {theirs:.0f} s; SpeCon gains {ours.mean:.1f} ± "
            f"{ours.deviation:.1f} %, theirs {authors['mean']:.1f} %."
        )
    parts = _group_gains(paper.FIFTY_JOBS)
    yield (
        f"In the authors' run jobs 1 to 20 gain {parts[0]:+.1f} %, 21 to 40 {parts[1]:+.1f} %, "
        f"41 to 50 {parts[2]:+.1f} %: early jobs pay for late ones."
    )
    for name, runs in by_name.items():
        ours_ = [_group_gains(run_) for run_ in runs]
        means = [spread(one[i] for one in ours_) for i in range(len(GROUPS))]
        alike = sum(one[0] < 0 < min(one[1], one[2]) for one in ours_)
        texts = ", ".join(f"{one.mean:+.1f} ± {one.error:.1f}" for one in means)
        yield (
            f"{name}: {texts} % (± standard error); {alike} of {len(runs)} seeds have the authors' "
            "signs."
        )
