"""Jobs that a person wants parked: their owner has the annotation ``shuntyard.io/park``."""

from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from extender.core.records.parking import Cause, ParkingProposal, is_asked_for, parking_records
from shared import labels
from shared.model import JobKey, Owner, Uid

_ALL = "all"
_ASKED: Slot[Kept[str, tuple[Owner, ...]]] = Slot(Kept)


def proposals(session: Session) -> tuple[ParkingProposal, ...]:
    """Return one proposal for each job that is to be parked and has pods."""
    snapshot = session.snapshot
    records = parking_records(snapshot).by_owner
    open_ = {uid for uid, owned in records.items() if owned.parking.open}
    owners = {owner.uid: owner for owner in _asked(snapshot) if owner.uid not in open_}
    if not owners:
        return ()
    keys = (key for key in sorted(snapshot.jobs) if _is_of(snapshot, key, owners))
    return tuple(ParkingProposal((key,), Cause.MANUAL) for key in keys)


def _asked(snapshot: Snapshot) -> tuple[Owner, ...]:
    source = (snapshot.owners,)
    kept = snapshot.cache.of(_ASKED)
    held = kept.get(_ALL, source)
    if held is None:
        annotated = snapshot.owners.annotated(labels.PARK)
        held = tuple(owner for owner in annotated if is_asked_for(owner) and not owner.paused)
        kept.put(_ALL, source, held)
    return held


def _is_of(snapshot: Snapshot, key: JobKey, owners: dict[Uid, Owner]) -> bool:
    """Return True if the job has pods that have not ended and are of one of the owners."""
    living = next((pod for pod in snapshot.jobs[key] if not pod.finished), None)
    if living is None or all(o.namespace != living.namespace for o in owners.values()):
        return False
    return any(owner.uid in owners for owner in above(snapshot, living).owners)
