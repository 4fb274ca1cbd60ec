"""Parked jobs: proposals to park, and the annotation ``shuntyard.io/parking`` of the owner.

The record stands on the topmost owner that can be suspended, or paused by numbers of 0, and is
written together with that, so that a restart loses nothing and repeats nothing. Only a suspension
with such a record is ever undone. The record holds what the pods of the job need, from which the
queue plans the job while it has no pods (``parked_jobs``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from extender.core.cluster.jobs import Job
from extender.core.cluster.owners import above, above_each
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from extender.core.records import annotations
from extender.core.records.parking_cost import Cost
from extender.core.records.rescale import has_pods
from shared import labels
from shared.model import JobKey, NodeName, Owner, Pod, Uid


class Cause(StrEnum):
    """Why a job is parked: a closed vocabulary, the same word everywhere."""

    MANUAL = "Manual"
    """Its owner has the annotation ``shuntyard.io/park``."""
    PRIORITY = "Priority"
    """A more important job starts in its place."""
    ORDER = "Order"
    """A job that comes first by remaining service starts in its place."""
    SHARE = "Share"
    """A namespace gets its guaranteed share back."""
    DRAIN = "Drain"
    """Its node is about to go."""
    NODE_LOST = "NodeLost"
    """Its node is gone."""
    MOVE = "Move"
    """It goes on elsewhere."""

    @property
    def voluntary(self) -> bool:
        """Whether it could as well stay: then PodDisruptionBudgets hold.

        A person may park their own job, and a node that goes takes the pods with it.
        """
        return self in {Cause.PRIORITY, Cause.ORDER, Cause.SHARE, Cause.MOVE}


class ParkingProposal(Struct, frozen=True):
    """Jobs that should be parked together, all of them or none.

    Attributes:
        jobs: Which.
        cause: Why.
        starts: The job that gets the room; None if none does.
        why: The reason in words, for people; empty: that of the cause.
        in_turn: The limits of ``preemption`` hold: how often, how soon. False where a person or a
            node leaves no choice.
        places: Of a job that moves in turn: the nodes of the pods of ``parked_jobs.moving``.
        costs: What it is expected to cost each of the jobs, pod-seconds; empty if not counted.
    """

    jobs: tuple[JobKey, ...]
    cause: Cause
    starts: JobKey | None = None
    why: str = ""
    in_turn: bool = True
    places: tuple[tuple[Uid, NodeName], ...] = ()
    costs: tuple[float, ...] = ()


Propose = Callable[[Session], tuple[ParkingProposal, ...]]
"""Return what should be parked now; jobs that are parked already may be among it."""

MayLeave = Callable[[Session, Job, ParkingProposal], bool]
"""Returns True if a job may be parked now as proposed."""


class Phase(StrEnum):
    """Phase of a parking."""

    ASKED = "Asked"
    """The trainers are asked for a checkpoint; the job runs."""
    SUSPENDING = "Suspending"
    """The suspension is written; the pods leave."""
    PARKED = "Parked"
    """No pod is left; the job waits in the queue."""
    RESUMING = "Resuming"
    """Places are kept for all pods; the suspension ends and the pods take them."""
    RESUMED = "Resumed"
    ABORTED = "Aborted"
    """The job was not parked; ``why`` is the reason."""


class End(StrEnum):
    """How a parking ended."""

    RESUMED = "Resumed"
    ABORTED = "Aborted"


_LEAVING: Final = frozenset({Phase.ASKED, Phase.SUSPENDING})
OPEN: Final = frozenset({Phase.ASKED, Phase.SUSPENDING, Phase.PARKED, Phase.RESUMING})


class AlikePods(Struct, frozen=True, omit_defaults=True):
    """Pods of one job that need the same.

    Attributes:
        pod: One of them as the queue plans it: without a node, a uid and what is its own.
        count: How many.
        places: Nodes kept for them, and for how many each.
    """

    pod: Pod
    count: int
    places: tuple[tuple[NodeName, int], ...] = ()


class Parking(Struct, frozen=True, omit_defaults=True):
    """One parking; times in seconds since the epoch.

    Attributes:
        id: Its name; also that of the checkpoint request.
        phase: The present phase.
        cause: Why it was begun.
        at: When it was begun.
        since: When the phase was entered.
        job: The job.
        owner: Uid of the owner; a copy on another object is ignored.
        starts: The job that gets the room; None if none does.
        group: How many jobs are parked for the same start together, all of them or none.
        asked: Pods whose trainers are asked for a checkpoint.
        ask_until: By when they must have answered.
        hold_until: Until when they take no step after that.
        why: Reason of an abort or of an early end, a token; empty without one.
        pods: What the pods need that come back.
        needed: How many of them the gang needs.
        step: Completed steps in the checkpoint; None if none was asked for or stated.
        parked_at: When the last pod had left; 0 before.
        resumed_at: When we ended the suspension; 0 before.
        parked_seconds: How long the job was parked in all its earlier parkings.
        count: How many parkings there were, this one included.
        numbers: Of an owner that cannot be suspended: JSON pointers, and what they get back.
        recent: Begin of the parkings of the last hour, the newest last: for the cap.
        aborted: How many parkings in a row were aborted, this one counted.
        text: The reason in words, for people; empty: that of the cause.
        cost: What it has cost, as far as it is measured.
    """

    id: str
    phase: Phase
    cause: Cause
    at: float
    since: float
    job: JobKey
    owner: Uid
    starts: JobKey | None = None
    group: int = 1
    asked: tuple[Uid, ...] = ()
    ask_until: float = 0.0
    hold_until: float = 0.0
    why: str = ""
    pods: tuple[AlikePods, ...] = ()
    needed: int = 1
    step: int | None = None
    parked_at: float = 0.0
    resumed_at: float = 0.0
    parked_seconds: float = 0.0
    count: int = 1
    numbers: tuple[tuple[str, int], ...] = ()
    recent: tuple[float, ...] = ()
    aborted: int = 0
    text: str = ""
    cost: Cost = Cost()

    @property
    def open(self) -> bool:
        """Whether it is in progress, the time in the queue included."""
        return self.phase in OPEN

    @property
    def keeps_places(self) -> bool:
        """Whether its places are kept: from its begin where it had them then."""
        if self.phase in _LEAVING:
            return any(alike.places for alike in self.pods)
        return self.phase is Phase.RESUMING

    @property
    def size(self) -> int:
        """How many pods come back."""
        return sum(alike.count for alike in self.pods)


_DECODER: Final = msgspec.json.Decoder(Parking)


def read(owner: Owner) -> Parking | None:
    """Return the parking in the owner's annotation; None if it has none.

    Raises:
        InputError: The annotation is not a record of ours.
    """
    return annotations.read(owner, labels.PARKING, _DECODER)


def text(parking: Parking) -> str:
    """Return the text of the annotation."""
    return msgspec.json.encode(parking).decode()


def is_asked_for(owner: Owner) -> bool:
    """Return True if a person wants the job of an owner parked.

    Only the owner's own annotation counts: a pod template cannot be changed to end it. A value that
    cannot be used keeps a parked job where it is (``cluster.job_spec`` reports the mistake).
    """
    return labels.PARK in owner.annotations


@dataclass(frozen=True)
class OwnedParking:
    """A parking with the owner that carries it."""

    owner: Owner
    parking: Parking

    @property
    def waits(self) -> bool:
        """Whether the job waits in the queue for its turn to resume."""
        parked = self.parking.phase is Phase.PARKED and self.owner.paused
        return parked and bool(self.parking.pods) and not is_asked_for(self.owner)


@dataclass(frozen=True)
class ParkingRecords:
    """See the module.

    Attributes:
        by_owner: In order of the owners' uids.
        unreadable: Error of an owner's annotation, by the owner's uid.
    """

    by_owner: Mapping[Uid, OwnedParking]
    unreadable: Mapping[Uid, str]

    @property
    def open(self) -> tuple[OwnedParking, ...]:
        """Open parkings."""
        return tuple(owned for owned in self.by_owner.values() if owned.parking.open)

    def of_same_start(self, parking: Parking) -> tuple[Parking, ...]:
        """Return the parkings that make room for the same start, this one included."""
        if parking.starts is None:
            return (parking,)
        every = (owned.parking for owned in self.by_owner.values())
        return tuple(p for p in every if (p.starts, p.at) == (parking.starts, parking.at))


NO_RECORDS: Final = ParkingRecords({}, {})
_ALL: Final = "all"
_RECORDS: Final[Slot[Kept[str, ParkingRecords]]] = Slot(Kept)


def parking_records(snapshot: Snapshot) -> ParkingRecords:
    """Read the annotations of all owners, once until an owner changes."""
    source = (snapshot.owners,)
    kept = snapshot.cache.of(_RECORDS)
    held = kept.get(_ALL, source)
    if held is None:
        held = _read(snapshot)
        kept.put(_ALL, source, held)
    return held


def _read(snapshot: Snapshot) -> ParkingRecords:
    found, unreadable = annotations.of_owners(snapshot, labels.PARKING, read)
    by_owner = {owner.uid: OwnedParking(owner, parking) for owner, parking in found}
    return ParkingRecords(by_owner, unreadable) if by_owner or unreadable else NO_RECORDS


def of_job(snapshot: Snapshot, key: JobKey) -> OwnedParking | None:
    """Return the parking of a job, an open one first; None if it never was parked.

    A record that names a job which has other owners is not about that job.
    """
    records = parking_records(snapshot)
    found = [owned for owned in records.by_owner.values() if owned.parking.job == key]
    mine = [owned for owned in found if is_about(snapshot, owned)]
    return max(mine, key=lambda o: (o.parking.open, o.parking.since), default=None)


def is_about(snapshot: Snapshot, owned: OwnedParking) -> bool:
    """Return True if the owner of a record has pods in the job that it names, or none has."""
    return has_pods(snapshot, owned.parking.job, owned.owner)


def is_open(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if a parking is open on any owner of the pod."""
    by_owner = parking_records(snapshot).by_owner
    if not by_owner:
        return False
    found = (by_owner.get(owner.uid) for owner in above(snapshot, pod).owners)
    return any(owned is not None and owned.parking.open for owned in found)


