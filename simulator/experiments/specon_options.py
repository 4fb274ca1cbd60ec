"""The gains of SpeCon's options and of better rules, for all goals."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from simulator import seeds
from simulator.experiments.registry import Options
from simulator.experiments.specon import option_cases
from simulator.experiments.specon.measures import ASSUMPTIONS, SOURCE, VARIANTS, Columns, Row
from simulator.experiments.specon.option_cases import (
    HELD_OUT,
    NOISES,
    NOISY,
    PAUSED,
    PAUSES,
    RIVALS,
)
from simulator.experiments.specon.pictures import compared
from simulator.experiments.specon.scenarios import FIXED, IN_300, IN_600, NEW, PRINTED, Scenario
from simulator.numbers import Spread, gain, spread
from simulator.results import Outcome, Table

TITLE: Final = "SpeCon's options, and rules that do better"
NAME: Final = "specon-options"
BOTH: Final = {"mean": "mean job time", "makespan": "makespan"}
GOALS: Final = {**BOTH, "nearly": "mean time to 95 % of the loss reduction"}
SURE: Final = 2.0
"""Standard errors from which on a difference is significant."""


def run(options: Options) -> Outcome:
    """Run the options on the seeds they were chosen by, and the rules also on held-out seeds."""
    own = options.parameters.migration
    names = tuple(option_cases.options(own))
    columns = Columns(option_cases.in_sample(own), options, "SpeCon's options")
    fresh = Columns(option_cases.held_out(), options, "fresh seeds", first=seeds.HELD_OUT)
    return Outcome(
        name=NAME,
        title=TITLE,
        source=f"{SOURCE}; beyond the paper",
        command=f"shuntyard-sim reproduce {NAME}",
        seeds=(("chosen by", *columns.used), ("held out", *fresh.used)),
        assumptions=(
            *ASSUMPTIONS,
            VARIANTS,
            (
                "C is count balancing (docs/policies/count_balance.md) at every arrival, end and "
                "tick; C+½ and C+1 add CPU weights (docs/policies/cpu_weights.md) set at arrivals, "
                "ends, moves and ticks, with the remaining work known to ±15 %."
            ),
        ),
        findings=tuple(_findings(columns, fresh, names)),
        tables=(
            _options(columns, names),
            _noise(columns),
            _pause(columns),
            *(_rivals(columns, goal) for goal in GOALS),
            *(_held_out(fresh, model, goal) for model in HELD_OUT for goal in GOALS),
            _paired(fresh),
        ),
        series=_series(fresh),
        parameters=columns.digest,
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the rules on held-out seeds, by workload and goal."""
    compared(outcome.series, path)


def _options(columns: Columns, names: Sequence[str]) -> Table:
    rows: list[Row] = []
    for name in names:
        means = [columns.spread(f"{scenario.name} {name}", "mean") for scenario in PRINTED]
        spans = [columns.spread(f"{s.name} {name}", "makespan") for s in (IN_300, IN_600)]
        moved = [sum(columns.spread(f"600 {name}", what).mean for what in ("moves", "balances"))]
        rows.append((name, *means, *spans, *moved))
    heads = [f"{scenario.name}" for scenario in PRINTED]
    return Table(
        "Options of SpeCon, model W: gain in % of mean job time by workload, then of makespan, "
        "then moves",
        ("variant", *heads, "makespan 300", "makespan 600", "moves 600"),
        tuple(rows),
        digits=1,
        note="Each row except the last is B with one option changed.",
    )


def _noise(columns: Columns) -> Table:
    rows: tuple[Row, ...] = tuple(
        (
            f"{noise:g}",
            *(columns.spread(f"{scenario.name} noise {noise:g}", "mean") for scenario in NOISY),
        )
        for noise in NOISES
    )
    return Table(
        "Noise of the reported loss, model W, B: gain of mean job time in %",
        ("relative noise", *(scenario.name for scenario in NOISY)),
        rows,
        digits=1,
    )


def _pause(columns: Columns) -> Table:
    rows: tuple[Row, ...] = tuple(
        (
            f"{seconds:g} s",
            *(
                columns.spread(f"{scenario.name} {name} pause {seconds:g}", "mean")
                for scenario in PAUSED
                for name in ("B", "C")
            ),
        )
        for seconds in PAUSES
    )
    return Table(
        "What a move costs, model W: gain of mean job time in %",
        ("pause", *(f"{scenario.name}, {name}" for scenario in PAUSED for name in ("B", "C"))),
        rows,
        digits=1,
    )


def _rivals(columns: Columns, goal: str) -> Table:
    rows: tuple[Row, ...] = tuple(
        (name, *(columns.spread(f"{scenario.name} {name}", goal) for scenario in PRINTED))
        for name in RIVALS
    )
    return Table(
        f"Rules on the seeds they were chosen by, model W: gain of the {GOALS[goal]} in %",
        ("rule", *(scenario.name for scenario in PRINTED)),
        rows,
        digits=1,
    )


def _held_out(fresh: Columns, model: str, goal: str) -> Table:
    workloads = (*PRINTED, *NEW)
    rows: tuple[Row, ...] = tuple(
        (name, *(fresh.spread(f"{model} {scenario.name} {name}", goal) for scenario in workloads))
        for name in HELD_OUT[model]
    )
    return Table(
        f"Rules on held-out seeds, model {model}: gain of the {GOALS[goal]} in %",
        ("rule", *(scenario.name for scenario in workloads)),
        rows,
        digits=1,
        note="New: " + "; ".join(f"{s.name}: {s.what}" for s in NEW) + "."
        if (model, goal) == ("W", "mean")
        else "",
    )


