"""API writes that the core decides: values, executed by ``writers`` alone.

Every command carries what the write needs as its precondition. Spec and annotations of an owner are
one write, so that a change and the record of it cannot come apart.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from extender.core.cluster.reasons import Reason
from shared.model import JobKey, NodeName, NodeSelectorTerm, Owner, OwnerReference, PodKey, Uid
from shared.objects.disruptions import Eviction

QUEUE_ACTION: Final = "Queue"
"""Action of the Events with the reason why a job waits."""


class EmitEvent(Struct, frozen=True, tag=True):
    """One Event, on a job's owner or on a pod.

    ``action`` is what we did or tried, a CamelCase token.
    """

    namespace: str
    about: OwnerReference
    reason: str
    message: str
    warning: bool = False
    action: str = QUEUE_ACTION


class ChangeOwner(Struct, frozen=True, tag=True):
    """Change an owner that is still as it was read.

    Attributes:
        owner: As it was read; uid and resource version are preconditions.
        namespace: Of the job for which it is changed. An owner of another one is never changed.
        fields: JSON pointer to the number that it gets.
        guards: JSON pointer and the text that must still be there.
        leaving: JSON pointer, key and list that it gets as its value: names of pods that go.
        suspend: What ``owner.suspend_field`` gets; None leaves it alone.
        annotations: What they get; None takes one away.
        event: Emitted once the change is written; None: none.
        why: For the log.
    """

    owner: Owner
    namespace: str
    why: str
    fields: tuple[tuple[str, int], ...] = ()
    guards: tuple[tuple[str, str], ...] = ()
    leaving: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    suspend: bool | None = None
    annotations: Mapping[str, str | None] = {}
    event: EmitEvent | None = None

    @property
    def allowed(self) -> bool:
        """Whether the owner is in the namespace of its job."""
        return bool(self.namespace) and self.owner.namespace == self.namespace


def namespace_of(job: JobKey, owner: Owner) -> str:
    """Return the namespace of a job; of the owner that carries its record if it names none."""
    return job.partition("/")[0] if job else owner.namespace


class MarkPod(Struct, frozen=True, tag=True):
    """Annotate a pod, for example so that its owner removes it before others.

    Attributes:
        pod: Its name.
        uid: The precondition.
        annotations: What it gets.
    """

    pod: PodKey
    uid: Uid
    annotations: Mapping[str, str]


class AnswerEviction(Struct, frozen=True, tag=True):
    """Report to an Eviction in which it is our turn.

    Attributes:
        eviction: As it was read; uid and resource version are preconditions.
        at: Seconds since the epoch.
        message: How far we are, for people.
        completed: We are done: it is the turn of the next responder.
    """

    eviction: Eviction
    at: float
    message: str
    completed: bool = False


class PutBudget(Struct, frozen=True, tag=True):
    """Create a PodDisruptionBudget of ours, or change its number.

    Attributes:
        owner: What owns it: it goes with it.
        selector: Label and value of its pods.
        min_available: So many of them stay.
        uid: Of the one to change, the precondition; empty: it is created.
    """

    namespace: str
    name: str
    owner: OwnerReference
    selector: tuple[str, str]
    min_available: int
    uid: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class DeleteBudget(Struct, frozen=True, tag=True):
    """Delete a PodDisruptionBudget of ours; ``uid`` is the precondition."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class NoteCheckpoint(Struct, frozen=True, tag=True):
    """Annotate a pod with its job's last checkpoint, for other programs to read.

    Attributes:
        uid: The precondition.
        step: Completed steps.
        saved_at: Seconds since the epoch.
    """

    pod: PodKey
    uid: Uid
    step: int
    saved_at: float


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


class ReleaseGang(Struct, frozen=True, tag=True, omit_defaults=True):
    """The releases of one plan, in binding order; ``first`` of them go before the rest (ps).

    ``in_burst``: the reservations are promised, and only the last pod is released now, without a
    pin; while kube-scheduler asks about it, a burst releases and binds the others.
    """

    job: str
    pods: tuple[ReleasePod, ...]
    first: int
    in_burst: bool = False


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
    """Remove only our gate from the pods of a job: they get no reservations."""

    job: str
    pods: tuple[tuple[PodKey, Uid], ...]


class DeletePod(Struct, frozen=True, tag=True, omit_defaults=True):
    """Delete a pod so that its owner recreates it; ``writers`` recreate a ``bare`` one.

    ``force``: its object goes at once, whether its node has ended it or not.
    """

    pod: PodKey
    uid: Uid
    cause: str
    bare: bool = False
    force: bool = False


class SetQueuedCondition(Struct, frozen=True, tag=True):
    """Write on a gated pod why its job waits; sent only when the token changes."""

    pod: PodKey
    uid: Uid
    reason: Reason
    message: str


Command = (
    ReleaseGang
    | RewriteReservation
    | ClearReservation
    | OpenGate
    | DeletePod
    | SetQueuedCondition
    | EmitEvent
)
