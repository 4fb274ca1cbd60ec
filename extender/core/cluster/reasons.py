"""Why a job waits or a pod was refused: a closed vocabulary, Kueue's tokens where one exists.

Each reason carries its own classification. Nothing else keeps a set of reasons, and every field of
the record is required: a new reason without one of them does not pass the type check.
"""

from enum import StrEnum
from typing import Self

from extender.core.cluster.reason_record import Actor, Limit, ReasonRecord, Room, Severity


class Reason(StrEnum):
    """A reason: its value is the token, and it answers for its record."""

    MISCONFIGURED = ReasonRecord(  # Kueue
        "Misconfigured",
        "a label or annotation cannot be used",
        names_details=True,
        severity=Severity.WARNING,
        actor=Actor.OWNER,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    GANG_SIZE_UNKNOWN = ReasonRecord(
        "GangSizeUnknown",
        "the number of pods that start together is unknown: state it in the annotation "
        "shuntyard.io/min-available",
        names_details=False,
        severity=Severity.WARNING,
        actor=Actor.OWNER,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    GANG_INCOMPLETE = ReasonRecord(
        "GangIncomplete",
        "not all pods of the gang exist yet",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    ADMISSION_GATED = ReasonRecord(  # Kueue
        "AdmissionGated",
        "the pods have scheduling gates of other controllers",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    BACKING_OFF = ReasonRecord(
        "BackingOff",
        "the job gave its reservations back and waits before it tries again",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    WAITING_FOR_QUOTA = ReasonRecord(  # Kueue
        "WaitingForQuota",
        "with the job, its namespace would hold more than guaranteed share and borrowing limit",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.QUOTA,
    )
    EXCEEDS_MAX_QUOTA = ReasonRecord(  # Kueue
        "ExceedsMaxQuota",
        (
            "the job alone asks for more than the guaranteed share and borrowing limit of its "
            "namespace"
        ),
        names_details=False,
        severity=Severity.WARNING,
        actor=Actor.OWNER,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.QUOTA,
    )
    NO_SUCH_NODE = ReasonRecord(
        "NoSuchNode",
        "no node could run a pod of the gang, even if it were empty",
        names_details=True,
        severity=Severity.WARNING,
        actor=Actor.OWNER,
        time_helps=False,
        nodes_help=True,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    GANG_DOES_NOT_FIT = ReasonRecord(
        "GangDoesNotFit",
        "the gang asks for more than is free on the nodes that it may use",
        names_details=True,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=True,
        room=Room.LACKING,
        limit=Limit.NONE,
    )
    FRAGMENTED = ReasonRecord(
        "Fragmented",
        "enough is free in total, but not so that every pod of the gang fits on a node",
        names_details=True,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=True,
        room=Room.LACKING,
        limit=Limit.NONE,
    )
    TOPOLOGY_PLACEMENT_FAILED = ReasonRecord(  # Kueue
        "TopologyPlacementFailed",
        "no domain of the required topology level holds the whole gang",
        names_details=True,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=True,
        room=Room.LACKING,
        limit=Limit.NONE,
    )
    NO_SUCH_TOPOLOGY_LEVEL = ReasonRecord(
        "NoSuchTopologyLevel",
        "no node has the label of the topology level that the job requires",
        names_details=True,
        severity=Severity.WARNING,
        actor=Actor.ADMINISTRATOR,
        time_helps=False,
        nodes_help=True,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    SHARED_DEVICES_ONLY = ReasonRecord(
        "SharedDevicesOnly",
        (
            "the job fits only with several of its pods on one shared device: add nodes with "
            "devices of their own, or set the annotation shuntyard.io/share: allowed"
        ),
        names_details=True,
        severity=Severity.WARNING,
        actor=Actor.OWNER,
        time_helps=False,
        nodes_help=True,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    GANG_TOO_LARGE = ReasonRecord(
        "GangTooLarge",
        "the maximum wait is over, but the gang would not fit even if every other job had ended",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=True,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    MAX_WAIT_DRAINING = ReasonRecord(
        "MaxWaitDraining",
        "the maximum wait is over, and room is kept for the job",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=False,
        room=Room.KEPT,
        limit=Limit.NONE,
    )
    AWAITING_ROOM = ReasonRecord(
        "AwaitingRoom",
        "other jobs are giving up workers, and their room is kept for the job",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=False,
        room=Room.KEPT,
        limit=Limit.NONE,
    )
    BEHIND_RESERVATION = ReasonRecord(
        "BehindReservation",
        (
            "there is room, but it is kept for a job that is before it in the order, whose maximum "
            "wait is over, or for which others give up workers"
        ),
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=True,
        nodes_help=False,
        room=Room.KEPT_FOR_ANOTHER,
        limit=Limit.NONE,
    )
    PAYOFF_TOO_LOW = ReasonRecord(
        "PayoffTooLow",
        "no plan over the coming time slots is worth more than its resources cost",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.PRICE,
    )
    AWAITING_PRICE = ReasonRecord(
        "AwaitingPrice",
        "the job has a utility and has not been priced yet",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    PROFILING = ReasonRecord(
        "Profiling",
        (
            "the step time of the training is unknown: the job runs like one without a utility "
            "while agents measure it"
        ),
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    PROFILE_INCONCLUSIVE = ReasonRecord(
        "ProfileInconclusive",
        "the training could not be measured in time: the job continues without a plan",
        names_details=False,
        severity=Severity.WARNING,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    AWAITING_SLOT = ReasonRecord(
        "AwaitingSlot",
        "the job is admitted; its plan starts in a later time slot",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    UTILITY_GONE = ReasonRecord(
        "UtilityGone",
        "completion would be worth nothing, even if the job began now",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.PRICE,
    )
    RELEASING = ReasonRecord(
        "Releasing",
        "nodes are reserved, the pods are being bound",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    MIGRATING = ReasonRecord(
        "Migrating",
        "the pod that it replaces is not gone yet",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    NODE_NOT_FENCED = ReasonRecord(
        "NodeNotFenced",
        "a pod that it replaces is on an unreachable node and may still run: the node is not "
        "fenced",
        names_details=False,
        severity=Severity.WARNING,
        actor=Actor.ADMINISTRATOR,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )
    REPLACING = ReasonRecord(
        "Replacing",
        "a pod without an owner is being replaced, and the old one is not gone yet",
        names_details=False,
        severity=Severity.NORMAL,
        actor=Actor.NONE,
        time_helps=False,
        nodes_help=False,
        room=Room.NOT_NEEDED,
        limit=Limit.NONE,
    )

    message: str
    names_details: bool
    severity: Severity
    actor: Actor
    time_helps: bool
    nodes_help: bool
    room: Room
    limit: Limit

    def __new__(cls, record: ReasonRecord) -> Self:
        """Build the member of a record."""
        member = str.__new__(cls, record.token)
        member._value_ = record.token
        member.message = record.message
        member.names_details = record.names_details
        member.severity = record.severity
        member.actor = record.actor
        member.time_helps = record.time_helps
        member.nodes_help = record.nodes_help
        member.room = record.room
        member.limit = record.limit
        return member

    @classmethod
    def named(cls, token: str) -> Self | None:
        """Return the reason with that token, None if there is none."""
        return next((reason for reason in cls if reason.value == token), None)

    @property
    def needs_action(self) -> bool:
        """Return True if the job cannot start until a person changes something."""
        return self.actor is not Actor.NONE

    @property
    def waits_for_room(self) -> bool:
        """Return True if a new gang that starts now would overtake the job."""
        return self.room is not Room.NOT_NEEDED

    @property
    def lacks_room(self) -> bool:
        """Return True if the job would start if elastic jobs had fewer workers."""
        return self.room is Room.LACKING or self.room is Room.KEPT

    @property
    def may_reserve(self) -> bool:
        """Return True if room may be kept for the job.

        With ``WaitingForQuota`` a namespace would block others with room that it may not have.
        """
        return self.time_helps and self.limit is not Limit.QUOTA

    def settled(self, message: str) -> str:
        """Return the text for a status that must not change from pass to pass."""
        return message if self.names_details else self.message
