"""The cluster as the core sees it: slim frozen values, parsed once at the door (``shared.kube``).

Amounts are integers in base units: CPU in milli-CPU, memory and storage in bytes, everything else
in pieces. Times are seconds since the epoch. Nothing here does I/O.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from shared.objects import devices, identity, owners, pod_cpu, pod_shape
from shared.objects.claims import PersistentVolume, PersistentVolumeClaim
from shared.objects.disruptions import Eviction, HorizontalPodAutoscaler, PodDisruptionBudget

NodeName = identity.NodeName
PodKey = identity.PodKey
JobKey = identity.JobKey
Uid = identity.Uid

Requirement = pod_shape.Requirement
NodeSelectorTerm = pod_shape.NodeSelectorTerm
PreferredTerm = pod_shape.PreferredTerm
Toleration = pod_shape.Toleration
Taint = pod_shape.Taint
HostPort = pod_shape.HostPort
PodShape = pod_shape.PodShape
ContainerCpu = pod_cpu.ContainerCpu
DeviceClass = devices.DeviceClass
ResourceSlice = devices.ResourceSlice
DeviceTaintRule = devices.DeviceTaintRule
ResourceClaim = devices.ResourceClaim
ResourceClaimTemplate = devices.ResourceClaimTemplate
PodClaim = devices.PodClaim

OwnerReference = owners.OwnerReference
JobState = owners.JobState
Owner = owners.Owner
Pause = owners.Pause
WorkerCount = owners.WorkerCount
OwnProgress = owners.OwnProgress
PodGroup = owners.PodGroup

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})
CPU = "cpu"
PODS = "pods"
ALL_NAMESPACES = "*"


class Pod(Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True, gc=False):
    """A pod. ``controller`` is its controlling owner; ``queued_reason`` our own condition's reason.

    ``scheduled_at`` is the transition time of PodScheduled=True (0.0 while unbound),
    ``finished_at`` when its last container ended (0.0 before, and where that is not stated).
    ``claims`` are the PersistentVolumeClaims that its volumes name, sorted; ``device_claims`` its
    ResourceClaims.

    ``shape`` has what the owner asked for, also while we have changed the CPU request in place;
    ``borrowed_milli`` is by how much more CPU the pod counts on its node now, or, below 0, less.
    ``cpus`` are its containers' requests as they are, empty where the pod as a whole has some;
    ``resize_pending`` says why its node does not grant a change: ``Deferred``, ``Infeasible``.

    ``scheduling_group`` is ``spec.schedulingGroup.podGroupName``, the in-tree gang's, or empty.
    ``prefers`` says whether it would rather be on some nodes, which only kube-scheduler weighs.

    ``labels`` and ``annotations`` are those that are kept (``shared.kube.kept_keys``). ``excess``
    says what of them or of its spec (``shared.kube.excess``) is more than we read, and is empty if
    nothing is; no node is planned for such a pod.

    ``reservation_refused`` is the reason why its ``labels.RESERVATION`` annotations are not ours;
    they were removed before the core sees the pod. Empty: it had none, or they are ours.

    ``repels`` are the namespaces of the pods that its required anti-affinity may keep off its node,
    sorted; ``ALL_NAMESPACES`` alone where it may be any.
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
    finished_at: float = 0.0
    queued_reason: str = ""
    phase_reason: str = ""
    claims: tuple[str, ...] = ()
    device_claims: tuple[PodClaim, ...] = ()
    qos: str = ""
    cpus: tuple[ContainerCpu, ...] = ()
    borrowed_milli: int = 0
    resize_pending: str = ""
    scheduling_group: str = ""
    prefers: bool = False
    excess: str = ""
    reservation_refused: str = ""
    repels: tuple[str, ...] = ()

    @property
    def key(self) -> PodKey:
        """``namespace/name``."""
        return PodKey(f"{self.namespace}/{self.name}")

    @property
    def finished(self) -> bool:
        """Phase Succeeded or Failed: it takes no room on its node."""
        return self.phase in TERMINAL_PHASES


class Node(Struct, frozen=True, kw_only=True, tag=True):
    """A node. ``allocatable`` is in base units and includes ``pods``.

    ``conditions`` are the types that are True, but for Ready. ``unreachable_since`` is since when
    its kubelet has not reported, so that Ready is Unknown; 0.0 while it reports. ``leaves_at`` is
    the time in the annotation ``labels.LEAVING``; 0.0 if that names none, None if it is missing.
    """

    name: NodeName
    uid: Uid
    resource_version: str = ""
    allocatable: Mapping[str, int] = {}
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    conditions: tuple[str, ...] = ()
    unreachable_since: float = 0.0
    leaves_at: float | None = None

    @property
    def key(self) -> str:
        """The node's name."""
        return self.name


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


class Topology(Struct, frozen=True, kw_only=True, tag=True):
    """A Topology of Kueue: the node labels of its levels, from the coarsest to the finest."""

    name: str
    levels: tuple[str, ...]

    @property
    def key(self) -> str:
        """The topology's name."""
        return self.name


