"""Pods as observed and as assumed; every change goes through ``standing`` into the indices."""

from collections.abc import Iterable, Mapping

from extender.core.cluster.snapshot import Reservation
from extender.store.assumed import Assumption, Overlay
from extender.store.jobs import JobIndex
from extender.store.most_placed import MostPlacedIndex
from extender.store.nodes import NodeIndex
from extender.store.pod_state import PodState, standing
from extender.store.table import Table
from shared.model import NodeName, Pod, PodKey, Uid


class PodBook:
    """The pods, what we assume of them, and the indices over both.

    Args:
        scheduler_name: Whose pods are ours.
        nodes: Where pods take room.
    """

    def __init__(self, scheduler_name: str, nodes: NodeIndex) -> None:
        self._scheduler_name = scheduler_name
        self._nodes = nodes
        self._observed: dict[str, Pod] = {}
        self._key: dict[Uid, PodKey] = {}
        self._standings: dict[Uid, PodState] = {}
        self._overlay = Overlay()
        self.jobs = JobIndex()
        self.pods: Table[PodKey, Pod] = Table()
        self.reservations: Table[Uid, Reservation] = Table()
        self.bound: Table[Uid, NodeName] = Table()
        self.marked: Table[Uid, Pod] = Table()
        self.company = MostPlacedIndex()

    def get(self, key: str) -> Pod | None:
        """The pod as observed."""
        return self._observed.get(key)

    def holds(self, uid: Uid) -> bool:
        """Return True if the pod was observed."""
        return uid in self._key

    def has_place(self, uid: Uid) -> bool:
        """Return True if the pod has a reservation or a node."""
        standing = self._standings.get(uid)
        return standing is not None and (standing.reservation or standing.bound) is not None

    def takes(self, uid: Uid) -> NodeName | None:
        """Return the node on which a pod takes room; None: it takes none."""
        standing = self._standings.get(uid)
        return None if standing is None else standing.takes

    def all(self) -> Iterable[Pod]:
        """Every pod as observed."""
        return self._observed.values()

    def put(self, pod: Pod) -> None:
        """A pod was observed. A pod of the same name and another uid has been removed before."""
        self._observed[pod.key] = pod
        self._key[pod.uid] = pod.key
        self._overlay.settle(pod)
        self._stand(pod)

    def remove(self, pod: Pod) -> None:
        """A pod is gone."""
        del self._observed[pod.key]
        del self._key[pod.uid]
        self._overlay.drop(pod.uid)
        self._move(self._standings.pop(pod.uid), None)

    def assume(self, assumption: Assumption) -> bool:
        """Add an assumption about an observed pod; return whether anything changed."""
        key = self._key.get(assumption.uid)
        if key is None:
            return False
        pod = self._observed[key]
        before = self._overlay.of(pod.uid)
        self._overlay.add(assumption)
        self._overlay.settle(pod)
        self._stand(pod)
        return self._overlay.of(pod.uid) != before

    def forget(self, uid: Uid) -> bool:
        """Take the latest assumption about a pod back; return whether there was one."""
        if not self._overlay.forget(uid):
            return False
        self._stand(self._observed[self._key[uid]])
        return True

    def unpromise(self, uid: Uid) -> bool:
        """Withdraw a promised reservation; return whether there was one."""
        if not self._overlay.unpromise(uid):
            return False
        self._stand(self._observed[self._key[uid]])
        return True

    def expire(self, before: float) -> tuple[Uid, ...]:
        """Drop assumptions made earlier than ``before``; return whose, sorted."""
        late = self._overlay.expire(before)
        for uid in late:
            self._stand(self._observed[self._key[uid]])
        return late

    def assumptions(self) -> Mapping[Uid, tuple[Assumption, ...]]:
        """What we assume, by pod."""
        return self._overlay.all()

    def _stand(self, pod: Pod) -> None:
        new = standing(pod, self._overlay.of(pod.uid), self._scheduler_name)
        self._move(self._standings.get(pod.uid), new)
        self._standings[pod.uid] = new

    def _move(self, old: PodState | None, new: PodState | None) -> None:
        self._move_room(old, new)
        if old is not None and old.job is not None:
            self.jobs.remove(old.job, old)
        if new is not None and new.job is not None:
            self.jobs.add(new.job, new)
        self.company.move(old, new)
        self._move_rows(old, new)

    def _move_room(self, old: PodState | None, new: PodState | None) -> None:
        left, taken = _place(old), _place(new)
        if left == taken:
            return
        if old is not None and old.takes is not None:
            self._nodes.vacate(old.takes, old.pod.uid)
        if new is not None and new.takes is not None:
            pod = new.pod
            self._nodes.occupy(new.takes, pod.uid, pod.shape, pod.borrowed_milli)

    def _move_rows(self, old: PodState | None, new: PodState | None) -> None:
        """Write the rows that differ; most events leave reservation and node as they are."""
        if new is None:
            if old is not None:
                self.pods.set(old.pod.key, None)
                self.reservations.set(old.pod.uid, None)
                self.bound.set(old.pod.uid, None)
                self.marked.set(old.pod.uid, None)
            return
        self.pods.set(new.pod.key, new.pod)
        if old is None or old.reservation != new.reservation:
            self.reservations.set(new.pod.uid, new.reservation)
        if old is None or old.bound != new.bound:
            self.bound.set(new.pod.uid, new.bound)
        self.marked.set(new.pod.uid, new.pod if new.marked else None)


def _place(one: PodState | None) -> tuple[object, ...]:
    if one is None or one.takes is None:
        return ()
    return (one.takes, one.pod.shape, one.pod.borrowed_milli)
