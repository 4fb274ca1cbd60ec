"""The contestants of the OASiS experiments, and their runs on the same jobs, seed by seed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import (
    AdmissionParameters,
    BoundsParameters,
    PriceBoundRule,
    Replanning,
)
from extender.core.pricing import price_bounds, slots
from extender.core.pricing.price_bounds import Bounds
from simulator import seeds
from simulator.baselines import dorm, drf, slot_order
from simulator.baselines.slot_order import DensityGreedy, Fifo, ShortestRemaining
from simulator.experiments.oasis.planned import Planned, normalised_jobs
from simulator.experiments.oasis.workload import Setting, draw
from simulator.experiments.registry import Options
from simulator.models.slot_world import SlotPolicy, SlotRun, SlotWorkload, play
from simulator.numbers import Spread, spread

KAPPA: Final = 5e4
"""κ = U/L of "OASiS" here, calibrated: the best fit to the paper's figures."""
REPLANNING_KAPPA: Final = 1e6
"""κ with replanning, where prices matter little."""
COLOCATED_GBPS: Final = 50.0
"""Bandwidth b inside one machine."""

Runner = Callable[[SlotWorkload, SlotWorkload, CoreParameters], SlotRun]
"""Runs a workload; the second workload is another sample, as past experience."""

OASIS: Final = "OASiS"
PRINTED: Final = "OASiS, printed bounds"
QUANTILE: Final = "OASiS, quantile reserve"
PAST: Final = "OASiS, U of other jobs"
SORTED: Final = "OASiS, denser first in a slot"
ADMITTED_FIRST: Final = "replanned, admitted first"
WITHOUT_COMMITMENT: Final = "replanned, no commitment"
COLOCATED: Final = "OASiS, co-location"
DORM: Final = "Dorm"
DENSITY: Final = "density greedy"

FOUR: Final = ("FIFO", "DRF", "RRH", DORM)
"""The paper's four policies."""
REPAIRED: Final = ("DRF that drops", "RRH that admits all", "shortest remaining", DENSITY)
"""Not in the paper: a repair each of DRF and RRH, and two simple elastic rules."""


def kappa(workload: SlotWorkload, ratio: float = KAPPA) -> Bounds:
    """Return U of the workload's own jobs and L = U/κ."""
    return price_bounds.by_kappa(normalised_jobs(workload), ratio)


def printed(workload: SlotWorkload) -> Bounds:
    """Return the bounds (23) to (26) of the workload's own jobs, as in the paper."""
    cluster = slots.normalised(workload.cluster)
    return price_bounds.printed(
        normalised_jobs(workload), cluster, BoundsParameters(rule=PriceBoundRule.PRINTED)
    )


def quantile(past: SlotWorkload, parameters: CoreParameters) -> Bounds:
    """Return the quantile reserve of past jobs."""
    return price_bounds.quantile_reserve(normalised_jobs(past), parameters.price_bounds)


def planned(
    workload: SlotWorkload, bounds: Bounds, params: AdmissionParameters | None = None
) -> SlotRun:
    """Run OASiS with given price bounds."""
    return play(workload, Planned(workload, bounds, params or AdmissionParameters()))


def _replanned(workload: SlotWorkload, kind: Replanning) -> SlotRun:
    ratio = KAPPA if kind is Replanning.ADMITTED_FIRST else REPLANNING_KAPPA
    return planned(workload, kappa(workload, ratio), AdmissionParameters(replanning=kind))


def _baseline(make: Callable[[SlotWorkload], SlotPolicy]) -> Runner:
    return lambda workload, _past, _parameters: play(workload, make(workload))


RUNNERS: Final[Mapping[str, Runner]] = {
    OASIS: lambda jobs, _past, _p: planned(jobs, kappa(jobs)),
    QUANTILE: lambda jobs, past, p: planned(jobs, quantile(past, p)),
    PRINTED: lambda jobs, _past, _p: planned(jobs, printed(jobs)),
    PAST: lambda jobs, past, _p: planned(jobs, kappa(past)),
    SORTED: lambda jobs, _past, _p: play(
        jobs, Planned(jobs, kappa(jobs), AdmissionParameters(), densest_first=True)
    ),
    ADMITTED_FIRST: lambda jobs, _past, _p: _replanned(jobs, Replanning.ADMITTED_FIRST),
    WITHOUT_COMMITMENT: lambda jobs, _past, _p: _replanned(jobs, Replanning.WITHOUT_COMMITMENT),
    COLOCATED: lambda jobs, _past, _p: planned(
        jobs, kappa(jobs), AdmissionParameters(colocation_bandwidth=COLOCATED_GBPS)
    ),
    "FIFO": _baseline(Fifo),
    "DRF": _baseline(drf.Drf),
    "RRH": _baseline(slot_order.Rrh),
    DORM: lambda jobs, _past, _p: dorm.run(jobs)[0],
    "DRF that drops": _baseline(drf.with_drop),
    "RRH that admits all": _baseline(slot_order.without_admission),
    "shortest remaining": _baseline(ShortestRemaining),
    DENSITY: _baseline(DensityGreedy),
}
"""Name → function that runs it."""


SEEDS: Final = 40
_JOBS: Final = 1
_PAST: Final = 2

Runs = Mapping[str, Sequence[Sequence[SlotRun]]]
"""Name → setting → seed → run."""


def workload(seed: int, setting: Setting) -> SlotWorkload:
    """Return the jobs and servers of a seed."""
    return draw(setting, seeds.generator(seed, _JOBS, setting.jobs))


def past(seed: int, setting: Setting) -> SlotWorkload:
    """Return another sample of such jobs and servers, as past experience."""
    return draw(setting, seeds.generator(seed, _PAST, setting.jobs))


def run_all(
    settings: Sequence[Setting],
    names: Sequence[str],
    chosen: Sequence[int],
    what: str,
    options: Options,
) -> Runs:
    """Run all policies on every setting and seed."""
    run_seed = partial(_run_seed, tuple(settings), tuple(names), options)
    by_seed = seeds.over(run_seed, chosen, what, options.processes)
    return {
        name: [[runs[at][name] for runs in by_seed] for at in range(len(settings))]
        for name in names
    }


def _run_seed(
    settings: tuple[Setting, ...], names: tuple[str, ...], options: Options, seed: int
) -> list[dict[str, SlotRun]]:
    runs = []
    for setting in settings:
        jobs, before = workload(seed, setting), past(seed, setting)
        runs.append({name: RUNNERS[name](jobs, before, options.parameters) for name in names})
    return runs


def utilities(runs: Sequence[SlotRun]) -> Spread:
    """Return the total utility over seeds."""
    return spread(run.utility for run in runs)


def ratios(above: Sequence[SlotRun], below: Sequence[SlotRun]) -> Spread | None:
    """Return the ratio of two total utilities, seed by seed, over the seeds both have.

    Seeds where the denominator is 0 are left out; None if those are all.
    """
    pairs = zip(above, below, strict=False)
    quotients = [ours.utility / theirs.utility for ours, theirs in pairs if theirs.utility > 0]
    return spread(quotients) if quotients else None


def listed(values: Iterable[Spread | float | None]) -> str:
    """Return means as text for a sentence."""
    means = (value.mean if isinstance(value, Spread) else value for value in values)
    return ", ".join("-" if mean is None else f"{mean:.2f}" for mean in means)


def best(rivals: Sequence[Sequence[SlotRun]]) -> list[SlotRun]:
    """Return the best run of several rivals, seed by seed, over the seeds all have."""
    by_seed = zip(*rivals, strict=False)
    return [max(runs, key=lambda run: run.utility) for runs in by_seed]
