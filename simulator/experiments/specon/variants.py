"""Variants of rules and options: the printed algorithm, changes of it, and ours."""

from dataclasses import dataclass, field, replace
from typing import Any, Final

from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.core.parameters.migration import (
    CountParameters,
    MigrationParameters,
    MigrationPolicy,
    RebalanceParameters,
    RebalanceWhen,
    TargetParameters,
)
from shared.convergence.parameters import ConvergenceParameters
from simulator.experiments.specon.rules import Counting, Monitor, Specon, Tally, Weighing
from simulator.experiments.specon.scenarios import NOISE
from simulator.models.fluid import Rule


@dataclass(frozen=True)
class Variant:
    """Rules with their options.

    Attributes:
        migration: The rule that moves tasks, with its options; limits and deadlines of a live
            cluster are not read.
        convergence: Options of Algorithm 1; its interval is that of all ticks.
        weights: Options of CPU weights.
        also_count: Whether count balancing runs beside SpeCon.
        ticks_only: Whether count balancing runs at ticks only.
        pause_seconds: Pause for a move.
        noise: Of the reported losses.
    """

    migration: MigrationParameters
    convergence: ConvergenceParameters = field(default_factory=ConvergenceParameters)
    weights: CpuShareParameters = field(default_factory=CpuShareParameters)
    also_count: bool = False
    ticks_only: bool = False
    pause_seconds: float = 5.0
    noise: float = NOISE

    def rules(self) -> tuple[list[Rule], Weighing | None, Tally]:
        """Return the rules and the weigher of one run, and the tally that they fill."""
        policy, tally = self.migration.policy, Tally()
        monitor = Monitor(self.convergence, request_on_enter=self.migration.request_on_enter)
        rules: list[Rule] = []
        if policy is MigrationPolicy.SPECON or self.weights.converged_ratio != 1.0:
            rules.append(monitor)
        if policy is MigrationPolicy.SPECON:
            rules.append(Specon(self.migration, monitor, tally))
        if policy is MigrationPolicy.COUNT or self.also_count:
            rules.append(Counting(self.migration.count, tally, ticks_only=self.ticks_only))
        weighing = Weighing(self.weights, monitor) if self.weights.enabled else None
        return rules, weighing, tally

    def with_target(self, **options: Any) -> "Variant":
        """Return a copy with other options of Algorithm 2."""
        target = replace(self.migration.target, **options)
        return replace(self, migration=replace(self.migration, target=target))

    def with_migration(self, **options: Any) -> "Variant":
        """Return a copy with other options of migration."""
        return replace(self, migration=replace(self.migration, **options))

    def with_convergence(self, **options: Any) -> "Variant":
        """Return a copy with other options of Algorithm 1."""
        return replace(self, convergence=replace(self.convergence, **options))

    def with_weights(self, exponent: float, converged_ratio: float) -> "Variant":
        """Return a copy with CPU weights."""
        params = CpuShareParameters(
            enabled=True, exponent=exponent, converged_ratio=converged_ratio
        )
        return replace(self, weights=params)


def after_pauses(variant: Variant, seconds: float) -> Variant:
    """Return a copy with another pause for moves."""
    return replace(variant, pause_seconds=seconds)


def rebalanced(when: RebalanceWhen) -> RebalanceParameters:
    """Return parameters of Algorithm 3 with the given trigger."""
    return RebalanceParameters(when=when)


def own(params: MigrationParameters) -> Variant:
    """Return SpeCon with the extender's own options of migration."""
    return Variant(replace(params, policy=MigrationPolicy.SPECON))


B: Final = Variant(
    MigrationParameters(
        policy=MigrationPolicy.SPECON,
        request_on_enter=True,
        min_fast_peers=1,
        target=TargetParameters(exclude_own=False),
    ),
    ConvergenceParameters(signed=False),
)
"""The paper's algorithm with its mistakes corrected. Where its text and its example differ, as in
the example: the request comes with the category, and one faster peer is enough."""
S: Final = B.with_migration(request_on_enter=False, min_fast_peers=2)
"""The same as in the paper's pseudo-code."""
C: Final = Variant(MigrationParameters(policy=MigrationPolicy.COUNT))
"""Count balancing."""
C_RARE: Final = replace(C.with_migration(count=CountParameters(most_moves=1)), ticks_only=True)
"""Count balancing at ticks only, with one move for each job."""
B_AND_C: Final = replace(
    B.with_migration(rebalance=rebalanced(RebalanceWhen.NEVER)), also_count=True
)
"""Algorithms 1 and 2, and count balancing instead of Algorithm 3."""
C_HALF: Final = C.with_weights(0.5, 1.0)
C_ONE: Final = C.with_weights(1.0, 1.0)
C_CONVERGED_HALF: Final = C.with_weights(0.0, 0.5)
C_CONVERGED_DOUBLE: Final = C.with_weights(0.0, 2.0)
