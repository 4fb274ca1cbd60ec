"""Changes of a job's workers: proposals, and the annotation ``shuntyard.io/rescale``.

The annotation of the owner is written together with the change itself, so that a restart loses
nothing and repeats nothing. The records of all owners are read once until an owner changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from extender.core.cluster.owners import above, above_each
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from extender.core.kinds.base import Owners
from extender.core.records import annotations
from shared import labels
from shared.model import JobKey, Owner, Pod, Uid


class Cause(StrEnum):
    """Why the number of workers changes: a closed vocabulary, the same word everywhere."""

    MORE_IMPORTANT = "MoreImportant"
    """Workers leave so that a more important job starts."""
    STARVING = "Starving"
    """Workers leave so that a job starts that has waited too long."""
    SLOWS = "Slows"
    """A worker leaves because the job is faster without it."""
    SAVES_TIME = "SavesTime"
    """Workers come: of all jobs this one gains most from the room."""
    ROOM_LEFT = "RoomLeft"
    """Workers come: there is room that no waiting job could use now."""
    SLOT = "Slot"
    """The job's slot plan has that number in the time slot that begins."""
    WITHDRAWN = "Withdrawn"
    """Requested workers that found no room in time are given back."""


class Proposal(Struct, frozen=True):
    """A change that one job should get.

    Attributes:
        job: The job.
        to: Number of workers; 0 suspends the job.
        cause: Why.
        starts: The job that gets the room; None if none does.
        saved_seconds: Training time that it saves; None if unknown.
    """

    job: JobKey
    to: int
    cause: Cause
    starts: JobKey | None = None
    saved_seconds: float | None = None


class Phase(StrEnum):
    """Phase of a change."""

    ASKED = "Asked"
    """The trainers are asked for a checkpoint; the number is unchanged."""
    SHRINKING = "Shrinking"
    """The smaller number is written; surplus workers leave."""
    GROWING = "Growing"
    """The larger number is written; new workers are awaited."""
    DONE = "Done"
    ABORTED = "Aborted"
    """Nothing was changed; ``why`` is the reason."""


OPEN = frozenset({Phase.ASKED, Phase.SHRINKING, Phase.GROWING})


class Rescale(Struct, frozen=True, omit_defaults=True):
    """One change; times in seconds since the epoch.

    Attributes:
        id: Its name; also that of the checkpoint request.
        phase: The present phase.
        cause: Why it was begun.
        before: Workers before it.
        to: Workers after it; 0: suspended.
        at: When it was begun.
        since: When the phase was entered.
        starts: The job that gets the room; None if none does.
        asked: Pods whose trainers are asked for a checkpoint.
        ask_until: By when they must have answered.
        hold_until: Until when they take no step after that.
        why: Reason of an abort or of an incomplete change, a token; empty without one.
        recent: Begin of earlier changes of this job, the newest last: for the cap.
        job: The job whose workers change, as it has no pods to read it from while it pauses.
        group: How many jobs make room for the same start together, all of them or none.
        aborted: How many changes in a row were aborted, this one counted.
        saved_seconds: Training time that it should save; None if unknown.
        most: Workers that the job may have; 0: unlimited or unknown.
        owner: Uid of the owner; a copy on another object is ignored.
    """

    id: str
    phase: Phase
    cause: Cause
    before: int
    to: int
    at: float
    since: float
    starts: JobKey | None = None
    asked: tuple[Uid, ...] = ()
    ask_until: float = 0.0
    hold_until: float = 0.0
    why: str = ""
    recent: tuple[float, ...] = ()
    job: JobKey = JobKey("")
    group: int = 1
    aborted: int = 0
    saved_seconds: float | None = None
    most: int = 0
    owner: Uid = Uid("")

    @property
    def open(self) -> bool:
        """Whether it is in progress."""
        return self.phase in OPEN


_DECODER = msgspec.json.Decoder(Rescale)


def read(owner: Owner) -> Rescale | None:
    """Return the change in the owner's annotation; None if it has none.

    Raises:
        InputError: The annotation is not a change of ours.
    """
    return annotations.read(owner, labels.RESCALE, _DECODER)


def text(rescale: Rescale) -> str:
    """Return the text of the annotation."""
    return msgspec.json.encode(rescale).decode()


