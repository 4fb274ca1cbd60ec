"""SpeCon's four workloads and that of Table III: its gains beside the printed ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from simulator.experiments.registry import Options
from simulator.experiments.specon import paper, sensitivity, variants
from simulator.experiments.specon.measures import ASSUMPTIONS, SOURCE, VARIANTS, Case, Columns, Row
from simulator.experiments.specon.pictures import scattered
from simulator.experiments.specon.scenarios import (
    FIXED,
    IN_300,
    PRINTED,
    WI,
    E,
    Scenario,
    SharingModel,
    T,
    W,
)
from simulator.experiments.specon.variants import Variant
from simulator.numbers import spread
from simulator.results import Beside, Outcome, Table

TITLE: Final = "SpeCon against the default scheduler: five workloads"
NAME: Final = "specon-workloads"
MODELS: Final = (W, T)
ALL: Final = (*MODELS, E, WI)
FIELDS: Final = ("mean", "makespan", "faster", "best", "winners", "losers")
THREE: Final = ("mean", "makespan", "faster")
"""Fields that the paper prints for each run."""


def run(options: Options) -> Outcome:
    """Run SpeCon and its rivals on the five workloads in all models."""
    columns = Columns(_cases(options), options, "SpeCon's workloads")
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{SOURCE}, Sect. VI-B to VI-D and Table III",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("all", *columns.used),),
        assumptions=(*ASSUMPTIONS, VARIANTS),
        findings=tuple(_findings(columns)),
        tables=(
            *(_gains(columns, model) for model in ALL),
            _levels(columns),
            *(_reached(columns, model) for model in MODELS),
            _moves(columns),
            *sensitivity.tables(columns),
            *(_rivals(columns, model) for model in MODELS),
        ),
        series=_series(columns),
        parameters=columns.digest,
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw one point per seed, and the paper's runs."""
    scattered(outcome.series, path)


def _cases(options: Options) -> dict[str, Case]:
    rules: dict[str, Variant | None] = {
        "default": None,
        "B": variants.B,
        "S": variants.S,
        "own": variants.own(options.parameters.migration),
        "C": variants.C,
    }
    cases = {
        _key(model, scenario, rule): Case(scenario, model, variant)
        for model in MODELS
        for scenario in PRINTED
        for rule, variant in rules.items()
    }
    cases |= {
        _key(model, scenario, rule): Case(scenario, model, rules[rule])
        for model in (E, WI)
        for scenario in PRINTED
        for rule in ("default", "B")
    }
    return cases | sensitivity.cases()


def _series(columns: Columns) -> dict[str, Any]:
    both = ("mean", "makespan")
    return {
        "workloads": [scenario.name for scenario in PRINTED],
        "models": [model.name for model in MODELS],
        "runs": {
            scenario.name: {
                model.name: [columns.values(_key(model, scenario, "B"), field) for field in both]
                for model in MODELS
            }
            for scenario in PRINTED
        },
        "paper": {name: [printed.mean, printed.makespan] for name, printed in paper.RUNS.items()},
    }


def _key(model: SharingModel, scenario: Scenario, rule: str) -> str:
    return f"{model.name} {scenario.name} {rule}"


def _gains(columns: Columns, model: SharingModel) -> Table:
    rows: tuple[Row, ...] = tuple(
        (
            scenario.name,
            *(
                columns.beside(
                    _key(model, scenario, "B"), field, getattr(paper.RUNS[scenario.name], field)
                )
                for field in FIELDS
            ),
        )
        for scenario in PRINTED
    )
    return Table(
        title=(
            f"Model {model.name} ({model.what}): gain of SpeCon (B) in %, ours ± deviation over "
            "seeds / paper"
        ),
        head=(
            "workload", "mean job time", "makespan", "jobs faster", "best job",
            "gain of the faster", "loss of the slower",
        ),
        rows=rows,
        digits=1,
        note="; ".join(f"{scenario.name}: {scenario.what}" for scenario in PRINTED) + "."
        if model is W
        else "",
    )  # fmt: skip


def _levels(columns: Columns) -> Table:
    rows: list[Row] = []
    for scenario in PRINTED:
        printed = paper.RUNS[scenario.name]
        cells: list[Beside] = []
        for model in ALL:
            case = f"{model.name} {scenario.name} default"
            cells += [
                columns.beside(case, "mean_seconds", printed.mean_seconds),
                columns.beside(case, "makespan_seconds", printed.makespan_seconds),
            ]
        rows.append((scenario.name, *cells))
    head = [f"{what}, {model.name}" for model in ALL for what in ("mean job time", "makespan")]
    return Table("The default scheduler in seconds, ours / paper", ("workload", *head), tuple(rows))


