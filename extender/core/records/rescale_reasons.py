"""Why a job's workers do not change, and what ended a change: a closed vocabulary."""

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Self


@dataclass(frozen=True)
class ScalingRecord:
    """One reason.

    Attributes:
        token: The word in the annotation, the Event, the read API and the CLI.
        text: What the token means.
        rests_longer: After an abort for it the job rests longer than after any other change.
    """

    token: str
    text: str
    _: KW_ONLY
    rests_longer: bool


class ScalingReason(StrEnum):
    """A reason: its value is the token, and it has the fields of its record."""

    text: str
    rests_longer: bool

    # why no change begins
    NOT_ELASTIC = ScalingRecord(
        "NotElastic", "the annotation shuntyard.io/workers is missing", rests_longer=True
    )
    OWNER_NOT_SUPPORTED = ScalingRecord(
        "OwnerNotSupported",
        "no owner that we know says how many workers there are, or several do",
        rests_longer=True,
    )
    MISCONFIGURED = ScalingRecord(
        "Misconfigured", "a label or annotation of the job cannot be used", rests_longer=True
    )
    RESCALE_UNREADABLE = ScalingRecord(
        "RescaleUnreadable",
        "somebody else wrote the annotation shuntyard.io/rescale: remove it",
        rests_longer=True,
    )
    MIGRATING = ScalingRecord("Migrating", "it is on its way to another node", rests_longer=False)
    PARKING = ScalingRecord("Parking", "it is parked, or about to be", rests_longer=False)
    SUSPENDED = ScalingRecord("Suspended", "somebody else has suspended it", rests_longer=True)
    STILL_LEAVING = ScalingRecord(
        "StillLeaving", "pods from before its pause are still ending", rests_longer=True
    )
    JOB_NOT_RUNNING = ScalingRecord(
        "JobNotRunning", "the trainer that would have to be asked does not run", rests_longer=True
    )
    COOLING_DOWN = ScalingRecord(
        "CoolingDown", "its last change was a moment ago", rests_longer=True
    )
    CAP_REACHED = ScalingRecord(
        "CapReached", "it was changed as often as is allowed in an hour", rests_longer=True
    )
    ABORTED_LATELY = ScalingRecord(
        "AbortedLately",
        "its last change was aborted; the next try waits longer each time",
        rests_longer=True,
    )
    TOO_MANY_OPEN = ScalingRecord(
        "TooManyOpen", "as many changes are open as are allowed", rests_longer=True
    )
    NOT_OPTED_IN = ScalingRecord(
        "NotOptedIn",
        "workers leave after a checkpoint, and shuntyard.io/checkpoint is missing",
        rests_longer=True,
    )
    CHECKPOINT_UNREACHABLE = ScalingRecord(
        "CheckpointUnreachable", "the agent cannot see the checkpoint directory", rests_longer=True
    )
    TRAINER_SILENT = ScalingRecord(
        "TrainerSilent",
        "no trainer that answers requests was seen in the checkpoint directory",
        rests_longer=True,
    )
    EXITS_ZERO_ON_TERM = ScalingRecord(
        "ExitsZeroOnTerm",
        "the trainer ends with 0 on SIGTERM: its owner would call that success",
        rests_longer=True,
    )
    AGENT_STALE = ScalingRecord(
        "AgentStale", "an agent has not reported for too long", rests_longer=True
    )
    # either
    TRAINING_DONE = ScalingRecord("TrainingDone", "training is complete", rests_longer=True)
    OTHERS_STAY = ScalingRecord(
        "OthersStay",
        "another job that would have to make room for the same start cannot",
        rests_longer=False,
    )
    # how one is aborted: the trainers go on
    CHECKPOINT_TIMEOUT = ScalingRecord(
        "CheckpointTimeout", "the trainer did not save in time", rests_longer=True
    )
    CHECKPOINT_FAILED = ScalingRecord(
        "CheckpointFailed", "the trainer could not save", rests_longer=True
    )
    HOLD_ENDED = ScalingRecord(
        "HoldEnded", "the trainer went on before its workers left", rests_longer=True
    )
    POD_GONE = ScalingRecord(
        "PodGone", "a pod that was asked is gone, or ended by itself", rests_longer=True
    )
    OWNER_GONE = ScalingRecord("OwnerGone", "the owner is gone", rests_longer=True)
    OWNER_CHANGED = ScalingRecord(
        "OwnerChanged",
        "somebody else changed the number of workers, or suspended or resumed the job",
        rests_longer=False,
    )
    STARTER_GONE = ScalingRecord(
        "StarterGone", "the job that was to get the room waits no more", rests_longer=False
    )
    NOT_NOMINATED = ScalingRecord(
        "NotNominated", "the pods that are to leave could not be marked in time", rests_longer=True
    )
    # what was not reached when one is done
    NO_ROOM = ScalingRecord(
        "NoRoom", "not all new workers found room in time; the others wait", rests_longer=True
    )
    WORKERS_STAY = ScalingRecord(
        "WorkersStay", "not all workers that were to leave did in time", rests_longer=True
    )

    def __new__(cls, record: ScalingRecord) -> Self:
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
    def of_checkpoint(cls, problem: str) -> "ScalingReason":
        """Return the reason of a checkpoint problem that an agent reports."""
        return cls.named(problem) or cls.MISCONFIGURED
