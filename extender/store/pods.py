"""The pods, as observed and as assumed, and the jobs that they make.

Every change goes through ``pod_state`` into the indices, each of which is a sum over the states of
pods.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from extender.core.cluster.snapshot import Reservation, WaitingBlocks
from extender.store.assumed import Assumption, Overlay, PodState, pod_state
from extender.store.most_placed import MostPlacedIndex
from extender.store.nodes import NodeIndex
from extender.store.table import Table
from extender.store.waiting_jobs import WaitingJobs
from shared.model import JobKey, NodeName, Pod, PodKey, Uid


class _Members:
    """Pods of one job, kept in order: a gang of a thousand changes with every pod's event."""

    def __init__(self) -> None:
        self._keys: list[tuple[float, str, Uid]] = []
        self.pods: list[Pod] = []

    def put(self, pod: Pod) -> None:
        key = _age(pod)
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            self.pods[at] = pod
        else:
            self._keys.insert(at, key)
            self.pods.insert(at, pod)

    def drop(self, pod: Pod) -> None:
        at = bisect_left(self._keys, _age(pod))
        del self._keys[at], self.pods[at]


class JobIndex:
    """Members of each job; an event touches its own pod, a snapshot the jobs that changed."""

    def __init__(self) -> None:
        self._members: dict[JobKey, _Members] = {}
        self._unplaced: dict[JobKey, set[Uid]] = {}
        self._ordered: Table[JobKey, tuple[Pod, ...]] = Table()
        self._changed: set[JobKey] = set()
        self._waiting: Table[JobKey, bool] = Table()
        self._by_age = WaitingJobs()

    def add(self, job: JobKey, member: PodState) -> None:
        """A pod joins its job."""
        uid = member.pod.uid
        self._members.setdefault(job, _Members()).put(member.pod)
        self._changed.add(job)
        if member.waits:
            self._unplaced.setdefault(job, set()).add(uid)
            self._waiting.set(job, True)

    def remove(self, job: JobKey, member: PodState) -> None:
        """A pod leaves its job; a job without pods is gone."""
        uid = member.pod.uid
        self._members[job].drop(member.pod)
        self._changed.add(job)
        if not self._members[job].pods:
            del self._members[job]
        if member.waits:
            self._unplaced[job].remove(uid)
            if not self._unplaced[job]:
                del self._unplaced[job]
                self._waiting.set(job, None)

    def ordered(self) -> Mapping[JobKey, tuple[Pod, ...]]:
        """Pods of each job in order of ``(created_at, name)``."""
        self._settle()
        return self._ordered.frozen()

    def waiting(self) -> AbstractSet[JobKey]:
        """Jobs with a pod that is not bound, finished or deleting."""
        return self._waiting.frozen().keys()

    def waiting_by_age(self) -> Mapping[tuple[str, int], WaitingBlocks]:
        """Return the same by namespace and priority, the oldest first."""
        self._settle()
        return self._by_age.rows()

    def _settle(self) -> None:
        for job in sorted(self._changed):
            members = self._members.get(job)
            self._ordered.set(job, tuple(members.pods) if members else None)
            waits = members is not None and job in self._unplaced
            self._by_age.put(job, members.pods[0] if members and waits else None)
        self._changed.clear()


