"""The cluster as the core sees it: slim frozen values, parsed once at the door (``shared.kube``).

Amounts are integers in base units: CPU in milli-CPU, memory and storage in bytes, everything else
in pieces. Times are seconds since the epoch. Nothing here does I/O.
"""

from collections.abc import Mapping
from typing import NewType

from msgspec import Struct

NodeName = NewType("NodeName", str)
PodKey = NewType("PodKey", str)
"""``namespace/name``."""
JobKey = NewType("JobKey", str)
"""``namespace/kind/name``; kind is the adapter's name, so that two kinds never share a key."""
Uid = NewType("Uid", str)

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})
CPU = "cpu"
PODS = "pods"


class Requirement(Struct, frozen=True):
    """One line of a node selector term: ``key operator values``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, frozen=True):
    """Requirements that must all hold; an empty term matches nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class Toleration(Struct, frozen=True):
    """A pod's toleration; empty strings where the object has none."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Taint(Struct, frozen=True):
    """A node's taint."""

    key: str
    value: str
    effect: str


class HostPort(Struct, frozen=True):
    """A port the pod takes on the node; ``ip`` is ``0.0.0.0`` where none is given."""

    ip: str
    protocol: str
    port: int


class PodShape(Struct, frozen=True):
    """Everything node filters read from a pod. Pods of equal shape are one equivalence class.

    ``requests`` is sorted by resource name, holds only amounts above 0 and includes one ``pods``.
    ``affinity`` is the required node affinity: ``None`` where there is none, terms are ORed.
    ``unmodelled`` names what our planner does not model (``podAffinity``, ``topologySpread``,
    ``volumes``, ``resourceClaims``, …); such a pod is released without a pin.
    """

    requests: tuple[tuple[str, int], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeSelectorTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    unmodelled: tuple[str, ...] = ()


class OwnerReference(Struct, frozen=True):
    """The controller reference of an object."""

    api_version: str
    kind: str
    name: str
    uid: Uid


class Pod(Struct, frozen=True, kw_only=True, tag=True):
    """A pod. ``controller`` is its controlling owner; ``queued_reason`` our own condition's reason.

    ``scheduled_at`` is the transition time of PodScheduled=True (0.0 while unbound).
    """

    namespace: str
    name: str
    uid: Uid
    resource_version: str
    created_at: float
    shape: PodShape
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    controller: OwnerReference | None = None
    scheduler_name: str = ""
    node_name: NodeName | None = None
    gates: tuple[str, ...] = ()
    phase: str = "Pending"
    deleting: bool = False
    priority: int = 0
    priority_class: str = ""
    scheduled_at: float = 0.0
    queued_reason: str = ""
    phase_reason: str = ""

    @property
    def key(self) -> PodKey:
        """``namespace/name``."""
        return PodKey(f"{self.namespace}/{self.name}")

    @property
    def finished(self) -> bool:
        """Phase Succeeded or Failed: it takes no room on its node."""
        return self.phase in TERMINAL_PHASES


class Node(Struct, frozen=True, kw_only=True, tag=True):
    """A node. ``allocatable`` is in base units and includes ``pods``."""

    name: NodeName
    uid: Uid
    resource_version: str = ""
    allocatable: Mapping[str, int] = {}
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False

    @property
    def key(self) -> str:
        """The node's name."""
        return self.name


class Owner(Struct, frozen=True, kw_only=True, tag=True):
    """An object that creates pods; ``size`` is how many it wants at one time, None if unsaid."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: Uid
    resource_version: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    size: int | None = None
    controller: OwnerReference | None = None
    created_at: float = 0.0

    @property
    def key(self) -> str:
        """``kind/namespace/name``."""
        return f"{self.kind}/{self.namespace}/{self.name}"


class Namespace(Struct, frozen=True, kw_only=True, tag=True):
    """A namespace: read for the user priority."""

    name: str
    annotations: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        """The namespace's name."""
        return self.name


class ResourceQuota(Struct, frozen=True, kw_only=True, tag=True):
    """A ResourceQuota: read for the user priority of its namespace."""

    namespace: str
    name: str
    annotations: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class PriorityClass(Struct, frozen=True, kw_only=True, tag=True):
    """A PriorityClass: its value decides whether a job is hp, np or lp."""

    name: str
    value: int

    @property
    def key(self) -> str:
        """The class's name."""
        return self.name


Entity = Pod | Node | Owner | Namespace | ResourceQuota | PriorityClass


class Upsert(Struct, frozen=True, tag=True):
    """An object was added or changed."""

    entity: Entity


class Delete(Struct, frozen=True, tag=True):
    """An object is gone. ``kind`` is the class name of the entity; ``uid`` empty if unknown."""

    kind: str
    key: str
    uid: str = ""


class Replace(Struct, frozen=True, tag=True):
    """The whole collection of one ``source`` after a list; what it does not hold is gone.

    ``source`` names the listed collection (``Pod``, ``Node``, ``Job``, ``StatefulSet``, …), because
    several sources may feed one kind (``Owner``).
    """

    kind: str
    source: str
    entities: tuple[Entity, ...]


Delta = Upsert | Delete | Replace
