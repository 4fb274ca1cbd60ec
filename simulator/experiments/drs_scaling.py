"""DRS against DRAGON and the training operator: is "up to 26.56 % faster" reproduced?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

from simulator import seeds
from simulator.experiments.drs import independent, pictures, scaling_findings
from simulator.experiments.drs.contest import CLAIM, MEASURES, Case, Results, contest, contestants
from simulator.experiments.drs.setting import EXPERIMENTS, SPEEDS
from simulator.experiments.registry import Options
from simulator.numbers import Spread
from simulator.results import Beside, Cell, Outcome, Table

TITLE: Final = "DRS: scaling four jobs on three nodes, against DRAGON and the training operator"
IN_SAMPLE_SEEDS: Final = 100
HELD_OUT_SEEDS: Final = 40

ASSUMPTIONS: Final = (
    (
        "Jobs (the article names none): one server of 1 CPU and 2 GB each; light: workers of 1 CPU "
        "and 2 GB, 1 to 4 of them, 2 at the start; heavy: 2 CPU and 6 GB, 2 to 6, 3 at the start. "
        "Experiment 1: four light, 2: four heavy, 3: two of each, the last with utility 10 and "
        "late (200 to 400 s). The others have utility 1 to 3, the first comes at 0, the rest "
        "within 120 s."
    ),
    "All of a node's 8 CPU and 30 GB can be used.",
    (
        "Speeds: the fitted step times of eight measured models, one drawn for each job; the work "
        "is 600 to 1800 s of the job alone on one node with the workers it starts with. sync: one "
        "global batch, as measured; async: every worker has a batch of its own; async-3: the same "
        "for the three models that gain most; linear: communication costs nothing."
    ),
    (
        "A worker on a node of its server has half the communication (λ = 0.5); a change of "
        "workers stops the job for 5 s; schedulers look at every arrival and completion, and "
        "every 15 s."
    ),
    "DRAGON: its code, with CPU and memory for GPUs; servers take room.",
    (
        "DRS: the corrected algorithms, at the numbers of workers wanted or not at all; DRS-m: "
        "marginal gain, and starts with fewer; DRS-ms: the policy as it is set, by default with "
        "scale-down for jobs that have waited 60 s. A job gives up the worker that is named."
    ),
)


def run(options: Options) -> Outcome:
    """Run all schedulers in all experiments at all speeds."""
    results, held_out = (
        contest(_cases(options), chosen, options, what)
        for chosen, what in (
            (seeds.seeds(seeds.IN_SAMPLE, options.seeds or IN_SAMPLE_SEEDS), "seeds"),
            (seeds.seeds(seeds.HELD_OUT, options.seeds or HELD_OUT_SEEDS), "held-out seeds"),
        )
    )
    many = options.seeds or IN_SAMPLE_SEEDS
    fresh = options.seeds or HELD_OUT_SEEDS
    return Outcome(
        name="drs-scaling",
        title=TITLE,
        source="F. Bestari, Dynamic Resource Scheduler for Distributed Deep Learning Training on "
        "Kubeflow (2020): its tables are images that are lost; the claim is in the text",
        command="shuntyard-sim reproduce drs-scaling",
        seeds=(
            (
                "all tables but the one of held-out seeds",
                seeds.IN_SAMPLE,
                seeds.IN_SAMPLE + many - 1,
            ),
            ("held out", seeds.HELD_OUT, seeds.HELD_OUT + fresh - 1),
        ),
        assumptions=ASSUMPTIONS,
        findings=tuple(scaling_findings.findings(results, held_out, _cases(options))),
        tables=tuple(_tables(results, held_out, options)),
        series={"makespan": _series(results, options)},
        parameters=repr(options.parameters.scaling),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the gains in makespan."""
    charts = {
        speed: [(f"exp. {number}", bars) for number, bars in groups.items()]
        for speed, groups in outcome.series["makespan"].items()
    }
    pictures.draw(charts, CLAIM, path)


def _cases(options: Options) -> list[Case]:
    params = options.parameters.scaling
    return [
        Case(contestant, speed, experiment)
        for speed, experiment in product(SPEEDS, EXPERIMENTS)
        for contestant in contestants(params)
    ]


def _rows(cases: Sequence[Case]) -> Iterator[tuple[str, int, Sequence[Case]]]:
    """Yield speed, experiment, and the cases of all schedulers, DRAGON first."""
    for speed, experiment in product(SPEEDS, EXPERIMENTS):
        own = [c for c in cases if (c.speed, c.experiment) == (speed, experiment)]
        yield speed, experiment, own