class RepelledNamespaces:
    """Namespaces that unfinished pods repel by required anti-affinity, with how many pods do."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._names: frozenset[str] = frozenset()

    def move(self, old: PodState | None, new: PodState | None) -> None:
        """Take over a change of one pod."""
        before, after = _repelled_by(old), _repelled_by(new)
        if before != after:
            self._counts.update(after)
            self._counts.subtract(before)
            self._counts = +self._counts
            self._names = frozenset(self._counts)

    def names(self) -> frozenset[str]:
        """Return the namespaces; the same object until they change."""
        return self._names


def _repelled_by(state: PodState | None) -> tuple[str, ...]:
    return () if state is None or state.pod.finished else state.pod.repels


def _age(pod: Pod) -> tuple[float, str, Uid]:
    return pod.created_at, pod.name, pod.uid


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
        self._states: dict[Uid, PodState] = {}
        self._overlay = Overlay()
        self.jobs = JobIndex()
        self.pods: Table[PodKey, Pod] = Table()
        self.reservations: Table[Uid, Reservation] = Table()
        self.bound: Table[Uid, NodeName] = Table()
        self.marked: Table[Uid, Pod] = Table()
        self.provisional: Table[Uid, Pod] = Table()
        self.company = MostPlacedIndex()
        self.repelled = RepelledNamespaces()

    def get(self, key: str) -> Pod | None:
        """The pod as observed."""
        return self._observed.get(key)

    def holds(self, uid: Uid) -> bool:
        """Return True if the pod was observed."""
        return uid in self._key

    def has_place(self, uid: Uid) -> bool:
        """Return True if the pod has a reservation or a node."""
        state = self._states.get(uid)
        return state is not None and (state.reservation or state.bound) is not None

    def takes(self, uid: Uid) -> NodeName | None:
        """Return the node on which a pod takes room; None: it takes none."""
        state = self._states.get(uid)
        return None if state is None else state.takes

    def all(self) -> Iterable[Pod]:
        """Every pod as observed."""
        return self._observed.values()

    def put(self, pod: Pod) -> None:
        """A pod was observed. A pod of the same name and another uid has been removed before."""
        self._observed[pod.key] = pod
        self._key[pod.uid] = pod.key
        self._overlay.settle(pod)
        self._update(pod)

    def remove(self, pod: Pod) -> None:
        """A pod is gone."""
        del self._observed[pod.key]
        del self._key[pod.uid]
        self._overlay.drop(pod.uid)
        self._move(self._states.pop(pod.uid), None)

    def assume(self, assumption: Assumption) -> bool:
        """Add an assumption about an observed pod; return whether anything changed."""
        key = self._key.get(assumption.uid)
        if key is None:
            return False
        pod = self._observed[key]
        before = self._overlay.of(pod.uid)
        self._overlay.add(assumption)
        self._overlay.settle(pod)
        self._update(pod)
        return self._overlay.of(pod.uid) != before

    def forget(self, uid: Uid) -> bool:
        """Take the latest assumption about a pod back; return whether there was one."""
        if not self._overlay.forget(uid):
            return False
        self._update(self._observed[self._key[uid]])
        return True

    def unpromise(self, uid: Uid) -> bool:
        """Withdraw a promised reservation; return whether there was one."""
        if not self._overlay.unpromise(uid):
            return False
        self._update(self._observed[self._key[uid]])
        return True

    def expire(self, before: float) -> tuple[Uid, ...]:
        """Drop assumptions made earlier than ``before``; return whose, sorted."""
        late = self._overlay.expire(before)
        for uid in late:
            self._update(self._observed[self._key[uid]])
        return late

    def assumptions(self) -> Mapping[Uid, tuple[Assumption, ...]]:
        """What we assume, by pod."""
        return self._overlay.all()

    def _update(self, pod: Pod) -> None:
        new = pod_state(pod, self._overlay.of(pod.uid), self._scheduler_name)
        self._move(self._states.get(pod.uid), new)
        self._states[pod.uid] = new

    def _move(self, old: PodState | None, new: PodState | None) -> None:
        self._nodes.devices.count(
            None if old is None else old.pod,
            None if new is None else new.pod,
            None if new is None else new.job,
        )
        self._move_room(old, new)
        if old is not None and old.job is not None:
            self.jobs.remove(old.job, old)
        if new is not None and new.job is not None:
            self.jobs.add(new.job, new)
        self.company.move(old, new)
        self.repelled.move(old, new)
        self._move_rows(old, new)

    def _move_room(self, old: PodState | None, new: PodState | None) -> None:
        left, taken = _place(old), _place(new)
        if left == taken:
            return
        if old is not None and old.takes is not None:
            self._nodes.vacate(old.takes, old.pod.uid)
        if new is not None and new.takes is not None:
            pod = new.pod
            self._nodes.occupy(
                new.takes,
                pod.uid,
                pod.shape,
                borrowed_milli=pod.borrowed_milli,
                claims=pod.device_claims,
                namespace=pod.namespace,
            )

    def _move_rows(self, old: PodState | None, new: PodState | None) -> None:
        """Write the rows that differ; most events leave reservation and node as they are."""
        if new is None:
            if old is not None:
                self.pods.set(old.pod.key, None)
                self.reservations.set(old.pod.uid, None)
                self.bound.set(old.pod.uid, None)
                self.marked.set(old.pod.uid, None)
                self.provisional.set(old.pod.uid, None)
            return
        self.pods.set(new.pod.key, new.pod)
        if old is None or old.reservation != new.reservation:
            self.reservations.set(new.pod.uid, new.reservation)
        if old is None or old.bound != new.bound:
            self.bound.set(new.pod.uid, new.bound)
        self.marked.set(new.pod.uid, new.pod if new.marked else None)
        self.provisional.set(new.pod.uid, new.pod if new.provisional else None)


def _place(state: PodState | None) -> tuple[object, ...]:
    if state is None or state.takes is None:
        return ()
    return (state.takes, state.pod.shape, state.pod.borrowed_milli)
