"""Sensitivity of SpeCon's gains: model W with one assumption changed at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp, log
from typing import Final

from simulator.experiments.specon import variants
from simulator.experiments.specon.measures import Case, Columns, Row
from simulator.experiments.specon.scenarios import (
    CLASSES,
    FIXED,
    IN_300,
    IN_600,
    IN_1200,
    VAE,
    VAES,
    Scenario,
    SharingModel,
    W,
)
from simulator.results import Table

FRAMEWORKS: Final = (0.0, 0.2, 0.3, 0.45)
LENGTHS: Final = (0.0, 0.5, 1.0, 1.25)
SLOWDOWNS: Final = (0.1, 0.2)
LIMITS: Final = (0.6, 0.3)
ALIKE: Final = (FIXED, VAES)
MIXED: Final = (IN_300, IN_600, IN_1200)


def _with_lengths(power: float) -> SharingModel:
    """Return W with the classes' ratios to their geometric mean raised to a power."""
    middle = exp(sum(log(W.work[name]) for name in CLASSES) / len(CLASSES))
    work = {name: middle * (W.work[name] / middle) ** power for name in CLASSES}
    return replace(W, name=f"lengths to the power of {power:g}", work=work)


_SPREAD: Final = {
    share: replace(W, name=f"frameworks ±{100 * share:.0f} %", framework_spread=share)
    for share in FRAMEWORKS
}
_LENGTH: Final = {power: _with_lengths(power) for power in LENGTHS}
_OTHER: Final = (
    *(replace(W, name=f"interference {x:g}", slowdown=x) for x in SLOWDOWNS),
    *(
        replace(W, name=f"no job uses more than {x:g}", most=dict.fromkeys(CLASSES, x))
        for x in LIMITS
    ),
)


def cases() -> dict[str, Case]:
    """Return SpeCon (B) in all of these models."""
    chosen = (
        *((model, scenario) for model in _SPREAD.values() for scenario in ALIKE),
        *((model, scenario) for model in (*_LENGTH.values(), *_OTHER) for scenario in MIXED),
    )
    return {_key(model, s): Case(s, model, variants.B) for model, s in chosen}


def tables(columns: Columns) -> tuple[Table, Table]:
    """Return the tables of gains by changed assumption."""
    lengths = ", ".join(f"{power:g}: {_ratio(power):.1f}" for power in LENGTHS)
    return (
        Table(
            "Model W, 20 VAE, by how much the frameworks differ in work: gain of SpeCon (B) in %",
            ("changed", *_heads(ALIKE)),
            tuple(_row(columns, model, ALIKE) for model in _SPREAD.values()),
            digits=1,
        ),
        Table(
            "Model W, mixed jobs, one assumption changed each: gain of SpeCon (B) in %",
            ("changed", *_heads(MIXED)),
            tuple(_row(columns, m, MIXED) for m in (*_LENGTH.values(), *_OTHER)),
            digits=1,
            note=f"Longest class divided by the shortest, by power: {lengths}.",
        ),
    )


def findings(columns: Columns) -> Iterator[str]:
    """Yield sentences on the sources of the gain."""
    alike = [columns.spread(_key(_SPREAD[0.0], s), "mean").mean for s in ALIKE]
    yield (
        f"Without a difference between the frameworks SpeCon gains {alike[0]:.1f} and "
        f"{alike[1]:.1f} % of mean job time on the two VAE workloads (fix, vae)."
    )
    for field, what in (("mean", "mean job time"), ("makespan", "makespan")):
        same, wide = (
            [columns.spread(_key(_LENGTH[power], s), field).mean for s in MIXED]
            for power in (0.0, 1.0)
        )
        pairs = zip(MIXED, same, wide, strict=True)
        texts = (f"{s.name} {a:.1f} instead of {b:.1f}" for s, a, b in pairs)
        yield (
            f"With classes of equal length SpeCon gains of {what}, in %: {', '.join(texts)} (model "
            "W)."
        )


def _ratio(power: float) -> float:
    work = [_LENGTH[power].work[name] for name in CLASSES if name != VAE]
    return max(work) / min(work)


def _key(model: SharingModel, scenario: Scenario) -> str:
    return f"{model.name} {scenario.name}"


def _heads(scenarios: Sequence[Scenario]) -> tuple[str, ...]:
    return tuple(f"{what}, {s.name}" for s in scenarios for what in ("mean", "makespan"))


def _row(columns: Columns, model: SharingModel, scenarios: Sequence[Scenario]) -> Row:
    cells = (
        columns.spread(_key(model, scenario), field)
        for scenario in scenarios
        for field in ("mean", "makespan")
    )
    return (model.name, *cells)