def _tables(results: Results, held_out: Results, options: Options) -> Iterator[Table]:
    cases = _cases(options)
    names = tuple(contestant.name for contestant in contestants(options.parameters.scaling))
    for measure, what in MEASURES.items():
        yield _gains(f"{what.capitalize()}: shorter than DRAGON's, %", results, cases, measure)
    yield _gains(
        "Makespan on held-out seeds: shorter than DRAGON's, %", held_out, cases, "makespan"
    )
    yield _claimed(results, cases)
    yield Table(
        "Share of seeds with a makespan more than 0.5 % longer than DRAGON's, %",
        ("speed", "exp.", *names[1:]),
        tuple((s, e, *(results.worse(c) for c in own[1:])) for s, e, own in _rows(cases)),
    )
    yield _plain("Makespan, s", results, cases, names, "makespan")
    yield _plain("Mean job time, s", results, cases, names, "mean")
    yield _plain("Changes of workers in a run", results, cases, names, "rescales", digits=1)
    yield Table(
        "Time of the important job of experiment 3: shorter than DRAGON's, %",
        ("speed", *names[1:]),
        tuple(
            (s, *(results.gain(c, "urgent") for c in own[1:]))
            for s, e, own in _rows(cases)
            if e == 3  # noqa: PLR2004 - the third
        ),
        digits=1,
    )
    yield _beside(results, cases, names[1:])


def _gains(title: str, results: Results, cases: Sequence[Case], measure: str) -> Table:
    names = list(dict.fromkeys(case.contestant.name for case in cases))[1:]
    rows: list[tuple[Cell, ...]] = [
        (speed, experiment, *(results.gain(case, measure) for case in own[1:]))
        for speed, experiment, own in _rows(cases)
    ]
    return Table(title, ("speed", "exp.", *names), tuple(rows), digits=1)


def _plain(
    title: str,
    results: Results,
    cases: Sequence[Case],
    names: Sequence[str],
    measure: str,
    digits: int = 0,
) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (s, e, *(results.spread(c, measure) for c in own)) for s, e, own in _rows(cases)
    ]
    return Table(title, ("speed", "exp.", *names), tuple(rows), digits=digits)


def _claimed(results: Results, cases: Sequence[Case]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for speed, experiment, own in _rows(cases):
        drs = next(case for case in own if case.contestant.name == "DRS")
        best = Spread(max(results.gains(drs)), 0.0, 1)
        operator = replace(drs, contestant=own[1].contestant)
        times = zip(
            results.values(drs, "makespan"), results.values(operator, "makespan"), strict=True
        )
        reached = [ours <= theirs * (1.0 - CLAIM / 100.0) for ours, theirs in times]
        rows.append(
            (
                speed,
                experiment,
                Beside(best, CLAIM),
                results.share(drs, CLAIM),
                results.share(drs, CLAIM, "mean"),
                100.0 * sum(reached) / len(reached),
            )
        )
    return Table(
        f'The claim, "up to {CLAIM} %": DRS on its best seed, and how often it is reached',
        (
            "speed",
            "exp.",
            "best seed, makespan",
            "% of seeds: makespan against DRAGON",
            "mean job time against DRAGON",
            "makespan against tf-operator",
        ),
        tuple(rows),
        digits=1,
        note="Best seed: ours / claimed (ratio).",
    )


def _beside(results: Results, cases: Sequence[Case], names: Sequence[str]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for speed, experiment, own in _rows(cases):
        cells: list[Cell] = []
        for case in own[1:]:
            other = independent.makespan(speed, experiment, case.contestant.name)
            ours = results.gain(case).mean
            cells.append(f"{ours:.1f} / {other.mean:.1f}" if other else f"{ours:.1f} / -")
        rows.append((speed, experiment, *cells))
    return Table(
        "Gain in makespan, ours and that of an independently written model of the same setting, %",
        ("speed", "exp.", *names),
        tuple(rows),
        digits=1,
        note="Means, ours / the other's; its draws are not ours.",
    )


def _series(results: Results, options: Options) -> dict[str, dict[str, dict[str, list[float]]]]:
    series: dict[str, dict[str, dict[str, list[float]]]] = {}
    for speed, experiment, own in _rows(_cases(options)):
        bars = {case.contestant.name: results.gain(case) for case in own[1:]}
        means = {name: [round(s.mean, 3), round(s.deviation, 3)] for name, s in bars.items()}
        series.setdefault(speed, {})[str(experiment)] = means
    return series