def _beats(fresh: Columns, model: str, scenario: Scenario, field: str) -> list[float]:
    """Return by how many % C is below B, by seed."""
    ours, theirs = (fresh.values(f"{model} {scenario.name} {name}", field) for name in ("C", "B"))
    return [gain(a, b) for a, b in zip(ours, theirs, strict=True)]


def _paired(fresh: Columns) -> Table:
    rows: list[Row] = []
    for model in HELD_OUT:
        for scenario in (*PRINTED, *NEW):
            row: list[str | float] = []
            for field in ("mean_seconds", "makespan_seconds"):
                gains = _beats(fresh, model, scenario, field)
                row += [_with_error(spread(gains)), 100.0 * sum(x > 0 for x in gains) / len(gains)]
            rows.append((model, scenario.name, *row))
    return Table(
        "Count balancing (C) against SpeCon (B) on held-out seeds, paired: by how many % it is "
        "shorter (± standard error), and on how many % of the seeds",
        ("model", "workload", "mean job time", "seeds", "makespan", "seeds"),
        tuple(rows),
    )


def _with_error(difference: Spread) -> str:
    return f"{difference.mean:.1f} ± {difference.error:.1f}"


def _series(fresh: Columns) -> dict[str, Any]:
    workloads = (*PRINTED, *NEW)
    return {
        "workloads": [scenario.name for scenario in workloads],
        "charts": [
            (
                f"gain of {what}, %",
                [
                    (name, [fresh.spread(f"W {s.name} {name}", goal).mean for s in workloads])
                    for name in HELD_OUT["W"]
                ],
            )
            for goal, what in GOALS.items()
        ],
    }


def _findings(columns: Columns, fresh: Columns, names: Sequence[str]) -> Iterator[str]:
    yield from _option_findings(columns, names)
    yield _pause_finding(columns)
    for model in HELD_OUT:
        yield _count_finding(fresh, model)
    for model in HELD_OUT:
        yield _weight_finding(fresh, model)
    yield _goal_finding(columns)


def _difference(columns: Columns, name: str, scenario: Scenario, field: str) -> Spread:
    ours, base = (columns.values(f"{scenario.name} {variant}", field) for variant in (name, "B"))
    return spread(a - b for a, b in zip(ours, base, strict=True))


def _option_findings(columns: Columns, names: Sequence[str]) -> Iterator[str]:
    """Yield sentences: options by their effect on the mean job time of all workloads."""
    better: list[str] = []
    worse: list[str] = []
    alike: list[str] = []
    for name in names[1:]:
        differences = [_difference(columns, name, scenario, "mean") for scenario in PRINTED]
        mean = sum(difference.mean for difference in differences) / len(differences)
        error = sum(difference.error**2 for difference in differences) ** 0.5 / len(differences)
        text = f"{name} {mean:+.1f} ± {error:.1f}"
        place = alike if abs(mean) <= SURE * error else better if mean > 0 else worse
        place.append(text)
    where = "points of mean job time, mean of the five workloads ± standard error"
    yield f"Better than B ({where}): {'; '.join(better) or 'none'}."
    yield f"Worse: {'; '.join(worse) or 'none'}."
    yield f"No difference beyond {SURE:g} standard errors: {'; '.join(alike) or 'none'}."


def _pause_finding(columns: Columns) -> str:
    texts = []
    for name in ("B", "C"):
        short, long = (
            columns.spread(f"{FIXED.name} {name} pause {seconds:g}", "mean").mean
            for seconds in (PAUSES[0], PAUSES[-1])
        )
        texts.append(f"{name} from {short:+.1f} to {long:+.1f} %")
    return (
        f"With a pause of {PAUSES[-1]:g} s instead of {PAUSES[0]:g} s the gain of mean job time on "
        f"the fixed workload goes for {' and for '.join(texts)}."
    )


def _count_finding(fresh: Columns, model: str) -> str:
    workloads = (*PRINTED, *NEW)
    gains = {s.name: spread(_beats(fresh, model, s, "mean_seconds")) for s in workloads}
    sure = [name for name, spread_ in gains.items() if spread_.mean > SURE * spread_.error]
    spans = [spread(_beats(fresh, model, s, "makespan_seconds")) for s in workloads]
    longer = sum(spread_.mean < -SURE * spread_.error for spread_ in spans)
    return (
        f"Model {model}, held out: count balancing has a shorter mean job time than SpeCon (B), "
        f"beyond {SURE:g} standard errors, in {len(sure)} of {len(gains)} workloads (by "
        f"{min(spread_.mean for spread_ in gains.values()):.1f} to "
        f"{max(spread_.mean for spread_ in gains.values()):.1f} %), and a longer makespan in "
        f"{longer}."
    )


def _weight_finding(fresh: Columns, model: str) -> str:
    def gains(goal: str) -> str:
        means = [fresh.spread(f"{model} {s.name} C+1", goal).mean for s in (*PRINTED, *NEW)]
        return f"{GOALS[goal]} {min(means):+.1f} to {max(means):+.1f} %"

    return (
        f"Model {model}, held out: with CPU weights by remaining work (C+1) the gains by workload "
        f"are: {'; '.join(gains(goal) for goal in GOALS)}."
    )


def _goal_finding(columns: Columns) -> str:
    texts = []
    for goal, what in GOALS.items():
        pairs = (f"{scenario.name} {_first(columns, scenario, goal)}" for scenario in PRINTED)
        texts.append(f"{what}: {', '.join(pairs)}")
    return f"The best rule depends on the goal (model W). {'; '.join(texts)}."


def _first(columns: Columns, scenario: Scenario, goal: str) -> str:
    means = ((columns.spread(f"{scenario.name} {name}", goal).mean, name) for name in RIVALS)
    return max(means)[1]
