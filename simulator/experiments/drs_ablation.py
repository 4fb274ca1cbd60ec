"""Where the gain of DRS comes from: DRAGON changed step by step, and varied assumptions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

from extender.core.parameters.elastic import ScalingParameters
from simulator import seeds
from simulator.baselines.dragon import DragonParameters
from simulator.experiments.drs import pictures
from simulator.experiments.drs.contest import (
    DRAGON,
    Case,
    Contestant,
    Results,
    contest,
    contestants,
)
from simulator.experiments.drs.setting import EXPERIMENTS, Assumed
from simulator.experiments.registry import Options
from simulator.numbers import Spread
from simulator.results import Cell, Outcome, Table

TITLE: Final = "DRS: where the gain comes from"
SEEDS: Final = 40
SPEEDS: Final = ("linear", "async")
_BOTH: Final = DragonParameters(quiet_seconds=0.0, leaves_server=True)

STEPS: Final[Mapping[str, DragonParameters]] = {
    "grows at once": DragonParameters(quiet_seconds=0.0),
    "workers leave the server's node": DragonParameters(leaves_server=True),
    "both": _BOTH,
    "both, job by job": replace(_BOTH, in_turns=False),
    "both, and best fit": replace(_BOTH, best_fit=True),
    "both, best fit, weighted queue": replace(_BOTH, best_fit=True, by_utility=True),
}
"""Steps from DRAGON towards DRS."""
PAUSES: Final = (5.0, 30.0, 60.0)
NEAR_COSTS: Final = (0.25, 0.5, 1.0)
WANTED: Final = ("least", "usual", "most")


def run(options: Options) -> Outcome:
    """Run the ladder and the assumptions, at two speeds, in all experiments."""
    count = options.seeds or SEEDS
    chosen = seeds.seeds(seeds.IN_SAMPLE, count)
    params = options.parameters.scaling
    results = contest(_cases(params), chosen, options, "seeds")
    return Outcome(
        name="drs-ablation",
        title=TITLE,
        source="F. Bestari (2020); DRAGON (CLOSER 2019); N. Prima Yoriko (2022): up to 16.305 % by "
        "growing in turns instead of job by job",
        command="shuntyard-sim reproduce drs-ablation",
        seeds=(("all tables", seeds.IN_SAMPLE, seeds.IN_SAMPLE + count - 1),),
        assumptions=("As drs-scaling, but for what a table changes.",),
        findings=tuple(_findings(results, params)),
        tables=tuple(_tables(results, params)),
        series={"ladder": _series(results, params)},
        parameters=repr(params),
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the ladder."""
    charts = {
        speed: [(f"exp. {number}", bars) for number, bars in groups.items()]
        for speed, groups in outcome.series["ladder"].items()
    }
    pictures.draw(charts, None, path)


def _ladder(params: ScalingParameters) -> list[Contestant]:
    """Return DRAGON changed step by step, then DRS and the switches of the policy."""
    _, _, drs, gaining, whole = contestants(params)
    return [
        *(Contestant(name, how) for name, how in STEPS.items()),
        drs,
        replace(drs, name="DRS, last worker first", any_worker=False),
        Contestant("DRS, reserve", replace(_scaling(drs), reserve=True)),
        gaining,
        whole,
        replace(whole, name="DRS-ms, last worker first", any_worker=False),
        Contestant("DRS-ms, reserve", replace(params, reserve=True)),
    ]


def _scaling(contestant: Contestant) -> ScalingParameters:
    if not isinstance(contestant.how, ScalingParameters):
        raise TypeError(f"{contestant.name} is not a variant of the policy")
    return contestant.how


def _assumptions() -> dict[str, Assumed]:
    variants = {f"pause {pause:g} s": Assumed(pause_seconds=pause) for pause in PAUSES}
    variants |= {f"λ = {cost:g}": Assumed(near_cost=cost) for cost in NEAR_COSTS}
    return variants | {f"starts with {workers}": Assumed(wanted=workers) for workers in WANTED}


def _cases(params: ScalingParameters) -> list[Case]:
    ladder = [
        Case(contestant, speed, experiment)
        for contestant, speed, experiment in product(_ladder(params), SPEEDS, EXPERIMENTS)
    ]
    _, _, *policies = contestants(params)
    return ladder + [
        Case(contestant, speed, experiment, assumed)
        for contestant, speed, experiment, assumed in product(
            policies, SPEEDS, EXPERIMENTS, _assumptions().values()
        )
    ]


