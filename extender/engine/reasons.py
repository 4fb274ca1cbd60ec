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
    NO_SUCH_NODE = "NoSuchNode"
    """No node could hold one of the pods even if it were empty."""
    GANG_DOES_NOT_FIT = "GangDoesNotFit"
    """There is not enough room for the whole gang now."""
    FRAGMENTED = "Fragmented"
    """There is enough room in total, but not so that every pod fits."""
    RELEASING = "Releasing"
    """Seats are taken, the pods are on their way through kube-scheduler."""
    MIGRATING = "Migrating"
    """The pod takes the place of one that moves, and that one is not gone yet."""
    GATE_REQUIRED = "GateRequired"
    """A gang without the scheduling gate; only gated gangs are placed."""


MESSAGES: dict[Reason, str] = {
    Reason.GANG_SIZE_UNKNOWN: (
        "the gang size is known from nowhere: set the annotation shuntyard.io/min-available"
    ),
    Reason.GANG_INCOMPLETE: "not all pods of the gang exist yet",
    Reason.ADMISSION_GATED: "pods carry scheduling gates of others",
    Reason.BACKING_OFF: "the job gave its seats back and waits before it tries again",
    Reason.RELEASING: "seats are taken, the pods are being bound",
    Reason.MIGRATING: "the pod whose place it takes is not gone yet",
    Reason.GATE_REQUIRED: "a gang needs the scheduling gate shuntyard.io/queue on its pods",
}
"""Constant texts: a text that changes wakes refused pods (docs/adr/0002)."""
