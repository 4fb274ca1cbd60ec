"""The sections of the settings file that decide about moving jobs and about their CPU."""

from typing import Any, Self

from pydantic import Field, model_validator

from extender.core.parameters import cpu_shares, migration
from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.core.parameters.migration import (
    CountParameters,
    GainParameters,
    MigrationParameters,
    MigrationPolicy,
    RebalanceParameters,
    RebalanceWhen,
    TargetParameters,
)
from shared.settings import Section, bounded


def _limit(name: str, description: str) -> Any:
    return bounded(MigrationParameters, migration.MIGRATION_BOUNDS, name, description)


def _weight(name: str, description: str) -> Any:
    return bounded(TargetParameters, migration.TARGET_BOUNDS, name, description)


def _gain(name: str, description: str) -> Any:
    return bounded(GainParameters, migration.GAIN_BOUNDS, name, description)


def _count(name: str, description: str) -> Any:
    return bounded(
        CountParameters, migration.COUNT_BOUNDS, name, f"With `policy: count`: {description}"
    )


class MigrationSection(Section):
    """Which jobs are moved, and within which limits (docs/policies/migration_target.md).

    Only jobs with a checkpoint directory (`shuntyard.io/checkpoint`) are ever moved.
    """

    policy: MigrationPolicy = Field(
        default=MigrationParameters.policy,
        description="`specon`: converged jobs, by SpeCon; `count`: any job, so that nodes have "
        "equally many; `none`: nothing is moved.",
    )
    interval_seconds: float = Field(
        default=5.0, ge=0.1, le=3600, description="Moves are looked for this often."
    )
    request_on_enter: bool = Field(
        default=MigrationParameters.request_on_enter,
        description="Whether a job is looked at as soon as it is converged; else one tick of the "
        "agent later, as printed in the paper.",
    )
    min_fast_peers: int = _limit(
        "min_fast_peers",
        "Progressing and watching containers a converged one must leave behind to be moved. The "
        "paper's 2 almost never moves anything on small nodes.",
    )
    progressing_weight: float = _weight(
        "progressing_weight", "What a progressing container counts on a node (Algorithm 2)."
    )
    watching_weight: float = _weight(
        "watching_weight", "What a watching one counts; not above a progressing one."
    )
    converged_weight: float = _weight(
        "converged_weight", "What a converged one counts; not above a watching one."
    )
    exclude_own: bool = Field(
        default=TargetParameters.exclude_own,
        description="Whether a container is left out of the count of its own node. The paper "
        "counts it, which gains the same with twice the moves.",
    )
    moved_as_progressing: bool = Field(
        default=TargetParameters.moved_as_progressing,
        description="Whether a container counts as progressing on the node it was moved to.",
    )
    stay_counts_as_move: bool = Field(
        default=TargetParameters.stay_counts_as_move,
        description="Whether finding no better node uses up a job's move.",
    )
    rebalance: RebalanceWhen = Field(
        default=RebalanceParameters.when,
        description="When Algorithm 3 fills nodes that ran short: at `any_imbalance`, only when "
        "`all_converged`, or `never`.",
    )
    count_difference: int = _count(
        "difference", "a node must have this many containers more than another."
    )
    count_most_moves: int = _count("most_moves", "moves of a job in its life.")
    count_pause_seconds: float = _count("pause_seconds", "least time between two moves of a job.")
    minimum_gain_ratio: float = _gain(
        "minimum_ratio",
        "A move must save this many times what it costs; 0: it need not, as in the paper.",
    )
    first_cost_seconds: float = _gain(
        "first_cost_seconds", "What a move is thought to cost until one was measured."
    )
    most_moves_per_job: int = _limit(
        "most_moves_per_job",
        "Moves of a job by Algorithm 2; rebalancing may move it once more. 0: none.",
    )
    most_open: int = _limit("most_open", "Migrations at a time in the cluster; 0: none is begun.")
    most_open_per_node: int = _limit(
        "most_open_per_node", "Migrations at a time that a node is source or target of."
    )
    cooldown_seconds: float = _limit(
        "cooldown_seconds", "From the end of a job's migration to its next one."
    )
    checkpoint_seconds: float = _limit(
        "checkpoint_seconds", "How long a trainer may take to save; then the move is aborted."
    )
    hold_seconds: float = _limit(
        "hold_seconds",
        "How long a trainer that has saved waits to be ended, then it goes on. Not below "
        "`evict_seconds`.",
    )
    evict_seconds: float = _limit(
        "evict_seconds",
        "How long an eviction that a PodDisruptionBudget forbids is tried again; then the move is "
        "aborted.",
    )
    recreate_seconds: float = _limit(
        "recreate_seconds", "From the eviction until the new pod is bound."
    )
    resume_seconds: float = _limit(
        "resume_seconds", "From there until the agent sees a step beyond the checkpoint."
    )
    keep_seconds: float = _limit("keep_seconds", "How long an ended Migration object is kept.")
    stale_seconds: float = _limit(
        "stale_seconds", "No move is decided on a node whose agent was silent for longer."
    )

    def parameters(self) -> MigrationParameters:
        """Return what the engine is told.

        Raises:
            ValueError: Weights rise, or a hold is shorter than an eviction may take.
        """
        return MigrationParameters(
            policy=self.policy,
            request_on_enter=self.request_on_enter,
            min_fast_peers=self.min_fast_peers,
            most_moves_per_job=self.most_moves_per_job,
            most_open=self.most_open,
            most_open_per_node=self.most_open_per_node,
            cooldown_seconds=self.cooldown_seconds,
            checkpoint_seconds=self.checkpoint_seconds,
            hold_seconds=self.hold_seconds,
            evict_seconds=self.evict_seconds,
            recreate_seconds=self.recreate_seconds,
            resume_seconds=self.resume_seconds,
            keep_seconds=self.keep_seconds,
            stale_seconds=self.stale_seconds,
            target=TargetParameters(
                self.progressing_weight,
                self.watching_weight,
                self.converged_weight,
                self.exclude_own,
                self.moved_as_progressing,
                self.stay_counts_as_move,
            ),
            rebalance=RebalanceParameters(self.rebalance),
            count=CountParameters(
                self.count_difference, self.count_most_moves, self.count_pause_seconds
            ),
            gain=GainParameters(self.minimum_gain_ratio, self.first_cost_seconds),
        )

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        self.parameters()
        return self


