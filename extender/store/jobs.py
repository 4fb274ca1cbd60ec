"""Pods of our scheduler by job, and the jobs that wait."""

from bisect import bisect_left
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from extender.store.pod_state import PodState
from extender.store.table import Table
from shared.model import JobKey, Pod, Uid


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
        for job in sorted(self._changed):
            members = self._members.get(job)
            self._ordered.set(job, tuple(members.pods) if members else None)
        self._changed.clear()
        return self._ordered.frozen()

    def waiting(self) -> AbstractSet[JobKey]:
        """Jobs with a pod that is not bound, finished or deleting."""
        return self._waiting.frozen().keys()


def _age(pod: Pod) -> tuple[float, str, Uid]:
    return pod.created_at, pod.name, pod.uid
