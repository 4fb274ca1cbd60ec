"""How many members of a job have been placed at one time: whether a gang was ever whole.

A member is placed while it is seen bound and neither fails nor leaves, or has succeeded. What the
watch showed counts, event by event: a member that is bound and lost between two decisions was
there. Of each placed member the book can tell how many were placed at one time at most since it
was; a job's number is that of the member which has been placed for the longest time.

A member that the kubelet refused before it ran (``OutOf…``) was never placed: it is taken out of
every count. Pods whose owner is gone count no more, since a new job may have the old one's name.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import NamedTuple

from msgspec import Struct

from extender.store.assumed import PodState
from extender.store.table import Table
from shared.model import JobKey, Uid


class Companions(Struct, frozen=True):
    """A placed member, and how many of its job were placed with it at one time at most.

    0: its owner is gone, it counts for nothing.
    """

    job: JobKey
    uid: Uid
    most: int


class _Peak(NamedTuple):
    """So many were placed when the member with that number came."""

    number: int
    placed: int


class _Job:
    """The placed members of one job.

    ``peaks`` has falling counts: the first of those that are not before a member's number is the
    largest count that the member has seen.
    """

    __slots__ = ("_next", "numbers", "peaks")

    def __init__(self) -> None:
        self.numbers: dict[Uid, int] = {}
        self.peaks: list[_Peak] = []
        self._next = 0

    def place(self, uid: Uid) -> None:
        self.numbers[uid] = self._next
        self._add(_Peak(self._next, len(self.numbers)))
        self._next += 1

    def drop(self, uid: Uid) -> None:
        """Remove a member that is placed no more; counts of the others keep it."""
        del self.numbers[uid]
        oldest = next(iter(self.numbers.values()), self._next)
        self.peaks = self.peaks[bisect_left(self.peaks, oldest, key=itemgetter(0)) :]

    def deny(self, uid: Uid) -> None:
        """Take a member out of every count: it was never placed."""
        number = self.numbers[uid]
        before, self.peaks = self.peaks, []
        for peak in before:
            self._add(peak if peak.number < number else _Peak(peak.number, peak.placed - 1))
        self.drop(uid)

    def most(self, uid: Uid) -> int:
        at = bisect_left(self.peaks, self.numbers[uid], key=itemgetter(0))
        return self.peaks[at].placed

    @property
    def highest(self) -> int:
        return self.peaks[0].placed if self.peaks else 0

    def recall(self, known: Mapping[Uid, int]) -> None:
        """Take over what another book held of members that are placed."""
        now = len(self.numbers)
        most = {uid: max(now, known.get(uid, 0)) for uid in self.numbers}
        self.numbers, self.peaks = {}, []
        for number, uid in enumerate(sorted(most, key=lambda uid: (-most[uid], uid))):
            self.numbers[uid] = number
            self._add(_Peak(number, most[uid]))
        self._next = len(self.numbers)

    def _add(self, peak: _Peak) -> None:
        while self.peaks and self.peaks[-1].placed <= peak.placed:
            self.peaks.pop()
        self.peaks.append(peak)


class MostPlacedIndex:
    """The most members of each job that were placed at one time; see the module."""

    def __init__(self) -> None:
        self._jobs: dict[JobKey, _Job] = {}
        self._owned: dict[Uid, dict[Uid, JobKey]] = {}
        self._owner: dict[Uid, Uid] = {}
        self._orphans: dict[Uid, JobKey] = {}
        self._rows: Table[JobKey, int] = Table()

    def move(self, old: PodState | None, new: PodState | None) -> None:
        """Take over that a pod was observed, or is gone."""
        before = None if old is None or not old.placed else old.job
        now = None if new is None or not new.placed else new.job
        if before == now:
            return
        if old is not None and before is not None:
            self._orphans.pop(old.pod.uid, None)
            self._leave(old.pod.uid, before, denied=_was_refused(old, new))
        if new is not None and now is not None:
            self._arrive(new, now)

    def orphan(self, owner: Uid) -> None:
        """Count the pods of an owner that is gone for no job any more."""
        for uid, key in sorted(self._owned.get(owner, {}).items()):
            self._abandon(uid, key)

    def rows(self) -> Mapping[JobKey, int]:
        """The jobs that had more members placed at one time than now."""
        return self._rows.frozen()

    def all(self) -> Iterable[Companions]:
        """Return what the pods themselves do not show, by uid."""
        companions = [Companions(key, uid, 0) for uid, key in self._orphans.items()]
        for key, job in self._jobs.items():
            if job.highest > len(job.numbers):
                each = ((uid, job.most(uid)) for uid in job.numbers)
                companions += [Companions(key, uid, m) for uid, m in each if m > len(job.numbers)]
        return sorted(companions, key=attrgetter("uid"))

    def recall(self, companions: Iterable[Companions]) -> None:
        """Take over what another book held of the pods that are here."""
        known: dict[JobKey, dict[Uid, int]] = {}
        for companion in companions:
            if companion.most:
                known.setdefault(companion.job, {})[companion.uid] = companion.most
            else:
                self._abandon(companion.uid, companion.job)
        for key, most in known.items():
            if key in self._jobs:
                self._jobs[key].recall(most)
                self._update(key)

    def _arrive(self, new: PodState, key: JobKey) -> None:
        uid, controller = new.pod.uid, new.pod.controller
        if key not in self._jobs:
            self._jobs[key] = _Job()
        self._jobs[key].place(uid)
        if controller is not None:
            self._owner[uid] = controller.uid
            self._owned.setdefault(controller.uid, {})[uid] = key
        self._update(key)

    def _leave(self, uid: Uid, key: JobKey, *, denied: bool) -> None:
        """Take a member that is placed out of its job; an orphan is in none."""
        job = self._jobs.get(key)
        if job is None or uid not in job.numbers:
            return
        self._disown(uid)
        if denied:
            job.deny(uid)
        else:
            job.drop(uid)
        if not job.numbers:
            del self._jobs[key]
        self._update(key)

    def _abandon(self, uid: Uid, key: JobKey) -> None:
        job = self._jobs.get(key)
        if job is not None and uid in job.numbers:
            self._leave(uid, key, denied=False)
            self._orphans[uid] = key

    def _disown(self, uid: Uid) -> None:
        owner = self._owner.pop(uid, None)
        if owner is None:
            return
        del self._owned[owner][uid]
        if not self._owned[owner]:
            del self._owned[owner]

    def _update(self, key: JobKey) -> None:
        job = self._jobs.get(key)
        past = job is not None and job.highest > len(job.numbers)
        self._rows.set(key, job.highest if job is not None and past else None)


def _was_refused(old: PodState, new: PodState | None) -> bool:
    """Return True if the kubelet refused a pod that it never ran."""
    if new is None or old.pod.phase != "Pending":
        return False
    return new.pod.phase == "Failed" and new.pod.phase_reason.startswith("OutOf")
