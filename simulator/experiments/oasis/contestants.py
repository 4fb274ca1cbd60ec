"""Who meets whom in the OASiS experiments: names → how to run them on a workload."""

from collections.abc import Callable, Mapping
from typing import Final

from extender.engine.parameters import EngineParameters
from extender.policy import price_bounds, slots
from extender.policy.admission import AdmissionParameters, Replanning
from extender.policy.price_bounds import Bounds, BoundsParameters, Rule
from simulator.baselines import dorm, drf, rrh
from simulator.baselines.elastic import DensityGreedy, ShortestRemaining
from simulator.baselines.fifo import Fifo
from simulator.experiments.oasis.planned import Planned, units_of
from simulator.models.slot_world import SlotPolicy, SlotRun, SlotWorkload, play

KAPPA: Final = 5e4
"""κ = U/L of "OASiS" here; calibrated in model runs: the best fit to the paper's figures."""
REPLANNING_KAPPA: Final = 1e6
"""κ where plans are made anew: prices matter little then."""
COLOCATED_GBPS: Final = 50.0
"""b inside one machine."""

Runner = Callable[[SlotWorkload, SlotWorkload, EngineParameters], SlotRun]
"""Runs a workload; the second one is another sample of such jobs, "past experience"."""

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
"""The paper's four."""
REPAIRED: Final = ("DRF that drops", "RRH that admits all", "shortest remaining", DENSITY)
"""Not in the paper: one repair each, and two simple elastic rules."""


def kappa(workload: SlotWorkload, ratio: float = KAPPA) -> Bounds:
    """Return U of the workload's own jobs and L = U/κ."""
    return price_bounds.by_kappa(units_of(workload), ratio)


def printed(workload: SlotWorkload) -> Bounds:
    """Return the bounds (23) to (26) of the workload's own jobs, as the paper knows them."""
    cluster = slots.normalised(workload.cluster)
    return price_bounds.printed(units_of(workload), cluster, BoundsParameters(rule=Rule.PRINTED))


def quantile(past: SlotWorkload, parameters: EngineParameters) -> Bounds:
    """Return the quantile reserve of past jobs."""
    return price_bounds.quantile_reserve(units_of(past), parameters.price_bounds)


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
    "RRH": _baseline(rrh.Rrh),
    DORM: lambda jobs, _past, _p: dorm.run(jobs)[0],
    "DRF that drops": _baseline(drf.with_drop),
    "RRH that admits all": _baseline(rrh.without_admission),
    "shortest remaining": _baseline(ShortestRemaining),
    DENSITY: _baseline(DensityGreedy),
}
"""Name → how to run it."""
