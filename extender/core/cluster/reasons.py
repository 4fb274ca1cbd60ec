"""Why a job waits or a pod was refused: a closed vocabulary, Kueue's tokens where one exists."""

from enum import StrEnum


class Reason(StrEnum):
    """One token; the same word in condition, Event, metrics label, read API and CLI."""

    MISCONFIGURED = "Misconfigured"
    """A label or annotation cannot be used; the message names it. (Kueue)"""
    GANG_SIZE_UNKNOWN = "GangSizeUnknown"
    """Nobody says how many pods the job has."""
    GANG_INCOMPLETE = "GangIncomplete"
    """Not all pods of the gang exist yet."""
    ADMISSION_GATED = "AdmissionGated"
    """Pods carry scheduling gates of others. (Kueue)"""
    BACKING_OFF = "BackingOff"
    """The job was dissolved or lost its pin a moment ago."""
    WAITING_FOR_QUOTA = "WaitingForQuota"
    """Its namespace holds as much as it may borrow at most. (Kueue)"""
    EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
    """The job alone asks for more than its namespace may hold. (Kueue)"""
    NO_SUCH_NODE = "NoSuchNode"
    """No node could hold one of the pods even if it were empty."""
    GANG_DOES_NOT_FIT = "GangDoesNotFit"
    """There is not enough room for the whole gang now."""
    FRAGMENTED = "Fragmented"
    """There is enough room in total, but not so that every pod fits."""
    TOPOLOGY_PLACEMENT_FAILED = "TopologyPlacementFailed"
    """No domain of the topology level that the job requires holds the whole gang. (Kueue)"""
    NO_SUCH_TOPOLOGY_LEVEL = "NoSuchTopologyLevel"
    """No node has the label of the topology level that the job requires."""
    GANG_TOO_LARGE = "GangTooLarge"
    """Its maximum wait is over, but it would not fit even if every other job had ended."""
    MAX_WAIT_DRAINING = "MaxWaitDraining"
    """Its maximum wait is over, and room is kept for it."""
    AWAITING_ROOM = "AwaitingRoom"
    """Other jobs give up workers so that it starts, and room is kept for it."""
    BEHIND_RESERVATION = "BehindReservation"
    """There is room, but starting now could delay the job for which room is kept."""
    PAYOFF_TOO_LOW = "PayoffTooLow"
    """It has a utility, and no plan over the slots to come is worth more than it costs others."""
    AWAITING_PRICE = "AwaitingPrice"
    """It has a utility, and nobody has looked yet what a plan for it would cost others."""
    PROFILING = "Profiling"
    """Its training is not described in full: it runs without a plan while agents measure it."""
    PROFILE_INCONCLUSIVE = "ProfileInconclusive"
    """It has run for as long as a profile run lasts, and agents could not measure it."""
    AWAITING_SLOT = "AwaitingSlot"
    """It is admitted, and its plan has no workers in the present slot."""
    UTILITY_GONE = "UtilityGone"
    """It would be worth nothing even if it began now."""
    RELEASING = "Releasing"
    """Seats are taken, the pods are on their way through kube-scheduler."""
    MIGRATING = "Migrating"
    """The pod takes the place of one that moves, and that one is not gone yet."""
    REPLACING = "Replacing"
    """The pod is the copy of a bare pod that we delete, and that one is not gone yet."""


NEEDS_ACTION = frozenset(
    {
        Reason.MISCONFIGURED,
        Reason.GANG_SIZE_UNKNOWN,
        Reason.EXCEEDS_MAX_QUOTA,
        Reason.NO_SUCH_NODE,
        Reason.NO_SUCH_TOPOLOGY_LEVEL,
    }
)
"""The job cannot start until its owner or an administrator changes something."""


MESSAGES: dict[Reason, str] = {
    Reason.GANG_SIZE_UNKNOWN: (
        "the gang size is known from nowhere: set the annotation shuntyard.io/min-available"
    ),
    Reason.GANG_INCOMPLETE: "not all pods of the gang exist yet",
    Reason.ADMISSION_GATED: "pods carry scheduling gates of others",
    Reason.BACKING_OFF: "the job gave its seats back and waits before it tries again",
    Reason.WAITING_FOR_QUOTA: (
        "with it the namespace would hold more than its guaranteed share and borrowing limit"
    ),
    Reason.EXCEEDS_MAX_QUOTA: (
        "the job alone asks for more than the guaranteed share and borrowing limit of its namespace"
    ),
    Reason.NO_SUCH_TOPOLOGY_LEVEL: (
        "no node has the label of the topology level that the job requires"
    ),
    Reason.GANG_TOO_LARGE: (
        "the maximum wait is over, but the gang would not fit even if every other job had ended"
    ),
    Reason.MAX_WAIT_DRAINING: "the maximum wait is over, and room is kept for the job",
    Reason.AWAITING_ROOM: "other jobs are giving up workers, and their room is kept for the job",
    Reason.BEHIND_RESERVATION: (
        "there is room, but it is kept for a job whose maximum wait is over, or for which others "
        "give up workers"
    ),
    Reason.PAYOFF_TOO_LOW: (
        "no plan over the slots to come is known that is worth more than its resources cost"
    ),
    Reason.AWAITING_PRICE: "the job has a utility and has not been priced yet",
    Reason.PROFILING: (
        "the job's training is not described in full: it runs like a job without a utility while "
        "its agents measure it"
    ),
    Reason.PROFILE_INCONCLUSIVE: (
        "the job's training could not be measured in time: it runs on without a plan"
    ),
    Reason.AWAITING_SLOT: "the job is admitted; its plan has it run in a later time slot",
    Reason.UTILITY_GONE: "completing is worth nothing any more, even if the job began now",
    Reason.RELEASING: "seats are taken, the pods are being bound",
    Reason.MIGRATING: "the pod whose place it takes is not gone yet",
    Reason.REPLACING: "a pod without an owner is replaced, and the old one is not gone yet",
}
"""Constant texts: a text that changes wakes refused pods (docs/adr/0002)."""
