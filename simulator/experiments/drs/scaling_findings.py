"""Findings of ``drs-scaling``, as sentences with its numbers."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from simulator.experiments.drs import independent
from simulator.experiments.drs.contest import CLAIM, Case, Results
from simulator.experiments.drs.setting import EXPERIMENTS, SPEEDS
from simulator.numbers import Spread

FAR: Final = 2.0
"""Standard errors beyond which two means differ."""


def findings(results: Results, held_out: Results, cases: Sequence[Case]) -> Iterator[str]:
    """Yield the findings."""
    yield _claim(results, cases)
    yield _everywhere(results, cases)
    yield _best_when_small(results, cases)
    yield _marginal(results, cases)
    yield _starving(results, cases)
    yield _urgent(results, cases)
    yield _fresh(results, held_out, cases)
    yield from _far(results, cases)


def _case(cases: Sequence[Case], name: str, speed: str, experiment: int) -> Case:
    return next(
        case
        for case in cases
        if (case.contestant.name, case.speed, case.experiment) == (name, speed, experiment)
    )


def _means(results: Results, cases: Sequence[Case], name: str, speed: str) -> list[float]:
    return [results.gain(_case(cases, name, speed, e)).mean for e in EXPERIMENTS]


def _listed(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


def _claim(results: Results, cases: Sequence[Case]) -> str:
    parts = []
    for speed in SPEEDS:
        shares = [results.share(_case(cases, "DRS", speed, e), CLAIM) for e in EXPERIMENTS]
        parts.append(f"{speed} {' / '.join(f'{share:.0f}' for share in shares)} %")
    return (
        f"A makespan at least {CLAIM} % shorter than DRAGON's is reached by DRS on this share of "
        f"the seeds (experiments 1 / 2 / 3): {'; '.join(parts)}."
    )


def _everywhere(results: Results, cases: Sequence[Case]) -> str:
    parts = [f"{speed} {_listed(_means(results, cases, 'DRS', speed))}" for speed in SPEEDS]
    better = [s for s in SPEEDS if min(_means(results, cases, "DRS", s)) > 0.0]
    return (
        f"Mean gain of DRS in makespan, % (experiments 1 / 2 / 3): {'; '.join(parts)}. Its "
        f"mean is better in all three with: {', '.join(better) or 'none'}."
    )


def _best_when_small(results: Results, cases: Sequence[Case]) -> str:
    best = {}
    for speed in SPEEDS:
        means = _means(results, cases, "DRS", speed)
        best[speed] = means.index(max(means)) + 1
    agree = [speed for speed, number in best.items() if number == 1]
    return (
        "The claim that DRS is best where jobs are small relative to the cluster (experiment 1) "
        f"holds with: {', '.join(agree) or 'none'}; the best experiment is "
        f"{', '.join(f'{number} with {speed}' for speed, number in best.items())}."
    )


def _marginal(results: Results, cases: Sequence[Case]) -> str:
    parts = [
        f"{speed} {_listed(_means(results, cases, 'DRS', speed))} → "
        f"{_listed(_means(results, cases, 'DRS-m', speed))}"
        for speed in SPEEDS
    ]
    return f"Marginal gain (DRS → DRS-m, makespan, %): {'; '.join(parts)}."


def _starving(results: Results, cases: Sequence[Case]) -> str:
    parts = []
    for speed in SPEEDS:
        without, with_it = (_case(cases, name, speed, 2) for name in ("DRS-m", "DRS-ms"))
        parts.append(
            f"{speed} {results.gain(without).mean:.1f} → {results.gain(with_it).mean:.1f}, "
            f"mean job time {results.gain(without, 'mean').mean:.1f} → "
            f"{results.gain(with_it, 'mean').mean:.1f}"
        )
    return (
        "In experiment 2 three jobs fill the nodes and the fourth waits. Scale-down for jobs "
        f"that starve (DRS-m → DRS-ms, makespan, %): {'; '.join(parts)}."
    )


def _urgent(results: Results, cases: Sequence[Case]) -> str:
    parts = [
        f"{speed} "
        + " / ".join(
            f"{results.gain(_case(cases, name, speed, 3), 'urgent').mean:.0f}"
            for name in ("DRS", "DRS-m")
        )
        for speed in SPEEDS
    ]
    return f"The important job of experiment 3 gains, DRS / DRS-m, %: {'; '.join(parts)}."


def _fresh(results: Results, held_out: Results, cases: Sequence[Case]) -> str:
    apart = [
        (abs(distance(results.gain(case), held_out.gain(case))), case)
        for case in cases
        if case.contestant.name != "DRAGON"
    ]
    far = [case for much, case in apart if much > FAR]
    most, worst = max(apart, key=lambda gap: gap[0])
    return (
        f"On the held-out seeds {len(far)} of {len(apart)} mean gains are more than {FAR:g} "
        f"standard errors away from these; the farthest is {_name(worst)} with {most:.1f}."
    )


def _far(results: Results, cases: Sequence[Case]) -> Iterator[str]:
    compared = 0
    for case in cases:
        name = case.contestant.name
        other = (
            None if name == "DRAGON" else independent.makespan(case.speed, case.experiment, name)
        )
        if other is None:
            continue
        compared += 1
        ours = results.gain(case)
        if abs(away := distance(ours, other)) > FAR:
            yield (
                f"Difference from the independent model: {away:+.1f} standard errors: "
                f"{_name(case)}, {ours.mean:.1f} ± {ours.deviation:.1f} against {other.mean:.1f} ± "
                f"{other.deviation:.1f}."
            )
    yield f"Compared with the independent model: {compared} mean gains in makespan."


def distance(ours: Spread, other: Spread) -> float:
    """Return the distance of two means, in standard errors of their difference."""
    error = math.hypot(ours.error, other.error)
    difference = ours.mean - other.mean
    if difference == 0.0:
        return 0.0
    return difference / error if error else math.copysign(math.inf, difference)


def _name(case: Case) -> str:
    return f"{case.contestant.name}, {case.speed}, experiment {case.experiment}"
