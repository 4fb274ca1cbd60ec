"""What decides about moving jobs: which rule, within which limits and deadlines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from extender.policy.count_balance import CountParameters
from extender.policy.migration_gain import GainParameters
from extender.policy.migration_target import TargetParameters
from extender.policy.rebalance import RebalanceParameters
from extender.policy.topology import TopologyParameters


class MigrationPolicy(StrEnum):
    """Which rule moves jobs."""

    SPECON = "specon"
    """Converged jobs, by SpeCon's Algorithms 1 to 3."""
    COUNT = "count"
    """Any job, so that nodes have equally many (``policy.count_balance``)."""
    NONE = "none"
    """Nothing is moved."""


BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "min_fast_peers": (0, 1000),
    "most_moves_per_job": (0, 100),
    "most_open": (0, 1000),
    "most_open_per_node": (0, 1000),
    "cooldown_seconds": (0, 86400),
    "checkpoint_seconds": (1, 86400),
    "hold_seconds": (1, 86400),
    "evict_seconds": (1, 86400),
    "recreate_seconds": (1, 86400),
    "resume_seconds": (1, 86400),
    "keep_seconds": (0, 30 * 86400),
    "stale_seconds": (1, 3600),
}
"""Lowest and highest value of each number in ``MigrationParameters`` itself."""


@dataclass(frozen=True)
class MigrationParameters:
    """What the engine needs to know about moving jobs.

    Attributes:
        policy: Which rule moves jobs.
        request_on_enter: A job is looked at as soon as it is converged; false: one tick of the
            agent later, as the paper's pseudo-code has it.
        min_fast_peers: Least number of progressing and watching containers that a converged one
            must leave behind to be moved at all. The paper has 2, which almost never moves where a
            node holds one or two jobs (calibration, section 4).
        most_moves_per_job: Moves of one job by Algorithm 2; rebalancing may move it once more.
        most_open: Migrations that are open at a time in the cluster; 0: none is begun.
        most_open_per_node: Those that a node may be source or target of at a time.
        cooldown_seconds: From the end of a job's migration to its next one.
        checkpoint_seconds: From the request to the trainer's ack; then it is aborted.
        hold_seconds: From the ack on, how long the trainer waits to be ended; then it goes on. Not
            below ``evict_seconds``, or it could go on while it is being evicted.
        evict_seconds: How long an eviction that a disruption budget forbids is tried again.
        recreate_seconds: From the eviction until the new pod is bound.
        resume_seconds: From there until the agent sees a step beyond the checkpoint.
        keep_seconds: How long the record of an ended migration is kept.
        stale_seconds: A node whose agent was silent for longer is not decided on.
        target: Of Algorithm 2.
        rebalance: Of Algorithm 3.
        count: Of count balancing.
        gain: What a move must bring.
        topology: The levels that jobs may require; nobody is moved out of a required domain.

    Raises:
        ValueError: ``hold_seconds`` is below ``evict_seconds``.
    """

    policy: MigrationPolicy = MigrationPolicy.SPECON
    request_on_enter: bool = True
    min_fast_peers: int = 1
    most_moves_per_job: int = 1
    most_open: int = 2
    most_open_per_node: int = 1
    cooldown_seconds: float = 120.0
    checkpoint_seconds: float = 120.0
    hold_seconds: float = 180.0
    evict_seconds: float = 60.0
    recreate_seconds: float = 900.0
    resume_seconds: float = 300.0
    keep_seconds: float = 86400.0
    stale_seconds: float = 30.0
    target: TargetParameters = field(default_factory=TargetParameters)
    rebalance: RebalanceParameters = field(default_factory=RebalanceParameters)
    count: CountParameters = field(default_factory=CountParameters)
    gain: GainParameters = field(default_factory=GainParameters)
    topology: TopologyParameters = field(default_factory=TopologyParameters)

    def __post_init__(self) -> None:
        if self.hold_seconds < self.evict_seconds:
            raise ValueError(
                f"hold_seconds {self.hold_seconds:g} must not be below "
                f"evict_seconds {self.evict_seconds:g}"
            )
