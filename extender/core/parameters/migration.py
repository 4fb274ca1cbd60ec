"""Parameters of migration: which rule moves jobs, within which limits and deadlines."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc

from shared.progress import Category


class MigrationPolicy(StrEnum):
    """Which rule moves jobs."""

    SPECON = "specon"
    """Converged jobs, by SpeCon's Algorithms 1 to 3."""
    COUNT = "count"
    """Any job, so that nodes have equally many."""
    NONE = "none"
    """Nothing is moved."""


@dataclass(frozen=True, kw_only=True)
class GainParameters:
    """How much a move must gain.

    Source:
        Ours. A ratio of 2: a prediction that is wrong by half still loses nothing. Thresholds from
        0 to 2 changed the mean completion time by at most 1.3 points in model runs: the limit keeps
        jobs undisturbed, it does not make them faster. A first cost of 30 s: a framework is
        imported and a model loaded again; the paper's own containers took below 5.
    """

    minimum_ratio: Annotated[
        float,
        Ge(0.0),
        Le(100.0),
        Doc("A move must save this many times what it costs; 0: no limit, as in the paper."),
    ] = 2.0
    first_cost_seconds: Annotated[
        float, Ge(0.0), Le(86400.0), Doc("Assumed cost of a move until one was measured.")
    ] = 30.0


@dataclass(frozen=True, kw_only=True)
class TargetParameters:
    """How hosts are compared; numbers without a unit, of which only the ratios matter.

    Raises:
        ValueError: The weights rise.

    Source:
        Mao et al., "Speculative Container Scheduling for Deep Learning Applications in a
        Kubernetes Cluster", IEEE Systems Journal 2021, arXiv 2010.11307, Sect. V-B: weights 2, 1.5,
        1. Leaving the own container out is ours (calibration, section 4).
    """

    progressing_weight: Annotated[
        float,
        Ge(0.0),
        Le(100.0),
        Doc("What a progressing container counts on a node (Algorithm 2)."),
    ] = 2.0
    watching_weight: Annotated[
        float,
        Ge(0.0),
        Le(100.0),
        Doc("What a watching container counts; not above `progressing_weight`."),
    ] = 1.5
    converged_weight: Annotated[
        float,
        Ge(0.0),
        Le(100.0),
        Doc("What a converged container counts; not above `watching_weight`."),
    ] = 1.0
    exclude_own: Annotated[
        bool,
        Doc(
            "Whether a container is left out of the count of its own node. The paper counts it, "
            "which gains the same with twice the moves."
        ),
    ] = True
    moved_as_progressing: Annotated[
        bool,
        Doc(
            "Whether a container counts as progressing on the node it was moved to. Not in the "
            "paper."
        ),
    ] = False
    stay_counts_as_move: Annotated[
        bool,
        Doc(
            "Whether finding no better node uses up a job's move, as in the paper. The authors' "
            "own system does not count it, moves more, and gains no more."
        ),
    ] = True

    def __post_init__(self) -> None:
        if not self.progressing_weight >= self.watching_weight >= self.converged_weight:
            raise ValueError(
                "progressing_weight, watching_weight, converged_weight: "
                f"{self.progressing_weight:g}, {self.watching_weight:g}, "
                f"{self.converged_weight:g} must not rise"
            )

    def weight(self, category: Category) -> float:
        """Return what one container of ``category`` counts."""
        return {
            Category.PROGRESSING: self.progressing_weight,
            Category.WATCHING: self.watching_weight,
            Category.CONVERGED: self.converged_weight,
        }[category]


class RebalanceWhen(StrEnum):
    """When hosts are rebalanced."""

    ANY_IMBALANCE = "any_imbalance"
    """Whenever one is short."""
    ALL_CONVERGED = "all_converged"
    """Only when every container is converged."""
    NEVER = "never"
    """Not at all."""


@dataclass(frozen=True, kw_only=True)
class RebalanceParameters:
    """What rebalancing depends on besides the hosts.

    Source:
        Mao et al., IEEE Systems Journal 2021, arXiv 2010.11307, Sect. V-C and VI. The paper's own
        evaluation rebalances while jobs still run; the other trigger, which its text names,
        practically never fires (calibration, section 4).
    """

    when: Annotated[
        RebalanceWhen,
        Doc(
            "When Algorithm 3 fills nodes that ran short: at `any_imbalance`, only when "
            "`all_converged`, or `never`."
        ),
    ] = RebalanceWhen.ANY_IMBALANCE


