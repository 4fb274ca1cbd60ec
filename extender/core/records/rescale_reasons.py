"""Why a job's workers do not change, and what ended a change: a closed vocabulary."""

from extender.core.records.vocabulary import Vocabulary, Word


class ScalingReason(Vocabulary):
    """A reason; its value is the token."""

    # why no change begins
    NOT_ELASTIC = Word(
        "NotElastic", "the annotation shuntyard.io/workers is missing", rests_longer=True
    )
    OWNER_NOT_SUPPORTED = Word(
        "OwnerNotSupported",
        "no owner of a supported kind states the number of workers, or several do",
        rests_longer=True,
    )
    MISCONFIGURED = Word(
        "Misconfigured", "a label or annotation of the job cannot be used", rests_longer=True
    )
    RESCALE_UNREADABLE = Word(
        "RescaleUnreadable",
        "the annotation shuntyard.io/rescale was not written by the extender: remove it",
        rests_longer=True,
    )
    MIGRATING = Word("Migrating", "it is on its way to another node", rests_longer=False)
    PARKING = Word("Parking", "it is parked, or about to be", rests_longer=False)
    SUSPENDED = Word("Suspended", "another client has suspended it", rests_longer=True)
    STILL_LEAVING = Word(
        "StillLeaving", "pods from before its pause are still ending", rests_longer=True
    )
    JOB_NOT_RUNNING = Word(
        "JobNotRunning", "the trainer that would have to save does not run", rests_longer=True
    )
    COOLING_DOWN = Word("CoolingDown", "its last change ended too recently", rests_longer=True)
    CAP_REACHED = Word(
        "CapReached", "it was changed as often as is allowed in an hour", rests_longer=True
    )
    ABORTED_LATELY = Word(
        "AbortedLately",
        "its last change was aborted; the next try waits longer each time",
        rests_longer=True,
    )
    TOO_MANY_OPEN = Word(
        "TooManyOpen", "as many changes are open as are allowed", rests_longer=True
    )
    NOT_OPTED_IN = Word(
        "NotOptedIn",
        "workers leave after a checkpoint, and shuntyard.io/checkpoint is missing",
        rests_longer=True,
    )
    CHECKPOINT_UNREACHABLE = Word(
        "CheckpointUnreachable", "the agent cannot see the checkpoint directory", rests_longer=True
    )
    TRAINER_SILENT = Word(
        "TrainerSilent",
        "no trainer that answers requests was seen in the checkpoint directory",
        rests_longer=True,
    )
    EXITS_ZERO_ON_TERM = Word(
        "ExitsZeroOnTerm",
        "the trainer exits with 0 on SIGTERM, which counts as success for its owner",
        rests_longer=True,
    )
    AGENT_STALE = Word("AgentStale", "an agent has not reported for too long", rests_longer=True)
    # either
    TRAINING_DONE = Word("TrainingDone", "training is complete", rests_longer=True)
    OTHERS_STAY = Word(
        "OthersStay",
        "another job that would have to give up room for the same start cannot",
        rests_longer=False,
    )
    # how one is aborted: the trainers go on
    CHECKPOINT_TIMEOUT = Word(
        "CheckpointTimeout", "the trainer did not save in time", rests_longer=True
    )
    CHECKPOINT_FAILED = Word("CheckpointFailed", "the trainer could not save", rests_longer=True)
    HOLD_ENDED = Word("HoldEnded", "the trainer went on before its workers left", rests_longer=True)
    POD_GONE = Word(
        "PodGone", "a pod that was to save is gone, or ended by itself", rests_longer=True
    )
    OWNER_GONE = Word("OwnerGone", "the owner is gone", rests_longer=True)
    OWNER_CHANGED = Word(
        "OwnerChanged",
        "another client changed the number of workers, or suspended or resumed the job",
        rests_longer=False,
    )
    STARTER_GONE = Word(
        "StarterGone", "the job that was to get the room no longer waits", rests_longer=False
    )
    NOT_NOMINATED = Word(
        "NotNominated", "the pods that are to leave could not be marked in time", rests_longer=True
    )
    # what was not reached when one is done
    NO_ROOM = Word(
        "NoRoom", "not all new workers found room in time; the others wait", rests_longer=True
    )
    WORKERS_STAY = Word(
        "WorkersStay", "not all workers that were to leave did in time", rests_longer=True
    )

    @classmethod
    def of_checkpoint(cls, problem: str) -> "ScalingReason":
        """Return the reason of a checkpoint problem that an agent reports."""
        return cls.named(problem) or cls.MISCONFIGURED
