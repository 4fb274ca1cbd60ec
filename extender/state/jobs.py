"""Pods of our scheduler by job, and the jobs that wait."""

from collections.abc import Mapping

from extender.state.standing import Standing
from extender.state.table import Table
from shared.model import JobKey, Pod, Uid


class JobIndex:
    """Members of each job; an event touches its own pod, a snapshot the jobs that changed."""

    def __init__(self) -> None:
        self._members: dict[JobKey, dict[Uid, Pod]] = {}
        self._unplaced: dict[JobKey, set[Uid]] = {}
        self._ordered: Table[JobKey, tuple[Pod, ...]] = Table()
        self._changed: set[JobKey] = set()
        self._waiting: frozenset[JobKey] | None = None

    def add(self, job: JobKey, member: Standing) -> None:
        """A pod joins its job."""
        uid = member.pod.uid
        self._members.setdefault(job, {})[uid] = member.pod
        self._changed.add(job)
        if member.waits:
            self._waiting = self._waiting if job in self._unplaced else None
            self._unplaced.setdefault(job, set()).add(uid)

    def remove(self, job: JobKey, member: Standing) -> None:
        """A pod leaves its job; a job without pods is gone."""
        uid = member.pod.uid
        del self._members[job][uid]
        self._changed.add(job)
        if not self._members[job]:
            del self._members[job]
        if member.waits:
            self._unplaced[job].remove(uid)
            if not self._unplaced[job]:
                del self._unplaced[job]
                self._waiting = None

    def ordered(self) -> Mapping[JobKey, tuple[Pod, ...]]:
        """Pods of each job in order of ``(created_at, name)``."""
        for job in sorted(self._changed):
            members = self._members.get(job, {}).values()
            self._ordered.set(job, tuple(sorted(members, key=_age)) or None)
        self._changed.clear()
        return self._ordered.frozen()

    def waiting(self) -> frozenset[JobKey]:
        """Jobs with a pod that is not bound, finished or deleting."""
        if self._waiting is None:
            self._waiting = frozenset(self._unplaced)
        return self._waiting


def _age(pod: Pod) -> tuple[float, str]:
    return pod.created_at, pod.name