class PriorityClass(Struct, frozen=True, kw_only=True, tag=True):
    """A PriorityClass: its value decides whether a job is hp, np or lp.

    ``preempts`` is False with ``preemptionPolicy: Never``: its jobs wait rather than have others
    parked.
    """

    name: str
    value: int
    preempts: bool = True

    @property
    def key(self) -> str:
        """The class's name."""
        return self.name


class MigrationPhase(StrEnum):
    """Where a migration is (``extender.core.migration.state_machine`` has the transition table)."""

    REQUESTED = "Requested"
    TARGET_RESERVED = "TargetReserved"
    CHECKPOINT_REQUESTED = "CheckpointRequested"
    CHECKPOINTED = "Checkpointed"
    EVICTING = "Evicting"
    RECREATING = "Recreating"
    RESUMING = "Resuming"
    COMPLETED = "Completed"
    ABORTED = "Aborted"
    """Nothing was moved: the reservation is given back and the trainer goes on."""
    FAILED = "Failed"
    """The pod is gone from its node and did not resume as it should; its owner goes on."""


CLOSED_PHASES = frozenset({MigrationPhase.COMPLETED, MigrationPhase.ABORTED, MigrationPhase.FAILED})


class Trigger(StrEnum):
    """What asked for a migration."""

    CONVERGED = "converged"
    """SpeCon Algorithm 1 and 2."""
    REBALANCE = "rebalance"
    """SpeCon Algorithm 3."""
    COUNT = "count"
    """Count balancing."""


class Mover(StrEnum):
    """How the pods leave their nodes."""

    EVICT = "evict"
    """By the Eviction API; the owner makes a new pod."""
    RECREATE = "recreate"
    """By the Eviction API; the pod has no owner, so we make the new one from the kept template."""
    SUSPEND = "suspend"
    """The whole Job is suspended and resumed: no failure is counted, no back-off is waited for."""


class MigrationMember(Struct, frozen=True, kw_only=True):
    """One pod of a migration: what moves from where to where, and what is known of it so far.

    Attributes:
        pod: Name of the pod.
        uid: Its uid.
        source: Node it leaves.
        target: Node it is to go to.
        index: Its index within the job; None if it has none.
        asked: A checkpoint is asked of it (one pod for each checkpoint directory).
        shape: What it asks of a node, for the reservation.
        replacement: Name of the new pod; empty until it is known.
        replacement_uid: Its uid.
        node: Node that the new pod was bound to; the target unless that was lost.
        acked_step: The step of the acknowledged checkpoint; None before.
        ack_bytes: Size of that checkpoint.
        ack_seconds: How long writing it took.
        resumed_step: Completed steps that the new pod began with; None before.
    """

    pod: str
    uid: Uid
    source: NodeName
    target: NodeName
    shape: PodShape
    index: int | None = None
    asked: bool = True
    replacement: str = ""
    replacement_uid: str = ""
    node: str = ""
    acked_step: int | None = None
    ack_bytes: int | None = None
    ack_seconds: float | None = None
    resumed_step: int | None = None


class Migration(Struct, frozen=True, kw_only=True, tag=True):
    """A Migration object: a job's pods on their way to other nodes.

    Attributes:
        job: ``namespace/kind/name`` of the job.
        owner: Controller of the pods; None for a bare pod.
        trigger: What asked for it.
        mover: How the pods leave.
        why: For people: the figures behind the decision.
        gain_seconds: What was expected to be gained when it was decided.
        cost_seconds: What it was expected to cost.
        phase: Where it is.
        reason: CamelCase token of the end, or of what it waits for.
        message: The same in words.
        request: Id of the checkpoint request; empty before there is one.
        deadline: When the phase it is in ends in abort or failure; seconds since the epoch.
        ask_until: Until when the trainer may answer the request; seconds since the epoch.
        hold_until: Until when the trainer holds after its ack; seconds since the epoch.
        transitions: Each phase entered, and when.
        members: The pods.
        digest: Of the whole spec, templates included; empty before the object was read.
        signature: Signature of the spec, which proves that it is ours.
    """

    namespace: str
    name: str
    uid: Uid
    resource_version: str = ""
    created_at: float = 0.0
    job: JobKey
    owner: OwnerReference | None = None
    trigger: Trigger
    mover: Mover
    why: str = ""
    gain_seconds: float | None = None
    cost_seconds: float | None = None
    phase: MigrationPhase = MigrationPhase.REQUESTED
    reason: str = ""
    message: str = ""
    request: str = ""
    deadline: float = 0.0
    ask_until: float = 0.0
    hold_until: float = 0.0
    transitions: tuple[tuple[MigrationPhase, float], ...] = ()
    members: tuple[MigrationMember, ...] = ()
    digest: str = ""
    signature: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def open(self) -> bool:
        """It has not ended."""
        return self.phase not in CLOSED_PHASES


Entity = (
    Pod
    | Node
    | Owner
    | PodGroup
    | Namespace
    | ResourceQuota
    | PriorityClass
    | Topology
    | DeviceClass
    | ResourceSlice
    | DeviceTaintRule
    | ResourceClaimTemplate
    | ResourceClaim
    | PersistentVolumeClaim
    | PersistentVolume
    | PodDisruptionBudget
    | HorizontalPodAutoscaler
    | Eviction
    | Migration
)


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