def _tables(results: Results, params: ScalingParameters) -> Iterator[Table]:
    head = ("", *(f"{speed}, exp. {e}" for speed, e in product(SPEEDS, EXPERIMENTS)))
    for measure, what in (("makespan", "makespan"), ("mean", "mean job time")):
        yield Table(
            f"DRAGON changed step by step, and the policy: {what} shorter than DRAGON's, %",
            head,
            tuple(
                _row(results, contestant.name, contestant, Assumed(), measure)
                for contestant in _ladder(params)
            ),
            digits=1,
        )
    _, _, *policies = contestants(params)
    for contestant in policies:
        yield Table(
            f"{contestant.name} under other assumptions: makespan shorter than DRAGON's, %",
            head,
            tuple(
                _row(results, name, contestant, how, "makespan")
                for name, how in _assumptions().items()
            ),
            digits=1,
            note="Starts with usual: 2 workers (light) or 3 (heavy); the work is that of 600 to "
            "1800 s alone with the workers it starts with.",
        )


def _row(
    results: Results, title: str, contestant: Contestant, assumed: Assumed, measure: str
) -> tuple[Cell, ...]:
    cells = [
        results.gain(Case(contestant, speed, e, assumed), measure)
        for speed, e in product(SPEEDS, EXPERIMENTS)
    ]
    return (title, *cells)


def _findings(results: Results, params: ScalingParameters) -> Iterator[str]:
    ladder = {contestant.name: contestant for contestant in _ladder(params)}
    yield from _step_findings(results, ladder)
    yield from _switch_findings(results, ladder)
    for name, how in _assumptions().items():
        if how != Assumed():
            parts = [f"{speed} {_means(results, ladder['DRS'], speed, how)}" for speed in SPEEDS]
            yield f"DRS, {name}: makespan, %: {'; '.join(parts)}."


def _step_findings(results: Results, ladder: Mapping[str, Contestant]) -> Iterator[str]:
    for speed in SPEEDS:
        parts = [f"{name} {_means(results, ladder[name], speed)}" for name in (*STEPS, "DRS")]
        yield (
            f"DRAGON changed step by step, {speed}: makespan, %, experiments 1 / 2 / 3: "
            f"{'; '.join(parts)}."
        )
    most, where = max(
        (abs(a.mean - b.mean), f"{speed}, experiment {e}")
        for speed, e in product(SPEEDS, EXPERIMENTS)
        for a, b in [_pair(results, ladder["both"], ladder["both, job by job"], speed, e)]
    )
    yield (
        f"Growing in turns instead of job by job changes the mean gain by at most {most:.1f} "
        f"points ({where}); up to 16.3 % are reported for it elsewhere."
    )


def _switch_findings(results: Results, ladder: Mapping[str, Contestant]) -> Iterator[str]:
    for without, with_it in (
        ("DRS", "DRS, reserve"),
        ("DRS-ms", "DRS-ms, reserve"),
        ("DRS", "DRS, last worker first"),
        ("DRS-ms", "DRS-ms, last worker first"),
    ):
        parts = [
            f"{speed} {_means(results, ladder[without], speed)} → "
            f"{_means(results, ladder[with_it], speed)}"
            for speed in SPEEDS
        ]
        yield f"{without} → {with_it}: makespan, %: {'; '.join(parts)}."


def _pair(
    results: Results, contestant: Contestant, other: Contestant, speed: str, experiment: int
) -> tuple[Spread, Spread]:
    first, second = (results.gain(Case(c, speed, experiment)) for c in (contestant, other))
    return first, second


def _means(
    results: Results, contestant: Contestant, speed: str, assumed: Assumed | None = None
) -> str:
    cases = [Case(contestant, speed, e, assumed or Assumed()) for e in EXPERIMENTS]
    return " / ".join(f"{results.gain(case).mean:.1f}" for case in cases)


def _series(
    results: Results, params: ScalingParameters
) -> dict[str, dict[str, dict[str, list[float]]]]:
    shown: Sequence[Contestant] = [
        contestant
        for contestant in _ladder(params)
        if contestant.name in {*STEPS, "DRS", "DRS-ms"} and contestant != DRAGON
    ]
    return {
        speed: {
            str(e): {
                contestant.name: [round(s.mean, 3), round(s.deviation, 3)]
                for contestant in shown
                for s in [results.gain(Case(contestant, speed, e))]
            }
            for e in EXPERIMENTS
        }
        for speed in SPEEDS
    }
