"""Why a job is not parked, and what ended a parking: a closed vocabulary."""

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Self


@dataclass(frozen=True)
class ParkingRecord:
    """One reason.

    Attributes:
        token: The word in the annotation, the Event, the read API and the CLI.
        text: What the token means.
        rests_longer: After an abort for it the job is left alone for longer each time.
    """

    token: str
    text: str
    _: KW_ONLY
    rests_longer: bool = True


class ParkingReason(StrEnum):
    """A reason: its value is the token, and it has the fields of its record."""

    text: str
    rests_longer: bool

    # why no parking begins
    NOT_FOUND = ParkingRecord("NotFound", "the job has no pods")
    OWNER_NOT_SUPPORTED = ParkingRecord(
        "OwnerNotSupported",
        "its pods have no owner that can be suspended or scaled to none, or several",
    )
    SEVERAL_JOBS = ParkingRecord(
        "SeveralJobs", "its owner has several groups, each a job: they can only be paused together"
    )
    VOLUMES_DELETED = ParkingRecord(
        "VolumesDeleted",
        "its StatefulSet deletes the volumes of pods that it scales away"
        " (persistentVolumeClaimRetentionPolicy.whenScaled: Delete)",
    )
    AUTOSCALED = ParkingRecord(
        "Autoscaled", "a HorizontalPodAutoscaler changes the number that would be set to 0"
    )
    RUNS_AGAIN = ParkingRecord(
        "RunsAgain", "a pod of it has ended well, and its owner would run that pod again"
    )
    NAME_CHANGES = ParkingRecord(
        "NameChanges",
        "its pods would come back under another job name: give their template the label"
        " shuntyard.io/job",
    )
    NOT_ON_NODE = ParkingRecord(
        "NotOnNode", "none of its pods is on a node that shuntyard.io/move names"
    )
    NO_ROOM_ELSEWHERE = ParkingRecord(
        "NoRoomElsewhere", "its whole gang does not fit on other nodes beside its present places"
    )
    DISRUPTION_BUDGET = ParkingRecord(
        "DisruptionBudget", "a PodDisruptionBudget forbids that so many of its pods leave"
    )
    MANAGED_BY_KUEUE = ParkingRecord(
        "ManagedByKueue", "Kueue suspends and resumes this job (label kueue.x-k8s.io/queue-name)"
    )
    MANAGED_BY_OTHER = ParkingRecord(
        "ManagedByOther", "another controller suspends and resumes this job (spec.managedBy)"
    )
    MISCONFIGURED = ParkingRecord(
        "Misconfigured", "a label or annotation of the job cannot be used"
    )
    PARKING_UNREADABLE = ParkingRecord(
        "ParkingUnreadable",
        "the annotation shuntyard.io/parking was not written by the extender: remove it",
    )
    RECORD_TOO_LARGE = ParkingRecord(
        "RecordTooLarge", "its pods differ too much: what they need does not fit an annotation"
    )
    NEVER = ParkingRecord("Never", "its owner says shuntyard.io/preemptible: never")
    NOT_OPTED_IN = ParkingRecord(
        "NotOptedIn",
        "a job is parked after a checkpoint, and shuntyard.io/checkpoint is missing"
        " (shuntyard.io/preemptible: terminate parks it without one)",
    )
    SUSPENDED = ParkingRecord("Suspended", "it is suspended already, and not by the extender")
    ADMITTED_BY_PRICE = ParkingRecord(
        "AdmittedByPrice", "a slot plan says when it runs (shuntyard.io/utility)"
    )
    MIGRATING = ParkingRecord("Migrating", "it is on its way to another node", rests_longer=False)
    RESCALING = ParkingRecord("Rescaling", "its number of workers changes", rests_longer=False)
    RESTARTING = ParkingRecord("Restarting", "it restarts because it was hung", rests_longer=False)
    STARTING = ParkingRecord("Starting", "it is just starting", rests_longer=False)
    JUST_STARTED = ParkingRecord(
        "JustStarted", "it has run for less than preemption.least_run_seconds"
    )
    PARKED_LATELY = ParkingRecord(
        "ParkedLately", "its last parking ended less than preemption.rest_seconds ago"
    )
    CAP_REACHED = ParkingRecord("CapReached", "it was parked as often as is allowed in an hour")
    ABORTED_LATELY = ParkingRecord(
        "AbortedLately", "its last parking was aborted; the next try waits longer each time"
    )
    JOB_NOT_RUNNING = ParkingRecord(
        "JobNotRunning", "the trainer that would have to be asked does not run"
    )
    CHECKPOINT_UNREACHABLE = ParkingRecord(
        "CheckpointUnreachable", "the agent cannot see the checkpoint directory"
    )
    TRAINER_SILENT = ParkingRecord(
        "TrainerSilent", "no trainer that answers requests was seen in the checkpoint directory"
    )
    EXITS_ZERO_ON_TERM = ParkingRecord(
        "ExitsZeroOnTerm",
        "the trainer ends with 0 on SIGTERM: its owner would call that success",
    )
    AGENT_STALE = ParkingRecord("AgentStale", "an agent has not reported for too long")
    # either
    TRAINING_DONE = ParkingRecord("TrainingDone", "training is complete")
    OTHERS_STAY = ParkingRecord(
        "OthersStay",
        "another job that would have to make room for the same start cannot",
        rests_longer=False,
    )
    # how one is aborted: the trainers go on
    CHECKPOINT_TIMEOUT = ParkingRecord("CheckpointTimeout", "the trainer did not save in time")
    CHECKPOINT_FAILED = ParkingRecord("CheckpointFailed", "the trainer could not save")
    HOLD_ENDED = ParkingRecord("HoldEnded", "the trainer went on before its job was suspended")
    POD_GONE = ParkingRecord("PodGone", "a pod that was asked is gone, or ended by itself")
    OWNER_GONE = ParkingRecord("OwnerGone", "the owner is gone", rests_longer=False)
    OWNER_CHANGED = ParkingRecord(
        "OwnerChanged", "something else suspended or resumed the job", rests_longer=False
    )
    STARTER_GONE = ParkingRecord(
        "StarterGone", "the job that was to get the room waits no more", rests_longer=False
    )
    WITHDRAWN = ParkingRecord(
        "Withdrawn",
        "what asked for it was taken back: the annotation shuntyard.io/park, or the announcement"
        " that its node leaves",
        rests_longer=False,
    )
    # what was not reached when one has ended
    NOT_WHOLE = ParkingRecord(
        "NotWhole", "not all pods came back in time; the others wait in the queue"
    )

    def __new__(cls, record: ParkingRecord) -> Self:
        """Build the member of a record."""
        member = str.__new__(cls, record.token)
        member._value_ = record.token
        member.text = record.text
        member.rests_longer = record.rests_longer
        return member

    @classmethod
    def named(cls, token: str) -> Self | None:
        """Return the reason with that token, None if there is none."""
        return next((reason for reason in cls if reason.value == token), None)

    @classmethod
    def of_checkpoint(cls, problem: str) -> "ParkingReason":
        """Return the reason of a problem with a checkpoint."""
        return cls.named(problem) or cls.MISCONFIGURED
