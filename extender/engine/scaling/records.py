"""What the owners say about changes of their workers; read once until an owner changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from extender.adapters.base import Above
from extender.engine.above import above, above_each
from extender.engine.scaling import record
from extender.engine.scaling.record import Phase, Rescale
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Owner, Pod, Uid

_ALL: Final = "all"
_BY_JOB: Final = "by job"


@dataclass(frozen=True)
class Noted:
    """An owner, and what its annotation says."""

    owner: Owner
    rescale: Rescale


@dataclass(frozen=True)
class Records:
    """See the module.

    Attributes:
        by_owner: In order of the owners' uids.
        by_job: The same by job, of owners that have pods in it; of two owners of one job the one
            that is open, else the newer. Of a job without pods whoever names it.
        unreadable: What is wrong with an owner's annotation, by the owner's uid.
    """

    by_owner: Mapping[Uid, Noted]
    by_job: Mapping[JobKey, Noted]
    unreadable: Mapping[Uid, str]

    @property
    def busy(self) -> frozenset[JobKey]:
        """Jobs whose change is under way."""
        return frozenset(key for key, noted in self.by_job.items() if noted.rescale.open)

    @property
    def open(self) -> tuple[Noted, ...]:
        """Changes under way."""
        return tuple(noted for noted in self.by_owner.values() if noted.rescale.open)

    def beside(self, one: Rescale) -> tuple[Rescale, ...]:
        """Return the changes that make room for the same start together with it, it included."""
        if one.starts is None:
            return (one,)
        found = (noted.rescale for noted in self.by_owner.values())
        return tuple(r for r in found if (r.starts, r.at) == (one.starts, one.at))


def of(snapshot: Snapshot) -> Records:
    """Read the annotations of all owners."""
    source = (snapshot.owners,)
    held: Records | None = snapshot.memo.rescales.get(_ALL, source)
    if held is None:
        held = _read(snapshot)
        snapshot.memo.rescales.put(_ALL, source, held)
    return _of_their_jobs(snapshot, held) if held.by_owner else held


def _read(snapshot: Snapshot) -> Records:
    by_owner: dict[Uid, Noted] = {}
    unreadable: dict[Uid, str] = {}
    for owner in snapshot.owners.annotated(labels.RESCALE):
        try:
            rescale = record.read(owner)
        except InputError as error:
            unreadable[owner.uid] = str(error)
            continue
        if rescale is not None:
            by_owner[owner.uid] = Noted(owner, rescale)
    return Records(by_owner, {}, unreadable)


def _of_their_jobs(snapshot: Snapshot, read: Records) -> Records:
    """Add which record is about which job: an owner says nothing of a job that has no pod of it."""
    source = (read, snapshot.jobs)
    held: Records | None = snapshot.memo.rescales.get(_BY_JOB, source)
    if held is None:
        ranked = sorted(read.by_owner.values(), key=lambda n: (n.rescale.open, n.rescale.since))
        by_job = {n.rescale.job: n for n in ranked if n.rescale.job and has_pods(snapshot, n)}
        held = replace(read, by_job=by_job)
        snapshot.memo.rescales.put(_BY_JOB, source, held)
    return held


def has_pods(snapshot: Snapshot, noted: Noted) -> bool:
    """Say whether an owner has pods in the job that its record names, or the job has none."""
    pods = snapshot.jobs.get(noted.rescale.job, ())
    return not pods or any(is_of(over, noted.owner) for over in above_each(snapshot, pods))


def is_of(over: Above, owner: Owner) -> bool:
    """Say whether an owner is among those over a pod."""
    return any(one.uid == owner.uid for one in over.owners)


def is_paused(noted: Noted) -> bool:
    """Say whether the job has no workers because its slot plan says so."""
    one = noted.rescale
    return one.phase is Phase.DONE and one.to == 0 and has_no_workers(noted.owner)


def has_no_workers(owner: Owner) -> bool:
    """Say whether an owner is told to have no worker at all."""
    return owner.suspended or (bool(owner.counts) and all(c.count == 0 for c in owner.counts))


def is_changing(snapshot: Snapshot, pod: Pod) -> bool:
    """Say whether a change of the workers is open on any owner of the pod."""
    by_owner = of(snapshot).by_owner
    if not by_owner:
        return False
    noted = (by_owner.get(owner.uid) for owner in above(snapshot, pod).owners)
    return any(one is not None and one.rescale.open for one in noted)
