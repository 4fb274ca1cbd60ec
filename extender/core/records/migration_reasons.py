"""Why a job is not moved, and how a migration ended: a closed vocabulary (docs/migration.md)."""

from extender.core.records.vocabulary import Vocabulary, Word


class MigrationReason(Vocabulary):
    """A reason: its value is the same word in the Migration, Event, metric, read API and CLI."""

    # why no migration begins
    NOT_OPTED_IN = Word("NotOptedIn", "the annotation shuntyard.io/checkpoint is missing")
    GATE_REQUIRED = Word(
        "GateRequired",
        "only pods that were queued with the gate shuntyard.io/queue are moved",
    )
    OWNER_NOT_SUPPORTED = Word("OwnerNotSupported", "pods of this owner cannot be moved")
    BACKOFF_TRAP = Word(
        "BackoffTrap",
        (
            "its Job would count the eviction as a failure and wait, or fail: set "
            "backoffLimitPerIndex of at least 1, or use one Job for each pod"
        ),
    )
    GANG_HAS_RELATIONS = Word(
        "GangHasRelations",
        "a gang that declares affinity between its roles is not moved",
    )
    NOT_MODELLED = Word(
        "NotModelled", "the pod has placement rules that the planner does not model"
    )
    VOLUME_BOUND = Word("VolumeBound", "a volume of the pod cannot follow it to the target")
    JOB_NOT_RUNNING = Word("JobNotRunning", "not all pods of the job run")
    NO_PROGRESS = Word("NoProgress", "the agent sees no training progress")
    CHECKPOINT_UNREACHABLE = Word(
        "CheckpointUnreachable",
        "the agent cannot see the checkpoint directory",
    )
    TRAINER_SILENT = Word(
        "TrainerSilent",
        "no trainer that answers requests was seen in the checkpoint directory",
    )
    EXITS_ZERO_ON_TERM = Word(
        "ExitsZeroOnTerm",
        "the trainer exits with 0 on SIGTERM, which counts as success for its owner",
    )
    MISCONFIGURED = Word("Misconfigured", "the checkpoint or metrics annotation cannot be used")
    NO_FAST_PEERS = Word("NoFastPeers", "too few jobs on its node would profit")
    BEST_NODE_ALREADY = Word("BestNodeAlready", "no node is better than the one it is on")
    NO_NODE_FITS = Word("NoNodeFits", "no other node has room for it")
    GAIN_TOO_SMALL = Word("GainTooSmall", "the move would not gain enough")
    MOVES_USED_UP = Word("MovesUsedUp", "it was moved as often as is allowed")
    COOLING_DOWN = Word("CoolingDown", "its last migration ended too recently")
    BUDGET_USED_UP = Word("BudgetUsedUp", "as many migrations are open as are allowed")
    NODE_BUDGET_USED_UP = Word(
        "NodeBudgetUsedUp",
        "as many migrations are open on one of the nodes as are allowed",
    )
    AGENT_STALE = Word("AgentStale", "an agent has not reported for too long")
    RESCALING = Word("Rescaling", "the number of its workers is changing")
    PARKING = Word("Parking", "it is parked, or about to be")
    CRD_MISSING = Word(
        "CRDMissing", "the Migration resource is not installed (deploy/base/crd.yaml)"
    )
    # how one is aborted: the pod stays where it is
    TARGET_LOST = Word("TargetLost", "the target has no room for it any more")
    CHECKPOINT_TIMEOUT = Word("CheckpointTimeout", "the trainer did not save in time")
    CHECKPOINT_FAILED = Word("CheckpointFailed", "the trainer could not save")
    TRAINING_DONE = Word("TrainingDone", "training is complete")
    HOLD_ENDED = Word("HoldEnded", "the trainer went on before it was evicted")
    DISRUPTION_BUDGET = Word("DisruptionBudget", "a PodDisruptionBudget forbids the eviction")
    EVICTION_REFUSED = Word("EvictionRefused", "the API server refused the eviction")
    POD_GONE = Word("PodGone", "a pod is gone, or ended by itself")
    OWNER_GONE = Word("OwnerGone", "the owner is gone")
    OWNER_CHANGED = Word("OwnerChanged", "another client suspended or resumed the Job")
    NOT_OURS = Word("NotOurs", "the spec was not written by the extender, or was changed")
    # how one fails: the pod left its node and did not come back as it should
    OLD_POD_STAYS = Word("OldPodStays", "the old pod did not end; the new one waits until it has")
    NOT_RECREATED = Word("NotRecreated", "the new pod was not made, or not bound, in time")
    REPLACEMENT_LOST = Word("ReplacementLost", "the new pod ended or was deleted before it resumed")
    RESUME_TIMEOUT = Word("ResumeTimeout", "no step beyond the checkpoint was seen in time")
    CHECKPOINT_NOT_USED = Word(
        "CheckpointNotUsed",
        "the new pod did not resume at the checkpoint: work was done twice",
    )

    @classmethod
    def of_checkpoint(cls, problem: str) -> "MigrationReason":
        """Return the reason of a checkpoint problem that an agent reports."""
        return cls.named(problem) or cls.MISCONFIGURED
