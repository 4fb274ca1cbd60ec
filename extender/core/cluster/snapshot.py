"""What a decision sees: the cluster as it was observed, with what we did and have not yet seen.

Frozen, and shared between decisions. Its mappings have no order that a decision may use.

Its cache holds results of earlier work with exactly what they were computed from. A decision is the
same with a cache and without: a cached value is what the same inputs would give again. So a replay
needs none, and losing one costs time only. Each module declares the slot of what it caches, and
knows its type.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar, cast

from msgspec import Struct

from extender.core.cluster.owner_index import OwnerIndex
from extender.core.nodes.device_columns import Devices
from extender.core.nodes.node_table import NodeTable
from shared.model import (
    JobKey,
    Migration,
    Namespace,
    NodeName,
    Pod,
    PodGroup,
    PodKey,
    PodShape,
    PriorityClass,
    ResourceQuota,
    Topology,
    Uid,
)
from shared.objects.claims import PersistentVolume, PersistentVolumeClaim
from shared.objects.disruptions import Eviction, HorizontalPodAutoscaler, PodDisruptionBudget
from shared.progress import NodeReport

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
_SLACK: Final = 256


class Kept(Generic[K, V]):
    """The latest value of each key, with what it was computed from.

    Args:
        below: Read where nothing is held here, and never changed. It may belong to another thread:
            a look-up is one operation of a dict.
    """

    def __init__(self, below: "Kept[K, V] | None" = None) -> None:
        self._held: dict[K, tuple[object, V]] = {}
        self._below = below

    def get(self, key: K, source: object) -> V | None:
        """Return what was computed from this very source; None if it was another one."""
        held = self._held.get(key)
        if held is not None and held[0] == source:
            return held[1]
        return None if self._below is None else self._below.get(key, source)

    def latest(self, key: K) -> V | None:
        """Return the value whatever it was computed from; None if there is none."""
        held = self._held.get(key)
        if held is not None:
            return held[1]
        return None if self._below is None else self._below.latest(key)

    def put(self, key: K, source: object, value: V) -> None:
        """Keep a value in place of the one before."""
        self._held[key] = (source, value)

    def trim(self, wanted: Collection[K]) -> None:
        """Drop the others, once they are many."""
        if len(self._held) > 2 * len(wanted) + _SLACK:
            self._held = {key: self._held[key] for key in wanted if key in self._held}


class Slot(Generic[T]):
    """The place of one cached structure; the module that fills it declares it as a constant.

    Args:
        make: Makes an empty structure.
        over: Makes one that reads another cache's structure where it has nothing itself; None:
            caches beside each other share nothing.
    """

    def __init__(self, make: Callable[[], T], over: Callable[[T], T] | None = None) -> None:
        self.make = make
        self.over = over


class Cache:
    """Cached structures by slot."""

    def __init__(self, below: "Cache | None" = None) -> None:
        self._held: dict[Slot[Any], object] = {}
        self._below = below

    def of(self, slot: Slot[T]) -> T:
        """Return the structure of a slot; an empty one at first."""
        held = self._held.get(slot)
        if held is None:
            held = self._held.setdefault(slot, self._made(slot))
        return cast("T", held)

    def beside(self) -> "Cache":
        """Return one for another thread, which reads what this one shares.

        What the thread computes stays there, so that jobs of a what-if are not kept.
        """
        return Cache(self)

    def _made(self, slot: Slot[T]) -> T:
        if self._below is None or slot.over is None:
            return slot.make()
        return slot.over(self._below.of(slot))


WaitingJob = tuple[float, JobKey]
"""When the oldest pod of a waiting job was created, and the job."""

WaitingBlocks = tuple[tuple[WaitingJob, ...], ...]
"""Waiting jobs in order, in blocks that snapshots share."""


@dataclass(frozen=True)
class Reservation:
    """The place kept for a pod that is not seen bound yet.

    Attributes:
        node: Planned node; it may be gone by now.
        plan: Id of the plan that released the pod; empty if it names none.
        plan_size: How many pods that plan released together; 0 if it states none.
        assumed: We wrote it and have not yet seen it, or it is written with the Binding.
        decision: Rule, value and terms behind it, one line of JSON, where the pod is not annotated
            with it.
        gated: It is written with the Binding, and the pod had our gate.
    """

    node: NodeName
    plan: str
    plan_size: int
    assumed: bool
    decision: str = ""
    gated: bool = False

    @property
    def promised(self) -> bool:
        """It is written with the Binding, not before."""
        return bool(self.decision)


class Placeholder(Struct, frozen=True):
    """A place kept for a pod that does not exist yet.

    Attributes:
        number: Its name within its job's placeholders.
        node: Planned node.
        shape: What may sit there.
        role: Role of the pod it was planned for.
        decision: As in ``Reservation``.
    """

    number: int
    node: NodeName
    shape: PodShape
    role: str
    decision: str


class PlaceholderReservations(Struct, frozen=True):
    """What is kept for the pods that a direct gang still lacks (``core.scheduler.direct_gangs``).

    Attributes:
        job: The gang.
        plan: Id of the plan they belong to.
        plan_size: How many pods it binds together.
        at: When one was given last, or all were planned; monotonic seconds.
        placeholders: Those that no pod has taken yet, by number; they count as used.
    """

    job: JobKey
    plan: str
    plan_size: int
    at: float
    placeholders: tuple[Placeholder, ...]


@dataclass(frozen=True)
class Snapshot:
    """One generation of the store.

    Attributes:
        generation: Grows with every change.
        node_table: Nodes. Used amounts are the requests of bound, unfinished pods of any scheduler,
            of reservations and of placeholders; where CPU requests were changed in place, the
            larger of what the pods of a node were given and what they request now.
        pods: All pods as observed; one that we deleted, or marked to be
            replaced, is ``deleting`` at once.
        jobs: Pods of our scheduler by job, in order of ``(created_at, name)``.
        waiting: Jobs with a pod that is not bound, finished or deleting.
        waiting_by_age: The same by namespace and priority of their oldest pod, the oldest first.
        reservations: Reservations of pods not seen bound, also of those whose Binding we wrote.
        bound: Node of each pod that is bound, observed or assumed; finished ones too.
        marked: Bare pods that we have begun to replace and that are not seen being deleted yet, by
            uid (``core.cluster.replacements``).
        provisional: Copies of bare pods of which we have not sent the deletion, by uid.
        most_placed: Of jobs that have had more members bound or succeeded at one time than now:
            how many at most, since the oldest of those that still are so was bound. As observed.
        owners: Looked up by references within one namespace.
        namespaces: By name.
        quotas: By namespace, in order of name.
        priority_classes: By name.
        topologies: Of Kueue, by name.
        devices: What devices of drivers mean for pods.
        claims: For volumes, by ``namespace/name``.
        volumes: By name.
        budgets: How many pods may leave together, by ``namespace/name``.
        autoscalers: By ``namespace/name``.
        migrations: Open ones and those that ended, by ``namespace/name``.
        reports: Of the agents, by node; a node without an agent is not in it.
        groups: Declared by ``PodGroup.<API group>/namespace/name``.
        placeholders: What direct gangs have for members that do not exist yet, by job.
        repelled: Namespaces of pods that the required anti-affinity of an unfinished pod may keep
            off nodes; ``ALL_NAMESPACES`` among them where it may be any.
        cache: Results of earlier work; the same for all snapshots of a store.
    """

    generation: int
    node_table: NodeTable
    pods: Mapping[PodKey, Pod]
    jobs: Mapping[JobKey, tuple[Pod, ...]]
    waiting: AbstractSet[JobKey]
    reservations: Mapping[Uid, Reservation]
    bound: Mapping[Uid, NodeName]
    owners: OwnerIndex
    namespaces: Mapping[str, Namespace]
    quotas: Mapping[str, tuple[ResourceQuota, ...]]
    priority_classes: Mapping[str, PriorityClass]
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    devices: Devices = field(default_factory=Devices)
    claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    budgets: Mapping[str, PodDisruptionBudget] = field(default_factory=dict)
    autoscalers: Mapping[str, HorizontalPodAutoscaler] = field(default_factory=dict)
    evictions: Mapping[str, Eviction] = field(default_factory=dict)
    migrations: Mapping[str, Migration] = field(default_factory=dict)
    reports: Mapping[NodeName, NodeReport] = field(default_factory=dict)
    groups: Mapping[str, PodGroup] = field(default_factory=dict)
    placeholders: Mapping[JobKey, PlaceholderReservations] = field(default_factory=dict)
    marked: Mapping[Uid, Pod] = field(default_factory=dict)
    provisional: Mapping[Uid, Pod] = field(default_factory=dict)
    most_placed: Mapping[JobKey, int] = field(default_factory=dict)
    repelled: frozenset[str] = frozenset()
    waiting_by_age: Mapping[tuple[str, int], WaitingBlocks] = field(default_factory=dict)
    cache: Cache = field(default_factory=Cache, compare=False, repr=False)
