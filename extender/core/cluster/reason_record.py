"""The record of a reason why a job waits: every class is stated, none has a default."""

from dataclasses import KW_ONLY, dataclass
from enum import Enum, StrEnum


class Severity(StrEnum):
    """The type of the Event that reports a reason."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Actor(Enum):
    """A person without whose change the job cannot start."""

    NONE = "none"
    OWNER = "the owner of the job"
    ADMINISTRATOR = "an administrator of the cluster"


class Room(Enum):
    """What free room has to do with a reason."""

    NOT_NEEDED = "the job would not start with more room"
    LACKING = "the job would start if elastic jobs had fewer workers"
    KEPT = "as LACKING, and room is kept for the job: it is the backfill head"
    KEPT_FOR_ANOTHER = "there is room, but it is kept for the backfill head"


class Limit(Enum):
    """What refuses a job, other than room."""

    NONE = "none"
    PRICE = "the price of its resources"
    QUOTA = "the quota of its namespace"


@dataclass(frozen=True)
class ReasonRecord:
    """One reason.

    Attributes:
        token: The word in condition, Event, metrics label, log, read API and CLI.
        message: Constant text, without digits: a text that changes wakes refused pods
            (docs/adr/0002).
        names_details: The message that is shown names what only this job has, for example the
            annotation or the resource.
        severity: Type of its Events.
        actor: The person who must change something before the job can start.
        time_helps: The job may lose the reason when other jobs end.
        nodes_help: The job may lose the reason when an autoscaler adds nodes.
        room: See there.
        limit: See there.
    """

    token: str
    message: str
    _: KW_ONLY
    names_details: bool
    severity: Severity
    actor: Actor
    time_helps: bool
    nodes_help: bool
    room: Room
    limit: Limit
