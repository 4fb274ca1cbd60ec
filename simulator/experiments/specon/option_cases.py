"""Cases of ``specon-options``: options of SpeCon, and other rules."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from extender.core.parameters.migration import MigrationParameters, RebalanceWhen
from shared.convergence.parameters import Normalisation
from simulator.experiments.specon import variants
from simulator.experiments.specon.measures import Case
from simulator.experiments.specon.scenarios import FIXED, IN_300, IN_1200, MODELS, NEW, PRINTED
from simulator.experiments.specon.variants import B, C, Variant, after_pauses, rebalanced

DEFAULTS: Final = "the extender's defaults"


def options(own: MigrationParameters) -> Mapping[str, Variant]:
    """Return B with one option changed each, and the extender's own."""
    return {
        "B": B,
        "request one tick later": B.with_migration(request_on_enter=False),
        "no fast peer required": B.with_migration(min_fast_peers=0),
        "S": variants.S,
        "growth signed": B.with_convergence(signed=True),
        "growth absolute": B.with_convergence(normalisation=Normalisation.ABSOLUTE),
        "silent ticks count": B.with_convergence(count_silent_ticks=True),
        "a stay is no move": B.with_target(stay_counts_as_move=False),
        "own container excluded": B.with_target(exclude_own=True),
        "moved ones progress": B.with_target(moved_as_progressing=True),
        "no rebalancing": B.with_migration(rebalance=rebalanced(RebalanceWhen.NEVER)),
        "rebalancing when all converged": B.with_migration(
            rebalance=rebalanced(RebalanceWhen.ALL_CONVERGED)
        ),
        "α 0.05": B.with_convergence(alpha=0.05),
        "α 0.10": B.with_convergence(alpha=0.10),
        "every 10 s": B.with_convergence(interval_seconds=10.0),
        "every 20 s": B.with_convergence(interval_seconds=20.0),
        "every 60 s": B.with_convergence(interval_seconds=60.0),
        DEFAULTS: variants.own(own),
    }


NOISES: Final = (0.0, 0.001, 0.003, 0.01, 0.03)
NOISY: Final = (FIXED, IN_300, IN_1200)
"""Scenarios with varied noise."""
PAUSES: Final = (5.0, 15.0, 30.0, 60.0)
PAUSED: Final = (FIXED, IN_300)
"""Scenarios with varied pauses."""
RIVALS: Final[Mapping[str, Variant]] = {
    "B": B,
    "C": C,
    "C at ticks, one move each": variants.C_RARE,
    "Algorithms 1, 2 and C": variants.B_AND_C,
    "C, converged weight 2": variants.C_CONVERGED_DOUBLE,
    "C, converged weight ½": variants.C_CONVERGED_HALF,
    "C+½": variants.C_HALF,
    "C+1": variants.C_ONE,
}
"""C is count balancing; +½ and +1: CPU weight by remaining work to the power of minus that."""
HELD_OUT: Final = {"W": ("B", "C", "C+½", "C+1"), "T": ("B", "C", "C+1")}
"""Model → rules that also run on held-out seeds."""
W: Final = MODELS["W"]


def in_sample(own: MigrationParameters) -> Mapping[str, Case]:
    """Return the cases on the seeds that options were chosen by, model W."""
    rules = {**options(own), **RIVALS}
    cases = {
        f"{scenario.name} {name}": Case(scenario, W, rule)
        for scenario in PRINTED
        for name, rule in rules.items()
    }
    for scenario in NOISY:
        for noise in NOISES:
            noisy = replace(B, noise=noise)
            cases[f"{scenario.name} noise {noise:g}"] = Case(scenario, W, noisy)
    for scenario in PAUSED:
        for seconds in PAUSES:
            for name in ("B", "C"):
                paused = after_pauses(RIVALS[name], seconds)
                cases[f"{scenario.name} {name} pause {seconds:g}"] = Case(scenario, W, paused)
    return cases


def held_out() -> Mapping[str, Case]:
    """Return the cases on held-out seeds, including scenarios not used to choose parameters."""
    return {
        f"{model} {scenario.name} {name}": Case(scenario, MODELS[model], RIVALS[name])
        for model, names in HELD_OUT.items()
        for scenario in (*PRINTED, *NEW)
        for name in names
    }
