"""The pods, as observed and as assumed, and the jobs that they make.

Every change goes through ``pod_state`` into the indices, each of which is a sum over the states of
pods. There may be a hundred thousand: nothing is held of each that follows from something else.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Final

from msgspec.structs import force_setattr

from extender.core.cluster.snapshot import Reservation, WaitingBlocks
from extender.store.assumed import Assumption, Overlay, PodState, pod_state
from extender.store.most_placed import MostPlacedIndex
from extender.store.nodes import NodeIndex
from extender.store.table import Table
from extender.store.waiting_jobs import WaitingJobs
from shared.model import JobKey, NodeName, Pod, PodKey, Uid

_age: Final[Callable[[Pod], tuple[float, str, Uid]]] = attrgetter("created_at", "name", "uid")


class _Members:
    """Pods of one job, kept in order: a gang of a thousand changes with every pod's event."""

    __slots__ = ("pods",)

    def __init__(self) -> None:
        self.pods: list[Pod] = []

    def put(self, pod: Pod) -> None:
        """Insert a pod, or replace the one of that age, name and uid."""
        at = self._place(pod)
        if at < len(self.pods) and _age(self.pods[at]) == _age(pod):
            self.pods[at] = pod
        else:
            self.pods.insert(at, pod)

    def drop(self, pod: Pod) -> None:
        del self.pods[self._place(pod)]

    def _place(self, pod: Pod) -> int:
        return bisect_left(self.pods, _age(pod), key=_age)


class JobIndex:
    """Members of each job; an event touches its own pod, a snapshot the jobs that changed."""

    def __init__(self) -> None:
        self._members: dict[JobKey, _Members] = {}
        self._unplaced: dict[JobKey, set[Uid]] = {}
        self._ordered: Table[JobKey, tuple[Pod, ...]] = Table()
        self._changed: set[JobKey] = set()
        self._waiting: Table[JobKey, bool] = Table()
        self._by_age = WaitingJobs()

    def move(self, old: PodState | None, new: PodState | None) -> None:
        """Take over a change of one pod: it joins, stays in or leaves its job."""
        left, joined = None if old is None else old.job, None if new is None else new.job
        if old is not None and new is not None and left == joined:  # nearly always
            if left is not None:
                self._change(left, old, new)
            return
        if old is not None and left is not None:
            self._remove(left, old)
        if new is not None and joined is not None:
            self._add(joined, new)

    def _change(self, job: JobKey, old: PodState, new: PodState) -> None:
        members = self._members[job]
        if _age(old.pod) != _age(new.pod):
            members.drop(old.pod)
        members.put(new.pod)
        self._changed.add(job)
        if new.waits and not old.waits:
            self._wait(job, new)
        elif old.waits and not new.waits:
            self._stop_waiting(job, old)

    def _add(self, job: JobKey, member: PodState) -> None:
        if job not in self._members:
            self._members[job] = _Members()
        self._members[job].put(member.pod)
        self._changed.add(job)
        if member.waits:
            self._wait(job, member)

    def _remove(self, job: JobKey, member: PodState) -> None:
        """A job without pods is gone."""
        self._members[job].drop(member.pod)
        self._changed.add(job)
        if not self._members[job].pods:
            del self._members[job]
        if member.waits:
            self._stop_waiting(job, member)

    def _wait(self, job: JobKey, member: PodState) -> None:
        self._unplaced.setdefault(job, set()).add(member.pod.uid)
        self._waiting.set(job, True)

    def _stop_waiting(self, job: JobKey, member: PodState) -> None:
        self._unplaced[job].remove(member.pod.uid)
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


class PodBook:
    """The pods, what we assume of them, and the indices over both.

    Args:
        scheduler_name: Whose pods are ours.
        nodes: Where pods take room.
    """

    def __init__(self, scheduler_name: str, nodes: NodeIndex) -> None:
        self._scheduler_name = scheduler_name
        self._nodes = nodes
        self._unlike: dict[PodKey, Pod] = {}  # as observed: those that decisions see otherwise
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
        name = PodKey(key)
        return self._unlike.get(name) or self.pods.get(name)

    def holds(self, uid: Uid) -> bool:
        """Return True if the pod was observed."""
        return uid in self._states

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
        unlike = self._unlike
        if not unlike:  # nearly always
            return self.pods.all()
        return (unlike.get(pod.key, pod) for pod in self.pods.all())

    def put(self, pod: Pod) -> None:
        """A pod was observed. A pod of the same name and another uid has been removed before.

        Each event has the uid as a text of its own, and the indices hold the first.
        """
        if (held := self._states.get(pod.uid)) is not None:
            force_setattr(pod, "uid", held.pod.uid)  # an equal text: nothing changes
        self._overlay.settle(pod)
        self._update(pod)

    def remove(self, pod: Pod) -> None:
        """A pod is gone."""
        self._unlike.pop(pod.key, None)
        self._overlay.drop(pod.uid)
        self._move(self._states.pop(pod.uid), None)

    def assume(self, assumption: Assumption) -> bool:
        """Add an assumption about an observed pod; return whether anything changed."""
        pod = self._of(assumption.uid)
        if pod is None:
            return False
        before = self._overlay.of(pod.uid)
        self._overlay.add(assumption)
        self._overlay.settle(pod)
        self._update(pod)
        return self._overlay.of(pod.uid) != before

    def forget(self, uid: Uid) -> bool:
        """Take the latest assumption about a pod back; return whether there was one."""
        return self._overlay.forget(uid) and self._renew(uid)

    def unpromise(self, uid: Uid) -> bool:
        """Withdraw a promised reservation; return whether there was one."""
        return self._overlay.unpromise(uid) and self._renew(uid)

    def expire(self, before: float) -> tuple[Uid, ...]:
        """Drop assumptions made earlier than ``before``; return whose, sorted."""
        late = self._overlay.expire(before)
        for uid in late:
            self._renew(uid)
        return late

    def assumptions(self) -> Mapping[Uid, tuple[Assumption, ...]]:
        """What we assume, by pod."""
        return self._overlay.all()

    def _of(self, uid: Uid) -> Pod | None:
        """Return a pod as observed; None if it was not."""
        state = self._states.get(uid)
        return None if state is None else self.get(state.pod.key)

    def _renew(self, uid: Uid) -> bool:
        """Apply a change of what is assumed of an observed pod; return True."""
        pod = self._of(uid)
        assert pod is not None  # noqa: S101 - nothing is assumed of others
        self._update(pod)
        return True

    def _update(self, pod: Pod) -> None:
        new = pod_state(pod, self._overlay.of(pod.uid), self._scheduler_name)
        if new.pod is not pod:
            self._unlike[pod.key] = pod
        elif self._unlike:
            self._unlike.pop(pod.key, None)
        self._move(self._states.get(pod.uid), new)
        self._states[pod.uid] = new

    def _move(self, old: PodState | None, new: PodState | None) -> None:
        self._nodes.devices.count(
            None if old is None else old.pod,
            None if new is None else new.pod,
            None if new is None else new.job,
        )
        self._move_room(old, new)
        self.jobs.move(old, new)
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
