"""Why a job is not moved, and how a migration ended: a closed vocabulary (docs/migration.md)."""

from enum import StrEnum
from typing import Self


class MigrationReason(StrEnum):
    """A token, the same word in the Migration, the Event, the metric, read API and CLI; and a text.

    Attributes:
        text: What the token means.
    """

    text: str

    # why no migration begins
    NOT_OPTED_IN = ("NotOptedIn", "the annotation shuntyard.io/checkpoint is missing")
    GATE_REQUIRED = (
        "GateRequired",
        "only pods that were queued with the gate shuntyard.io/queue are moved",
    )
    OWNER_NOT_SUPPORTED = ("OwnerNotSupported", "pods of this owner cannot be moved")
    BACKOFF_TRAP = (
        "BackoffTrap",
        (
            "its Job would count the eviction as a failure and wait, or fail: set "
            "backoffLimitPerIndex of at least 1, or use one Job for each pod"
        ),
    )
    GANG_HAS_RELATIONS = (
        "GangHasRelations",
        "a gang that declares affinity between its roles is not moved",
    )
    NOT_MODELLED = ("NotModelled", "the pod has placement rules that the planner does not model")
    VOLUME_BOUND = ("VolumeBound", "a volume of the pod cannot follow it to the target")
    JOB_NOT_RUNNING = ("JobNotRunning", "not all pods of the job run")
    NO_PROGRESS = ("NoProgress", "the agent sees no training progress")
    CHECKPOINT_UNREACHABLE = (
        "CheckpointUnreachable",
        "the agent cannot see the checkpoint directory",
    )
    TRAINER_SILENT = (
        "TrainerSilent",
        "no trainer that answers requests was seen in the checkpoint directory",
    )
    EXITS_ZERO_ON_TERM = (
        "ExitsZeroOnTerm",
        "the trainer ends with 0 on SIGTERM: its owner would call that success",
    )
    MISCONFIGURED = ("Misconfigured", "the checkpoint or metrics annotation cannot be used")
    NO_FAST_PEERS = ("NoFastPeers", "too few jobs on its node would profit")
    BEST_NODE_ALREADY = ("BestNodeAlready", "no node is better than the one it is on")
    NO_NODE_FITS = ("NoNodeFits", "no other node has room for it")
    GAIN_TOO_SMALL = ("GainTooSmall", "the move would not gain enough")
    MOVES_USED_UP = ("MovesUsedUp", "it was moved as often as is allowed")
    COOLING_DOWN = ("CoolingDown", "its last migration ended a moment ago")
    BUDGET_USED_UP = ("BudgetUsedUp", "as many migrations are open as are allowed")
    NODE_BUDGET_USED_UP = (
        "NodeBudgetUsedUp",
        "as many migrations are open on one of the nodes as are allowed",
    )
    AGENT_STALE = ("AgentStale", "an agent has not reported for too long")
    RESCALING = ("Rescaling", "the number of its workers is changing")
    PARKING = ("Parking", "it is parked, or about to be")
    CRD_MISSING = ("CRDMissing", "the Migration resource is not installed (deploy/base/crd.yaml)")
    # how one is aborted: the pod stays where it is
    TARGET_LOST = ("TargetLost", "the target has no room for it any more")
    CHECKPOINT_TIMEOUT = ("CheckpointTimeout", "the trainer did not save in time")
    CHECKPOINT_FAILED = ("CheckpointFailed", "the trainer could not save")
    TRAINING_DONE = ("TrainingDone", "training is complete")
    HOLD_ENDED = ("HoldEnded", "the trainer went on before it was evicted")
    DISRUPTION_BUDGET = ("DisruptionBudget", "a PodDisruptionBudget forbids the eviction")
    EVICTION_REFUSED = ("EvictionRefused", "the API server refused the eviction")
    POD_GONE = ("PodGone", "a pod is gone, or ended by itself")
    OWNER_GONE = ("OwnerGone", "the owner is gone")
    OWNER_CHANGED = ("OwnerChanged", "somebody else suspended or resumed the Job")
    NOT_OURS = ("NotOurs", "the spec was not written by the extender, or was changed")
    # how one fails: the pod left its node and did not come back as it should
    OLD_POD_STAYS = ("OldPodStays", "the old pod did not end; the new one waits until it has")
    NOT_RECREATED = ("NotRecreated", "the new pod was not made, or not bound, in time")
    REPLACEMENT_LOST = ("ReplacementLost", "the new pod ended or was deleted before it resumed")
    RESUME_TIMEOUT = ("ResumeTimeout", "no step beyond the checkpoint was seen in time")
    CHECKPOINT_NOT_USED = (
        "CheckpointNotUsed",
        "the new pod did not resume at the checkpoint: work was done twice",
    )

    def __new__(cls, token: str, text: str) -> Self:
        """Build the member of a token and its text."""
        member = str.__new__(cls, token)
        member._value_ = token
        member.text = text
        return member

    @classmethod
    def named(cls, token: str) -> Self | None:
        """Return the reason with that token, None if there is none."""
        return next((reason for reason in cls if reason.value == token), None)

    @classmethod
    def of_checkpoint(cls, problem: str) -> "MigrationReason":
        """Return the reason of a checkpoint problem that an agent reports."""
        return cls.named(problem) or cls.MISCONFIGURED