_ALL: Final = "all"
_BY_JOB: Final = "by job"


@dataclass(frozen=True)
class OwnedRescale:
    """A change with the owner that carries it."""

    owner: Owner
    rescale: Rescale


@dataclass(frozen=True)
class RescaleRecords:
    """See the module.

    Attributes:
        by_owner: In order of the owners' uids.
        by_job: By job, of owners that have pods in it, or of any owner if the job has no pods; of
            two owners of one job the one with an open change, else with the newer one.
        unreadable: Error of an owner's annotation, by the owner's uid.
    """

    by_owner: Mapping[Uid, OwnedRescale]
    by_job: Mapping[JobKey, OwnedRescale]
    unreadable: Mapping[Uid, str]

    @property
    def busy(self) -> frozenset[JobKey]:
        """Jobs whose change is open."""
        return frozenset(key for key, owned in self.by_job.items() if owned.rescale.open)

    @property
    def open(self) -> tuple[OwnedRescale, ...]:
        """Open changes."""
        return tuple(owned for owned in self.by_owner.values() if owned.rescale.open)

    def of_same_start(self, rescale: Rescale) -> tuple[Rescale, ...]:
        """Return the changes that make room for the same start, this one included."""
        if rescale.starts is None:
            return (rescale,)
        changes = (owned.rescale for owned in self.by_owner.values())
        return tuple(c for c in changes if (c.starts, c.at) == (rescale.starts, rescale.at))


_RECORDS: Final[Slot[Kept[str, RescaleRecords]]] = Slot(Kept)


def rescale_records(snapshot: Snapshot) -> RescaleRecords:
    """Read the annotations of all owners."""
    source = (snapshot.owners,)
    kept = snapshot.cache.of(_RECORDS)
    held = kept.get(_ALL, source)
    if held is None:
        held = _read(snapshot)
        kept.put(_ALL, source, held)
    return _with_jobs(snapshot, held) if held.by_owner else held


def _read(snapshot: Snapshot) -> RescaleRecords:
    found, unreadable = annotations.of_owners(snapshot, labels.RESCALE, read)
    by_owner = {owner.uid: OwnedRescale(owner, rescale) for owner, rescale in found}
    return RescaleRecords(by_owner, {}, unreadable)


def _with_jobs(snapshot: Snapshot, read: RescaleRecords) -> RescaleRecords:
    """Add the records by job: of jobs with pods of the owner, and of jobs without pods."""
    source = (read, snapshot.jobs)
    kept = snapshot.cache.of(_RECORDS)
    held = kept.get(_BY_JOB, source)
    if held is None:
        ranked = sorted(read.by_owner.values(), key=lambda n: (n.rescale.open, n.rescale.since))
        named = (n for n in ranked if n.rescale.job)
        by_job = {n.rescale.job: n for n in named if has_pods(snapshot, n.rescale.job, n.owner)}
        held = replace(read, by_job=by_job)
        kept.put(_BY_JOB, source, held)
    return held


def has_pods(snapshot: Snapshot, job: JobKey, owner: Owner) -> bool:
    """Return True if an owner has pods in the job of its record, or the job has no pods."""
    pods = snapshot.jobs.get(job, ())
    return not pods or any(is_of(over, owner) for over in above_each(snapshot, pods))


def is_of(over: Owners, owner: Owner) -> bool:
    """Return True if an owner is among the owners of a pod."""
    return any(each.uid == owner.uid for each in over.owners)


def is_paused(owned: OwnedRescale) -> bool:
    """Return True if the job has no workers by its slot plan."""
    rescale = owned.rescale
    return rescale.phase is Phase.DONE and rescale.to == 0 and has_no_workers(owned.owner)


def has_no_workers(owner: Owner) -> bool:
    """Return True if the spec of an owner has no worker at all."""
    return owner.suspended or (bool(owner.counts) and all(c.count == 0 for c in owner.counts))


def is_changing(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if a change of the workers is open on any owner of the pod."""
    by_owner = rescale_records(snapshot).by_owner
    if not by_owner:
        return False
    changes = (by_owner.get(owner.uid) for owner in above(snapshot, pod).owners)
    return any(owned is not None and owned.rescale.open for owned in changes)