@dataclass(frozen=True, kw_only=True)
class CountParameters:
    """When a container moves from the fullest host to the emptiest.

    A difference of 1 would move containers to and fro, and more than two moves did not gain;
    without a pause a second plan could move again what the first one moved.

    Source:
        Ours; the numbers are those of model runs (docs/policies/count_balance.md).
    """

    difference: Annotated[
        int,
        Ge(2),
        Le(100),
        Doc("With `policy: count`: a node must have this many containers more than another."),
    ] = 2
    most_moves: Annotated[
        int, Ge(1), Le(100), Doc("With `policy: count`: moves of a job in its life.")
    ] = 2
    pause_seconds: Annotated[
        float,
        Ge(1.0),
        Le(86400.0),
        Doc("With `policy: count`: least time between two moves of a job."),
    ] = 60.0


@dataclass(frozen=True, kw_only=True)
class MigrationParameters:
    """Which jobs are moved, and within which limits.

    Attributes:
        target: Of Algorithm 2.
        rebalance: Of Algorithm 3.
        count: Of count balancing.
        gain: What a move must bring.

    Raises:
        ValueError: ``hold_seconds`` is below ``evict_seconds``.
    """

    policy: Annotated[
        MigrationPolicy,
        Doc(
            "`specon`: converged jobs, by SpeCon; `count`: any job, so that nodes have equally "
            "many; `none`: nothing is moved."
        ),
    ] = MigrationPolicy.SPECON
    gangs: Annotated[
        bool,
        Doc(
            "Whether gangs of every kind that can be parked also move as a whole, over several "
            "nodes, where that pays. Off: nothing that runs is stopped by an update."
        ),
    ] = False
    request_on_enter: Annotated[
        bool,
        Doc(
            "Whether a job may move as soon as it is converged. Off: one tick of the agent later, "
            "as in the paper's pseudo-code."
        ),
    ] = True
    min_fast_peers: Annotated[
        int,
        Ge(0),
        Le(1000),
        Doc(
            "Least number of progressing and watching containers that a converged one must leave "
            "behind to be moved. The paper's 2 almost never moves anything on nodes with one or "
            "two jobs."
        ),
    ] = 1
    most_moves_per_job: Annotated[
        int,
        Ge(0),
        Le(100),
        Doc("Moves of a job by Algorithm 2; rebalancing may move it once more. 0: none."),
    ] = 1
    most_open: Annotated[
        int,
        Ge(0),
        Le(1000),
        Doc("Migrations that may be open in the cluster at a time; 0: none is begun."),
    ] = 2
    most_open_per_node: Annotated[
        int,
        Ge(0),
        Le(1000),
        Doc("Open migrations of which a node may be source or target at a time."),
    ] = 1
    cooldown_seconds: Annotated[
        float, Ge(0), Le(86400), Doc("From the end of a job's migration to its next one.")
    ] = 120.0
    checkpoint_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc("How long a trainer may take to save; then the move is aborted."),
    ] = 120.0
    hold_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc(
            "How long a trainer that has saved waits to be ended, before it goes on. Not below "
            "`evict_seconds`, or it could go on during the eviction."
        ),
    ] = 180.0
    evict_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc(
            "How long an eviction that a PodDisruptionBudget forbids is tried again; then the move "
            "is aborted."
        ),
    ] = 60.0
    recreate_seconds: Annotated[
        float, Ge(1), Le(86400), Doc("From the eviction until the new pod is bound.")
    ] = 900.0
    resume_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc("From the binding until the agent sees a step beyond the checkpoint."),
    ] = 300.0
    keep_seconds: Annotated[
        float, Ge(0), Le(30 * 86400), Doc("How long an ended Migration object is kept.")
    ] = 86400.0
    target: TargetParameters = field(default_factory=TargetParameters)
    rebalance: RebalanceParameters = field(default_factory=RebalanceParameters)
    count: CountParameters = field(default_factory=CountParameters)
    gain: GainParameters = field(default_factory=GainParameters)

    def __post_init__(self) -> None:
        if self.hold_seconds < self.evict_seconds:
            raise ValueError(
                f"hold_seconds {self.hold_seconds:g} must not be below "
                f"evict_seconds {self.evict_seconds:g}"
            )