def open_jobs(snapshot: Snapshot) -> frozenset[JobKey]:
    """Return the jobs whose parking is open."""
    return frozenset(
        owned.parking.job for owned in parking_records(snapshot).open if is_about(snapshot, owned)
    )


CLAIM_SECONDS: Final = 30.0
"""How long the room of parked jobs stays reserved for the starter: until a queue pass."""


def first_jobs(snapshot: Snapshot, now: float) -> tuple[JobKey, ...]:
    """Return the jobs that go first because of parkings, in the order of the parkings' begin.

    A starter goes first while others leave for it, and a while after that. If it does not start in
    that time, or is gone, the jobs that have left for it go first.
    """
    first: dict[JobKey, None] = {}
    waiting = [o for o in parking_records(snapshot).open if o.parking.starts is not None]
    for owned in sorted(waiting, key=lambda o: (o.parking.at, o.parking.job)):
        parking = owned.parking
        if parking.starts is None or parking.phase is Phase.RESUMING:
            continue
        if _starter_has_claim(snapshot, parking, now):
            first[parking.starts] = None
        elif owned.waits and not has_started(snapshot, parking.starts):
            first[parking.job] = None
    return tuple(first)


def _starter_has_claim(snapshot: Snapshot, parking: Parking, now: float) -> bool:
    if parking.starts is None or not is_waiting(snapshot, parking.starts):
        return False
    beside = parking_records(snapshot).of_same_start(parking)
    leaving = any(p.phase in _LEAVING for p in beside)
    return leaving or now - max(p.since for p in beside) < CLAIM_SECONDS