def _cpu(name: str, description: str) -> Any:
    return bounded(CpuShareParameters, cpu_shares.CPU_SHARE_BOUNDS, name, description)


class CpuWeightsSection(Section):
    """CPU requests that follow the remaining work of a job (docs/policies/cpu_weights.md).

    Only pods of QoS class Burstable, resized in place; what their owners asked for is restored when
    the extender ends or this is switched off.
    """

    enabled: bool = Field(
        default=CpuShareParameters.enabled, description="Whether requests are changed at all."
    )
    interval_seconds: float = Field(
        default=30.0, ge=1, le=3600, description="Requests are set this often."
    )
    restore_seconds: float = Field(
        default=10.0,
        ge=0,
        le=300,
        description="When the extender is told to end, restoring may take so long; what is left "
        "then, the next one restores or goes on with.",
    )
    exponent: float = _cpu(
        "exponent",
        "Weight = remaining work to the power of minus this. 1: shortest mean completion time; "
        "0.5: most of it, milder; 0: remaining work is not looked at.",
    )
    converged_ratio: float = _cpu(
        "converged_ratio",
        "Weight of a converged job against another. 0.5 with an exponent of 0: the shortest time "
        "to 95 % of the loss, longer completion.",
    )
    floor_milli: int = _cpu(
        "floor_milli", "No request is brought below this many thousandths of a CPU."
    )

    def parameters(self) -> CpuShareParameters:
        """Return what the engine is told."""
        return CpuShareParameters(
            self.enabled, self.exponent, self.converged_ratio, self.floor_milli
        )
