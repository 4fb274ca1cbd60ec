"""Why a job is not parked, and what ended a parking: a closed vocabulary."""

from extender.core.records.vocabulary import Vocabulary, Word


class ParkingReason(Vocabulary):
    """A reason; its value is the token."""

    # why no parking begins
    NOT_FOUND = Word("NotFound", "the job has no pods")
    OWNER_NOT_SUPPORTED = Word(
        "OwnerNotSupported",
        "its pods have no owner that can be suspended or scaled to none, or several",
    )
    SEVERAL_JOBS = Word(
        "SeveralJobs", "its owner has several groups, each a job: they can only be paused together"
    )
    VOLUMES_DELETED = Word(
        "VolumesDeleted",
        "its StatefulSet deletes the volumes of pods that it scales away"
        " (persistentVolumeClaimRetentionPolicy.whenScaled: Delete)",
    )
    AUTOSCALED = Word(
        "Autoscaled",
        "a HorizontalPodAutoscaler sets its number of pods, which parking would set to 0",
    )
    RUNS_AGAIN = Word(
        "RunsAgain", "one of its pods has succeeded, and its owner would run that pod again"
    )
    NAME_CHANGES = Word(
        "NameChanges",
        "its pods would come back under another job name: give their template the label"
        " shuntyard.io/job",
    )
    NOT_ON_NODE = Word("NotOnNode", "none of its pods is on a node that shuntyard.io/move names")
    NO_ROOM_ELSEWHERE = Word(
        "NoRoomElsewhere", "its whole gang does not fit on other nodes while it still holds its own"
    )
    DISRUPTION_BUDGET = Word(
        "DisruptionBudget", "a PodDisruptionBudget forbids that so many of its pods leave"
    )
    MANAGED_BY_KUEUE = Word(
        "ManagedByKueue", "Kueue suspends and resumes this job (label kueue.x-k8s.io/queue-name)"
    )
    MANAGED_BY_OTHER = Word(
        "ManagedByOther", "another controller suspends and resumes this job (spec.managedBy)"
    )
    MISCONFIGURED = Word("Misconfigured", "a label or annotation of the job cannot be used")
    PARKING_UNREADABLE = Word(
        "ParkingUnreadable",
        "the annotation shuntyard.io/parking was not written by the extender: remove it",
    )
    RECORD_TOO_LARGE = Word(
        "RecordTooLarge", "its pods differ too much: their requests do not fit into an annotation"
    )
    NEVER = Word("Never", "its owner has the annotation shuntyard.io/preemptible: never")
    NOT_OPTED_IN = Word(
        "NotOptedIn",
        "a job is parked after a checkpoint, and shuntyard.io/checkpoint is missing"
        " (shuntyard.io/preemptible: terminate parks it without one)",
    )
    SUSPENDED = Word("Suspended", "it is suspended already, and not by the extender")
    ADMITTED_BY_PRICE = Word(
        "AdmittedByPrice", "a slot plan says when it runs (shuntyard.io/utility)"
    )
    MIGRATING = Word("Migrating", "it is on its way to another node", rests_longer=False)
    RESCALING = Word("Rescaling", "its number of workers changes", rests_longer=False)
    RESTARTING = Word("Restarting", "it restarts because it was hung", rests_longer=False)
    STARTING = Word("Starting", "it is just starting", rests_longer=False)
    JUST_STARTED = Word("JustStarted", "it has run for less than preemption.least_run_seconds")
    PARKED_LATELY = Word(
        "ParkedLately", "its last parking ended less than preemption.rest_seconds ago"
    )
    CAP_REACHED = Word("CapReached", "it was parked as often as is allowed in an hour")
    ABORTED_LATELY = Word(
        "AbortedLately", "its last parking was aborted; the next try waits longer each time"
    )
    JOB_NOT_RUNNING = Word("JobNotRunning", "the trainer that would have to save does not run")
    CHECKPOINT_UNREACHABLE = Word(
        "CheckpointUnreachable", "the agent cannot see the checkpoint directory"
    )
    TRAINER_SILENT = Word(
        "TrainerSilent", "no trainer that answers requests was seen in the checkpoint directory"
    )
    EXITS_ZERO_ON_TERM = Word(
        "ExitsZeroOnTerm",
        "the trainer exits with 0 on SIGTERM, which counts as success for its owner",
    )
    AGENT_STALE = Word("AgentStale", "an agent has not reported for too long")
    # either
    TRAINING_DONE = Word("TrainingDone", "training is complete")
    OTHERS_STAY = Word(
        "OthersStay",
        "another job that would have to give up room for the same start cannot",
        rests_longer=False,
    )
    # how one is aborted: the trainers go on
    CHECKPOINT_TIMEOUT = Word("CheckpointTimeout", "the trainer did not save in time")
    CHECKPOINT_FAILED = Word("CheckpointFailed", "the trainer could not save")
    HOLD_ENDED = Word("HoldEnded", "the trainer went on before its job was suspended")
    POD_GONE = Word("PodGone", "a pod that was to save is gone, or ended by itself")
    OWNER_GONE = Word("OwnerGone", "the owner is gone", rests_longer=False)
    OWNER_CHANGED = Word(
        "OwnerChanged", "another client suspended or resumed the job", rests_longer=False
    )
    STARTER_GONE = Word(
        "StarterGone", "the job that was to get the room no longer waits", rests_longer=False
    )
    WITHDRAWN = Word(
        "Withdrawn",
        "its cause is gone: the annotation shuntyard.io/park was removed, or its node no longer"
        " leaves",
        rests_longer=False,
    )
    # what was not reached when one has ended
    NOT_WHOLE = Word("NotWhole", "not all pods came back in time; the others wait in the queue")

    @classmethod
    def of_checkpoint(cls, problem: str) -> "ParkingReason":
        """Return the reason of a problem with a checkpoint."""
        return cls.named(problem) or cls.MISCONFIGURED
