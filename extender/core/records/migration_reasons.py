"""Why a job is not moved, and how a migration ended: a closed vocabulary (docs/migration.md)."""

from enum import StrEnum


class MigrationReason(StrEnum):
    """One token; the same word in the Migration, the Event, the metric, read API and CLI."""

    # why nothing is begun
    NOT_OPTED_IN = "NotOptedIn"
    GATE_REQUIRED = "GateRequired"
    OWNER_NOT_SUPPORTED = "OwnerNotSupported"
    BACKOFF_TRAP = "BackoffTrap"
    GANG_HAS_RELATIONS = "GangHasRelations"
    NOT_MODELLED = "NotModelled"
    VOLUME_BOUND = "VolumeBound"
    JOB_NOT_RUNNING = "JobNotRunning"
    NO_PROGRESS = "NoProgress"
    CHECKPOINT_UNREACHABLE = "CheckpointUnreachable"
    TRAINER_SILENT = "TrainerSilent"
    EXITS_ZERO_ON_TERM = "ExitsZeroOnTerm"
    MISCONFIGURED = "Misconfigured"
    NO_FAST_PEERS = "NoFastPeers"
    BEST_NODE_ALREADY = "BestNodeAlready"
    NO_NODE_FITS = "NoNodeFits"
    GAIN_TOO_SMALL = "GainTooSmall"
    MOVES_USED_UP = "MovesUsedUp"
    COOLING_DOWN = "CoolingDown"
    BUDGET_USED_UP = "BudgetUsedUp"
    NODE_BUDGET_USED_UP = "NodeBudgetUsedUp"
    AGENT_STALE = "AgentStale"
    RESCALING = "Rescaling"
    CRD_MISSING = "CRDMissing"
    # how one is aborted: the pod stays where it is
    TARGET_LOST = "TargetLost"
    CHECKPOINT_TIMEOUT = "CheckpointTimeout"
    CHECKPOINT_FAILED = "CheckpointFailed"
    TRAINING_DONE = "TrainingDone"
    HOLD_ENDED = "HoldEnded"
    DISRUPTION_BUDGET = "DisruptionBudget"
    EVICTION_REFUSED = "EvictionRefused"
    POD_GONE = "PodGone"
    OWNER_GONE = "OwnerGone"
    OWNER_CHANGED = "OwnerChanged"
    NOT_OURS = "NotOurs"
    # how one fails: the pod left its node and did not come back as it should
    OLD_POD_STAYS = "OldPodStays"
    NOT_RECREATED = "NotRecreated"
    REPLACEMENT_LOST = "ReplacementLost"
    RESUME_TIMEOUT = "ResumeTimeout"
    CHECKPOINT_NOT_USED = "CheckpointNotUsed"


R = MigrationReason

TEXTS: dict[MigrationReason, str] = {
    R.NOT_OPTED_IN: "the annotation shuntyard.io/checkpoint is missing",
    R.GATE_REQUIRED: "only pods that were queued with the gate shuntyard.io/queue are moved",
    R.OWNER_NOT_SUPPORTED: "pods of this owner cannot be moved",
    R.BACKOFF_TRAP: (
        "its Job would count the eviction as a failure and wait, or fail: set "
        "backoffLimitPerIndex of at least 1, or use one Job for each pod"
    ),
    R.GANG_HAS_RELATIONS: "a gang that declares affinity between its roles is not moved",
    R.NOT_MODELLED: "the pod has placement rules that the planner does not model",
    R.VOLUME_BOUND: "a volume of the pod cannot follow it to the target",
    R.JOB_NOT_RUNNING: "not all pods of the job run",
    R.NO_PROGRESS: "the agent sees no training progress",
    R.CHECKPOINT_UNREACHABLE: "the agent cannot see the checkpoint directory",
    R.TRAINER_SILENT: "no trainer that answers requests was seen in the checkpoint directory",
    R.EXITS_ZERO_ON_TERM: "the trainer ends with 0 on SIGTERM: its owner would call that success",
    R.MISCONFIGURED: "the checkpoint or metrics annotation cannot be used",
    R.NO_FAST_PEERS: "too few jobs on its node would profit",
    R.BEST_NODE_ALREADY: "no node is better than the one it is on",
    R.NO_NODE_FITS: "no other node has room for it",
    R.GAIN_TOO_SMALL: "the move would not gain enough",
    R.MOVES_USED_UP: "it was moved as often as is allowed",
    R.COOLING_DOWN: "its last migration ended a moment ago",
    R.BUDGET_USED_UP: "as many migrations are open as are allowed",
    R.NODE_BUDGET_USED_UP: "as many migrations are open on one of the nodes as are allowed",
    R.AGENT_STALE: "an agent has not reported for too long",
    R.RESCALING: "the number of its workers is changing",
    R.CRD_MISSING: "the Migration resource is not installed (deploy/base/crd.yaml)",
    R.TARGET_LOST: "the target has no room for it any more",
    R.CHECKPOINT_TIMEOUT: "the trainer did not save in time",
    R.CHECKPOINT_FAILED: "the trainer could not save",
    R.TRAINING_DONE: "training is complete",
    R.HOLD_ENDED: "the trainer went on before it was evicted",
    R.DISRUPTION_BUDGET: "a PodDisruptionBudget forbids the eviction",
    R.EVICTION_REFUSED: "the API server refused the eviction",
    R.POD_GONE: "a pod is gone, or ended by itself",
    R.OWNER_GONE: "the owner is gone",
    R.OWNER_CHANGED: "somebody else suspended or resumed the Job",
    R.OLD_POD_STAYS: "the old pod did not end; the new one waits until it has",
    R.NOT_OURS: "the spec was not written by the extender, or was changed",
    R.NOT_RECREATED: "the new pod was not made, or not bound, in time",
    R.REPLACEMENT_LOST: "the new pod ended or was deleted before it resumed",
    R.RESUME_TIMEOUT: "no step beyond the checkpoint was seen in time",
    R.CHECKPOINT_NOT_USED: "the new pod did not resume at the checkpoint: work was done twice",
}
"""What each token means, for people."""
