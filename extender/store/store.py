"""The cache of the cluster: one writer of observed state, our assumptions beside it, snapshots out.

**Invariants.** Observed state changes only by ``apply``. A uid that a Delete named, or that another
uid replaced under its name, never comes back. The indices equal what a recomputation from scratch
gives (``check_invariants``). A delta that comes late or twice changes nothing. No report is kept of
a node that is not there.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, Protocol, Self, TypeVar
from weakref import ReferenceType, ref

from extender.core.cluster.owner_index import OwnerIndex
from extender.core.cluster.snapshot import Cache, PlaceholderReservations, Snapshot
from extender.core.nodes.node_table import NodeTable
from extender.core.records import migrations
from extender.store import invariants
from extender.store.assumed import Act, Assumption
from extender.store.disruptions import Disruptions
from extender.store.nodes import NodeIndex
from extender.store.placeholders import PlaceholderBook
from extender.store.pods import PodBook
from extender.store.returning_jobs import ReturningJobs
from extender.store.source import Content, ordered
from extender.store.table import Collection, Quotas
from extender.store.versions import Removed, older, only_later
from shared.model import (
    Delete,
    Delta,
    Entity,
    JobKey,
    Migration,
    Namespace,
    Node,
    NodeName,
    Owner,
    Pod,
    PodGroup,
    PriorityClass,
    Replace,
    ResourceQuota,
    Topology,
    Uid,
    Upsert,
)
from shared.objects.claims import PersistentVolume, PersistentVolumeClaim
from shared.progress import NodeReport

E = TypeVar("E")


class _Observed(Protocol[E]):
    """The observed objects of one kind."""

    def get(self, key: str) -> E | None: ...
    def all(self) -> Iterable[E]: ...
    def put(self, entity: E) -> None: ...
    def remove(self, entity: E) -> None: ...


class ClusterStore:
    """Observed and assumed state of one cluster.

    Args:
        scheduler_name: Whose pods are ours.

    Attributes:
        generation: Grows with every change.
    """

    def __init__(self, scheduler_name: str) -> None:
        self.generation = 0
        self._scheduler_name = scheduler_name
        self._nodes = NodeIndex()
        self._pods = PodBook(scheduler_name, self._nodes)
        self._owners: Collection[Uid, Owner] = Collection(attrgetter("uid"))
        self._namespaces: Collection[str, Namespace] = Collection(attrgetter("name"))
        self._quotas = Quotas()
        self._classes: Collection[str, PriorityClass] = Collection(attrgetter("name"))
        self._topologies: Collection[str, Topology] = Collection(attrgetter("name"))
        self._claims: Collection[str, PersistentVolumeClaim] = Collection(attrgetter("key"))
        self._disruptions = Disruptions()
        self._volumes: Collection[str, PersistentVolume] = Collection(attrgetter("name"))
        self._groups: Collection[str, PodGroup] = Collection(attrgetter("key"))
        self._migrations: Collection[str, Migration] = Collection(attrgetter("key"))
        self._reports: Collection[NodeName, NodeReport] = Collection(attrgetter("node"))
        self._collections = self._by_kind()
        self._placeholders = PlaceholderBook(self._nodes)
        self._returning = ReturningJobs()
        self._removed = Removed()
        self._cache = Cache()
        self._snapshot: Snapshot | None = None
        self._let_go_of: ReferenceType[Snapshot] | None = None

    def _by_kind(self) -> Mapping[str, _Observed[Any]]:
        return {
            Pod.__name__: self._pods,
            Node.__name__: self._nodes,
            Owner.__name__: self._owners,
            PodGroup.__name__: self._groups,
            Namespace.__name__: self._namespaces,
            ResourceQuota.__name__: self._quotas,
            PriorityClass.__name__: self._classes,
            Topology.__name__: self._topologies,
            **self._nodes.devices.by_kind(),
            PersistentVolumeClaim.__name__: self._claims,
            PersistentVolume.__name__: self._volumes,
            **self._disruptions.by_kind(),
            Migration.__name__: self._migrations,
        }

    def apply(self, delta: Delta) -> None:
        """Take over what was observed: the only writer of observed state.

        Raises:
            KeyError: The delta is of a kind that ``shared.model`` does not have.
        """
        self._let_go()
        if isinstance(delta, Upsert):
            changed = self._upsert(delta.entity)
        elif isinstance(delta, Delete):
            changed = self._delete(delta)
        else:
            changed = self._replace(delta)
        self._touch(changed=changed)

    def report(self, report: NodeReport) -> None:
        """Take over what is known of a node through its agent, in place of what was there.

        Nothing for a node that is not held; the report goes with its node.
        """
        self._let_go()
        held = self._nodes.get(report.node) is not None
        if held:
            self._reports.put(report)
        self._touch(changed=held)

    def reported(self, node: NodeName) -> NodeReport | None:
        """What was last taken over of a node; None if nothing was."""
        return self._reports.get(node)

    def assume(self, assumption: Assumption) -> None:
        """Remember a write of ours until it is observed; nothing for a pod that is not held."""
        self._let_go()
        self._touch(changed=self._pods.assume(assumption))

    def keep_placeholders(self, kept: PlaceholderReservations) -> None:
        """Keep these placeholders instead of those that their job has."""
        self._let_go()
        self._placeholders.put(kept)
        self._touch(changed=True)

    def drop_placeholders(self, job: JobKey) -> None:
        """Drop the placeholders of a job."""
        self._let_go()
        self._touch(changed=self._placeholders.remove(job))

    def take_placeholder(self, job: JobKey, number: int, uid: Uid, *, at: float) -> None:
        """Turn a placeholder of a job into a promise; nothing if it or the pod is not there."""
        self._let_go()
        taken = self._placeholders.take(job, number, at) if self._pods.holds(uid) else None
        if taken is not None:
            place, kept = taken
            self.assume(
                Assumption.promised(
                    uid,
                    place.node,
                    plan_of=(kept.plan, kept.plan_size),
                    decision=place.decision,
                    at=at,
                )
            )

    def unpromise(self, uid: Uid) -> None:
        """Withdraw a promised reservation."""
        self._let_go()
        self._touch(changed=self._pods.unpromise(uid))

    def promised(self) -> tuple[Uid, ...]:
        """The pods with a promised reservation, sorted."""
        held = self._pods.assumptions()
        return tuple(sorted(u for u, a in held.items() if any(x.act is Act.PROMISE for x in a)))

    def holds(self, uid: Uid) -> bool:
        """Return True if the pod was observed."""
        return self._pods.holds(uid)

    def has_place(self, uid: Uid) -> bool:
        """Return True if the pod has a reservation or a node, without a snapshot."""
        return self._pods.has_place(uid)

    def awaits(self, uid: Uid) -> bool:
        """Return True if a write of ours to the pod was not observed yet."""
        return uid in self._pods.assumptions()

    def takes(self, uid: Uid) -> NodeName | None:
        """Return the node on which a pod takes room, bound or reserved there; None: on none."""
        return self._pods.takes(uid)

    def forget(self, uid: Uid) -> None:
        """The latest write to the pod failed."""
        self._let_go()
        self._touch(changed=self._pods.forget(uid))

    def expire(self, before: float) -> tuple[Uid, ...]:
        """Drop assumptions made earlier than ``before`` and return whose they were, sorted."""
        self._let_go()
        late = self._pods.expire(before)
        self._touch(changed=bool(late))
        return late

    def snapshot(self) -> Snapshot:
        """Return the state as it is now; the same object until something changes."""
        if self._snapshot is None:
            self._snapshot = self._still_held() or Snapshot(
                generation=self.generation,
                node_table=self._room(),
                pods=self._pods.pods.frozen(),
                jobs=self._pods.jobs.ordered(),
                waiting=self._pods.jobs.waiting(),
                reservations=self._pods.reservations.frozen(),
                bound=self._pods.bound.frozen(),
                owners=OwnerIndex(self._owners.frozen()),
                namespaces=self._namespaces.frozen(),
                quotas=self._quotas.by_namespace(),
                priority_classes=self._classes.frozen(),
                topologies=self._topologies.frozen(),
                devices=self._nodes.devices.view(),
                claims=self._claims.frozen(),
                volumes=self._volumes.frozen(),
                **self._disruptions.shown(),
                migrations=self._migrations.frozen(),
                reports=self._reports.frozen(),
                groups=self._groups.frozen(),
                placeholders=self._placeholders.rows(),
                marked=self._pods.marked.frozen(),
                provisional=self._pods.provisional.frozen(),
                most_placed=self._pods.company.rows(),
                repelled=self._pods.repelled.names(),
                waiting_by_age=self._pods.jobs.waiting_by_age(),
                cache=self._cache,
            )
        return self._snapshot

    def _room(self) -> NodeTable:
        """The nodes' room, less what migrations and returning jobs keep: few, so counted anew."""
        arrived = (self._pods.reservations.frozen(), self._pods.bound.frozen())
        places = [p for m in self._migrations.all() for p in migrations.reservations(m, arrived)]
        if returning := self._returning.jobs():
            every = self._pods.jobs.ordered()
            jobs = {key: every.get(key, ()) for key in returning}
            pods = (pod for of_job in jobs.values() for pod in of_job)
            taken = ((pod.uid, self._pods.takes(pod.uid)) for pod in pods)
            placed = {uid: node for uid, node in taken if node is not None}
            places += self._returning.places(jobs, placed)
        return migrations.with_reservations(self._nodes.node_table(), places)

    def export(self) -> Content:
        """Return everything the store holds, as one value, in order of kind and key."""
        return ordered(self.held())

    def held(self) -> Content:
        """Return the same, unordered and quickly; to hold it makes the store copy nothing."""
        assumed = sorted(self._pods.assumptions().items())
        kinds = sorted(self._collections.items())
        return Content(
            scheduler_name=self._scheduler_name,
            generation=self.generation,
            entities=tuple(chain.from_iterable(kind.all() for _, kind in kinds)),
            assumptions=tuple(one for _, made in assumed for one in made),
            removed=self._removed.all(),
            reports=tuple(self._reports.all()),
            placeholders=tuple(self._placeholders.all()),
            companions=tuple(self._pods.company.all()),
        )

    @classmethod
    def restore(cls, content: Content) -> Self:
        """Build the store that ``content`` came from."""
        store = cls(content.scheduler_name)
        for entity in content.entities:
            store._put(entity)
        for assumption in content.assumptions:
            store._pods.assume(assumption)
        for report in content.reports:
            store._reports.put(report)
        for kept in content.placeholders:
            store._placeholders.put(kept)
        store._pods.company.recall(content.companions)
        store._removed = Removed(content.removed)
        store.generation = content.generation
        return store

    def check_invariants(self) -> None:
        """Recompute everything from scratch and compare.

        Raises:
            InvariantError: Something differs; names what is kept and what is right.
        """
        invariants.check(self.snapshot(), self.export())

    def _upsert(self, entity: Entity) -> bool:
        """Put, unless it is older than the object of that name that is held.

        Only here: in a watch the end of an object comes before its successor, so an older one is
        late. A list is true as it is, and two API servers' clocks may differ. Of a Migration and
        of an owner the answer to our own write is taken over, before the watch comes to it or
        after that.
        """
        held = self._collections[type(entity).__name__].get(entity.key)
        if isinstance(entity, Migration | Owner) and older(entity, held):
            return False
        if held is not None and _uid(held) != _uid(entity):
            late = _created_at(entity) < _created_at(held)
            return False if late else self._put(entity)
        return self._put(entity)

    def _put(self, entity: Entity) -> bool:
        collection, uid = self._collections[type(entity).__name__], _uid(entity)
        held = collection.get(entity.key)
        if held == entity or uid in self._removed or only_later(entity, held):
            return False
        if held is not None and _uid(held) != uid:
            self._take_away(held)
            self._removed.add(_uid(held))
        collection.put(entity)
        if isinstance(entity, Owner):
            self._returning.put(entity)
        return True

    def _take_away(self, held: Entity) -> None:
        self._collections[type(held).__name__].remove(held)
        report = self._reports.get(held.name) if isinstance(held, Node) else None
        if report is not None:
            self._reports.remove(report)
        if isinstance(held, Owner):
            self._pods.company.orphan(held.uid)
            self._returning.remove(held.uid)

    def _delete(self, delta: Delete) -> bool:
        self._removed.add(delta.uid)
        collection = self._collections[delta.kind]
        held = collection.get(delta.key)
        if held is None or (delta.uid and delta.uid != _uid(held)):
            return False
        self._take_away(held)
        return True

    def _replace(self, delta: Replace) -> bool:
        """A diff: what the list lacks is gone, what it has is put, in that order."""
        collection = self._collections[delta.kind]
        listed = {entity.key for entity in delta.entities}
        lost = [held for held in collection.all() if _source(held) == delta.source]
        lost = [held for held in lost if held.key not in listed]
        for held in lost:
            self._take_away(held)
        changes = [self._put(entity) for entity in delta.entities]
        return bool(lost) or any(changes)

    def _let_go(self) -> None:
        """Release our snapshot before a change, or the tables would be copied for it."""
        if self._snapshot is not None:
            self._let_go_of, self._snapshot = ref(self._snapshot), None

    def _still_held(self) -> Snapshot | None:
        """Return the latest snapshot, if a reader holds it and nothing has changed since."""
        snapshot = self._let_go_of() if self._let_go_of is not None else None
        return snapshot if snapshot is not None and snapshot.generation == self.generation else None

    def _touch(self, *, changed: bool) -> None:
        if changed:
            self.generation += 1
            self._snapshot = None


def _uid(entity: Entity) -> str:
    return getattr(entity, "uid", "")


def _created_at(entity: Entity) -> float:
    return getattr(entity, "created_at", 0.0)


def _source(entity: Entity) -> str:
    """The collection an entity was listed from: several feed one kind for owners and groups."""
    if isinstance(entity, Owner | PodGroup):
        return entity.collection
    return type(entity).__name__