def is_waiting(snapshot: Snapshot, key: JobKey) -> bool:
    """Return True if a job has pods that wait, or is parked and waits for its turn to resume."""
    if key in snapshot.waiting:
        return True
    parked = (owned for owned in parking_records(snapshot).open if owned.parking.job == key)
    return any(owned.waits and is_about(snapshot, owned) for owned in parked)


def has_started(snapshot: Snapshot, key: JobKey) -> bool:
    """Return True if a job has pods and none of them waits."""
    return key in snapshot.jobs and key not in snapshot.waiting


def leaving_jobs(snapshot: Snapshot) -> frozenset[JobKey]:
    """Return the jobs that are about to be parked."""
    leaving = (o for o in parking_records(snapshot).open if o.parking.phase in _LEAVING)
    return frozenset(owned.parking.job for owned in leaving if is_about(snapshot, owned))


def leaving_pods(snapshot: Snapshot) -> frozenset[Uid]:
    """Return the pods of these jobs."""
    jobs = leaving_jobs(snapshot)
    return frozenset(pod.uid for key in jobs for pod in snapshot.jobs.get(key, ()))


def pausing_owner(snapshot: Snapshot, pods: Sequence[Pod]) -> Owner | None:
    """Return the topmost owner of all these pods that can be paused; None if there is none.

    Owners further down are not touched: a JobSet, for example, undoes the suspension of its Jobs.
    """
    found: Owner | None = None
    for over in above_each(snapshot, pods):
        top = next((owner for owner in reversed(over.owners) if owner.can_pause), None)
        if top is None or (found is not None and top.uid != found.uid):
            return None
        found = top
    return found