def _reached(columns: Columns, model: SharingModel) -> Table:
    rows: list[Row] = []
    for scenario in PRINTED:
        printed, case = paper.RUNS[scenario.name], _key(model, scenario, "B")
        shares = [columns.reached(case, field, getattr(printed, field)) for field in THREE]
        together = [
            all(getattr(measures, field) >= getattr(printed, field) for field in THREE)
            for measures in columns.measures(case)
        ]
        rows.append((scenario.name, *shares, 100.0 * sum(together) / len(together)))
    return Table(
        f"Model {model.name}: seeds on which SpeCon (B) reaches the printed gain, in %",
        ("workload", "mean job time", "makespan", "jobs faster", "all three"),
        tuple(rows),
    )


def _moves(columns: Columns) -> Table:
    rows: list[Row] = []
    for model in MODELS:
        for scenario in PRINTED:
            log = paper.LOG if scenario.name == "600" else {}
            case = _key(model, scenario, "B")
            cells = [
                columns.beside(case, field, log.get(field))
                for field in ("requests", "moves", "stays")
            ]
            rows.append((f"{model.name} {scenario.name}", *cells, columns.spread(case, "balances")))
    return Table(
        "What SpeCon (B) does in a run, ours / the authors' log",
        ("workload", "requests", "moves by Algorithm 2", "stays", "moves by Algorithm 3"),
        tuple(rows),
        digits=1,
        note="The log does not say of which run it is; its number of requests is that of 30 jobs.",
    )


RULES: Final = {
    "B": "SpeCon, B",
    "S": "SpeCon, S",
    "own": "SpeCon, our defaults",
    "C": "count balancing",
}


def _rivals(columns: Columns, model: SharingModel) -> Table:
    rows: list[Row] = []
    for rule, what in RULES.items():
        for field, name in (("mean", "mean job time"), ("makespan", "makespan")):
            cells = [columns.spread(_key(model, scenario, rule), field) for scenario in PRINTED]
            rows.append((what, name, *cells))
    return Table(
        f"Model {model.name}: gain of other rules in %",
        ("rule", "of", *(scenario.name for scenario in PRINTED)),
        tuple(rows),
        digits=1,
    )


def _findings(columns: Columns) -> Iterator[str]:
    for model in MODELS:
        yield _distance(columns, model)
    yield _outlier(columns)
    for model in MODELS:
        yield _without_a_loss(columns, model)
    yield from sensitivity.findings(columns)
    lower = [columns.spread(_key(W, FIXED, rule), "mean").mean for rule in ("S", "B")]
    yield (
        f"As the pseudo-code has it (S: a request one tick later, and only where two faster jobs "
        f"are left behind) the fixed workload gains {lower[0]:.1f} % of mean job time instead of "
        f"{lower[1]:.1f} % in model W: a worker holds one or two jobs there."
    )


def _distance(columns: Columns, model: SharingModel) -> str:
    """Return a sentence: distance of the printed gains in standard deviations."""
    texts = []
    for field, name in (("mean", "mean job time"), ("makespan", "makespan")):
        away = []
        for scenario in PRINTED:
            ours = columns.spread(_key(model, scenario, "B"), field)
            printed: float = getattr(paper.RUNS[scenario.name], field)
            deviations = (printed - ours.mean) / ours.deviation if ours.deviation else 0.0
            away.append(f"{scenario.name} {deviations:+.1f}")
        texts.append(f"{name} {', '.join(away)}")
    return (
        f"Model {model.name}: the paper's single runs are this many standard "
        f"deviations above our mean: {'; '.join(texts)}."
    )


def _outlier(columns: Columns) -> str:
    printed, case = paper.RUNS[IN_300.name], _key(W, IN_300, "B")
    shares = [columns.reached(case, field, getattr(printed, field)) for field in THREE]
    together = sum(
        all(getattr(measures, field) >= getattr(printed, field) for field in THREE)
        for measures in columns.measures(case)
    )
    return (
        f"The paper's run of 20 mixed jobs within 300 s ({printed.mean} % of mean job "
        f"time, {printed.makespan} % of makespan, {printed.faster:.0f} % of jobs faster) is an "
        f"outlier in our model: {shares[0]:.0f}, {shares[1]:.0f} and {shares[2]:.0f} % of the "
        f"seeds of model W reach these one by one, {together} of {len(columns.measures(case))} all "
        "three."
    )


def _without_a_loss(columns: Columns, model: SharingModel) -> str:
    """Return a sentence: gain of count balancing over SpeCon, on the same seeds."""
    parts, ahead = [], 0
    for scenario in PRINTED:
        ours = columns.values(_key(model, scenario, "C"), "mean")
        theirs = columns.values(_key(model, scenario, "B"), "mean")
        paired = spread(a - b for a, b in zip(ours, theirs, strict=True))
        ahead += paired.mean > 2.0 * paired.error
        parts.append(f"{scenario.name} {paired.mean:+.1f} ± {paired.error:.1f}")
    return (
        f"Model {model.name}: count balancing, which never looks at a loss, gains more mean job "
        f"time than SpeCon B, by more than two standard errors in {ahead} of {len(PRINTED)} "
        f"workloads (points, paired, ± standard error: {', '.join(parts)})."
    )
