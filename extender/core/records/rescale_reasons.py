"""Why a job's workers do not change, and what ended a change: a closed vocabulary."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ScalingReason(StrEnum):
    """One token; the same word in the annotation, the Event, the read API and the CLI."""

    # why nothing is begun
    NOT_ELASTIC = "NotElastic"
    OWNER_NOT_SUPPORTED = "OwnerNotSupported"
    MISCONFIGURED = "Misconfigured"
    RESCALE_UNREADABLE = "RescaleUnreadable"
    MIGRATING = "Migrating"
    SUSPENDED = "Suspended"
    STILL_LEAVING = "StillLeaving"
    JOB_NOT_RUNNING = "JobNotRunning"
    COOLING_DOWN = "CoolingDown"
    CAP_REACHED = "CapReached"
    ABORTED_LATELY = "AbortedLately"
    TOO_MANY_OPEN = "TooManyOpen"
    NOT_OPTED_IN = "NotOptedIn"
    CHECKPOINT_UNREACHABLE = "CheckpointUnreachable"
    TRAINER_SILENT = "TrainerSilent"
    EXITS_ZERO_ON_TERM = "ExitsZeroOnTerm"
    AGENT_STALE = "AgentStale"
    # either
    TRAINING_DONE = "TrainingDone"
    OTHERS_STAY = "OthersStay"
    # how one is aborted: the trainers go on
    CHECKPOINT_TIMEOUT = "CheckpointTimeout"
    CHECKPOINT_FAILED = "CheckpointFailed"
    HOLD_ENDED = "HoldEnded"
    POD_GONE = "PodGone"
    OWNER_GONE = "OwnerGone"
    OWNER_CHANGED = "OwnerChanged"
    STARTER_GONE = "StarterGone"
    NOT_NOMINATED = "NotNominated"
    # what was not reached when one is done
    NO_ROOM = "NoRoom"
    WORKERS_STAY = "WorkersStay"


R = ScalingReason

TEXTS: Final[Mapping[ScalingReason, str]] = {
    R.NOT_ELASTIC: "the annotation shuntyard.io/workers is missing",
    R.OWNER_NOT_SUPPORTED: "no owner that we know says how many workers there are, or several do",
    R.MISCONFIGURED: "a label or annotation of the job cannot be used",
    R.RESCALE_UNREADABLE: "somebody else wrote the annotation shuntyard.io/rescale: remove it",
    R.MIGRATING: "it is on its way to another node",
    R.SUSPENDED: "somebody else has suspended it",
    R.STILL_LEAVING: "pods from before its pause are still ending",
    R.JOB_NOT_RUNNING: "the trainer that would have to be asked does not run",
    R.COOLING_DOWN: "its last change was a moment ago",
    R.CAP_REACHED: "it was changed as often as is allowed in an hour",
    R.ABORTED_LATELY: "its last change was aborted; the next try waits longer each time",
    R.TOO_MANY_OPEN: "as many changes are open as are allowed",
    R.NOT_OPTED_IN: "workers leave after a checkpoint, and shuntyard.io/checkpoint is missing",
    R.CHECKPOINT_UNREACHABLE: "the agent cannot see the checkpoint directory",
    R.TRAINER_SILENT: "no trainer that answers requests was seen in the checkpoint directory",
    R.EXITS_ZERO_ON_TERM: "the trainer ends with 0 on SIGTERM: its owner would call that success",
    R.AGENT_STALE: "an agent has not reported for too long",
    R.TRAINING_DONE: "training is complete",
    R.OTHERS_STAY: "another job that would have to make room for the same start cannot",
    R.CHECKPOINT_TIMEOUT: "the trainer did not save in time",
    R.CHECKPOINT_FAILED: "the trainer could not save",
    R.HOLD_ENDED: "the trainer went on before its workers left",
    R.POD_GONE: "a pod that was asked is gone, or ended by itself",
    R.OWNER_GONE: "the owner is gone",
    R.OWNER_CHANGED: "somebody else changed the number of workers, or suspended or resumed the job",
    R.STARTER_GONE: "the job that was to get the room waits no more",
    R.NOT_NOMINATED: "the pods that are to leave could not be marked in time",
    R.NO_ROOM: "not all new workers found room in time; the others wait",
    R.WORKERS_STAY: "not all workers that were to leave did in time",
}
"""What each token means, for people."""

NOBODYS_FAULT: Final = frozenset({R.STARTER_GONE, R.OTHERS_STAY, R.OWNER_CHANGED, R.MIGRATING})
"""Reasons of an abort after which the job need not rest longer than after any change."""

_BY_VALUE: Final = {reason.value: reason for reason in R}


def of_checkpoint(problem: str) -> ScalingReason:
    """Return the reason that stands for an agent's word about a checkpoint directory."""
    return _BY_VALUE.get(problem, R.MISCONFIGURED)
