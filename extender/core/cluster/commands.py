"""What the core asks the shell to do: values, executed by ``writers.execute`` alone.

Every command carries what the write needs as its precondition.
"""

from typing import Final

from msgspec import Struct

from extender.core.cluster.reasons import Reason
from shared.model import NodeName, NodeSelectorTerm, OwnerReference, PodKey, Uid


class ReleasePod(Struct, frozen=True, tag=True):
    """One PATCH: remove our gate, pin, name the planned node.

    ``node`` is None where the planner does not model the pod: released without a pin.
    ``terms`` are the required node affinity terms after the patch; None leaves them alone.
    ``resource_version`` is empty where the uid alone is precondition enough. ``decision`` is one
    line of JSON: rule, value and terms behind the node. A ``direct`` pod has no gate and gets no
    pin: the patch writes annotations alone.
    """

    pod: PodKey
    uid: Uid
    resource_version: str
    node: NodeName | None
    plan: str
    plan_size: int
    gates: tuple[str, ...]
    terms: tuple[NodeSelectorTerm, ...] | None
    decision: str
    direct: bool = False


class ReleaseGang(Struct, frozen=True, tag=True):
    """The releases of one plan, in binding order; ``first`` of them go before the rest (ps)."""

    job: str
    pods: tuple[ReleasePod, ...]
    first: int


class RewriteReservation(Struct, frozen=True, tag=True):
    """Name another of the pinned nodes, for a direct pod any other, as the planned one."""

    pod: PodKey
    uid: Uid
    resource_version: str
    node: NodeName
    plan: str
    plan_size: int
    direct: bool = False


class ClearReservation(Struct, frozen=True, tag=True):
    """Take back the reservation of a direct pod; remove its annotations if they are written."""

    pod: PodKey
    uid: Uid
    resource_version: str
    cause: str
    annotated: bool


class OpenGate(Struct, frozen=True, tag=True):
    """Remove our gate from the pods of a job, and nothing else: they get no reservations."""

    job: str
    pods: tuple[tuple[PodKey, Uid], ...]


class DeletePod(Struct, frozen=True, tag=True):
    """Delete so that the owner recreates it. A ``bare`` pod nobody recreates: the shell does."""

    pod: PodKey
    uid: Uid
    cause: str
    bare: bool = False


class SetQueuedCondition(Struct, frozen=True, tag=True):
    """Say on a gated pod why its job waits; sent only when the token changes."""

    pod: PodKey
    uid: Uid
    reason: Reason
    message: str


QUEUE_ACTION: Final = "Queue"
"""Action of the Events that say why a job waits."""


class EmitEvent(Struct, frozen=True, tag=True):
    """One Event, on a job's owner or on a pod.

    ``action`` says what we were about, a CamelCase token.
    """

    namespace: str
    about: OwnerReference
    reason: str
    message: str
    warning: bool = False
    action: str = QUEUE_ACTION


Command = (
    ReleaseGang
    | RewriteReservation
    | ClearReservation
    | OpenGate
    | DeletePod
    | SetQueuedCondition
    | EmitEvent
)
