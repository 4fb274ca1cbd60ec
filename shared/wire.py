"""Messages between agent and extender on the agents' listener.

Bodies of ``POST /v1/heartbeats`` and ``GET /v1/nodes/{node}/pods``, version 1. A body with another
version, an unknown key or a value out of bounds is refused with the field's path. Names and
meanings of the fields of a report are those of ``shared.progress``.
"""

from typing import Annotated, ClassVar, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from shared.progress import LARGEST, Amount, GpuHealth, Name, PodReport, Text, Use, Whole

VERSION: Final = 1
MOST_PODS: Final = 1000
MOST_EVENTS: Final = 1000

Happening = Literal["nan", "restart", "category", "truncated"]
Body = TypeVar("Body", bound=Struct)


class Event(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event of a pod that must not be lost between two reports.

    Attributes:
        uid: The pod.
        at: When, on the agent's clock.
        kind: ``nan``: the metric was NaN or infinite; ``restart``: the step went back;
            ``category``: ``detail`` is the new category; ``truncated``: a log file was cut.
        detail: In words.
    """

    uid: Name
    at: Amount
    kind: Happening
    detail: Text = ""


class Heartbeat(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Report of an agent.

    Attributes:
        version: Version of this schema.
        node: The agent's node; must be the node of its token's pod.
        boot: Id of this run of the agent.
        sequence: 1, 2, 3, … within one run, counted for each replica.
        sent_at: When, on the agent's clock.
        full: ``pods`` are all pods of ours on the node; otherwise those that changed since the
            last heartbeat that this replica answered.
        use: Of the whole node.
        cpu_cores: Cores of the node.
        gpus: State of its GPUs; None if it has none.
        pods: Their reports.
        gone: Pods that were reported and do not exist any more; empty in a full report.
        events: Since the last heartbeat that this replica answered.
        dropped: Events dropped since the agent started.
    """

    version: Literal[1] = VERSION
    node: Name
    boot: Annotated[str, Meta(min_length=1, max_length=64)]
    sequence: Annotated[int, Meta(ge=1, le=LARGEST)]
    sent_at: Amount
    full: bool
    use: Use | None = None
    cpu_cores: Amount | None = None
    gpus: GpuHealth | None = None
    pods: Annotated[tuple[PodReport, ...], Meta(max_length=MOST_PODS)] = ()
    gone: Annotated[tuple[Name, ...], Meta(max_length=MOST_PODS)] = ()
    events: Annotated[tuple[Event, ...], Meta(max_length=MOST_EVENTS)] = ()
    dropped: Whole = 0


class CheckpointRequest(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="checkpoint",
):
    """Request a checkpoint from a trainer; repeated in every answer while it is wanted.

    Attributes:
        id: Id of the request: the same id is the same request.
        uid: The pod.
        deadline: The trainer must have answered by then; seconds since the epoch.
        hold_deadline: Until when it holds after its ack; then it goes on.
        reason: For people.
    """

    kind: ClassVar[str] = "checkpoint"
    id: Name
    uid: Name
    deadline: Amount
    hold_deadline: Amount
    reason: Text = ""


class CheckpointCancel(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="cancel"
):
    """Cancel the request: the trainer goes on."""

    kind: ClassVar[str] = "cancel"
    id: Name
    uid: Name


Command = CheckpointRequest | CheckpointCancel


class HeartbeatAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answer of a replica.

    Attributes:
        version: Version of this schema.
        acting: Whether the replica is the leader; only then there are commands.
        full_wanted: The replica does not know the whole node: the next heartbeat must be full.
        commands: Commands for the agent; carrying one out twice is the same as once.
    """

    version: Literal[1] = VERSION
    acting: bool
    full_wanted: bool = False
    commands: tuple[Command, ...] = ()


class PodPlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of our pods on the node: what an agent needs to find its files.

    Attributes:
        job: Name of its job, the directory below the namespace on the shared volume.
        role: ``worker``, ``ps``, …; empty if it has none.
        index: Its index within the job; None if it has none.
        metrics: Value of the annotation ``shuntyard.io/metrics``, the pod's before its owner's;
            None if there is none.
        checkpoint: The same of ``shuntyard.io/checkpoint``.
    """

    namespace: Name
    name: Name
    uid: Name
    job: Name
    role: str = ""
    index: int | None = None
    created_at: Amount
    metrics: str | None = None
    checkpoint: str | None = None


class NodePods(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answer to ``GET /v1/nodes/{node}/pods``; its ETag lets an unchanged answer be 304."""

    version: Literal[1] = VERSION
    node: Name
    pods: tuple[PodPlace, ...] = ()


def encode(body: Struct) -> bytes:
    """Return a body as JSON; a number that is not finite becomes null."""
    return _ENCODER.encode(body)


def decode(kind: type[Body], text: bytes) -> Body:
    """Return the body of a kind that a text holds.

    Raises:
        msgspec.MsgspecError: It holds none; the message names the field.
    """
    return msgspec.json.decode(text, type=kind)


_ENCODER: Final = msgspec.json.Encoder()
