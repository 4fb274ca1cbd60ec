"""Jobs whose owner has an annotation of a person: ``shuntyard.io/park``, or another (``moves``)."""

from collections.abc import Iterator
from typing import Final

from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from extender.core.records.parking import Cause, ParkingProposal, parking_records
from shared import labels
from shared.model import JobKey, Owner

_ASKED: Final[Slot[Kept[str, tuple[Owner, ...]]]] = Slot(Kept)


def proposals(session: Session) -> tuple[ParkingProposal, ...]:
    """Return one proposal for each job that is to be parked and has pods."""
    keys = annotated_jobs(session, labels.PARK)
    return tuple(ParkingProposal((key,), Cause.MANUAL) for key in keys)


def annotated_jobs(session: Session, annotation: str) -> Iterator[JobKey]:
    """Yield the jobs with pods that have not ended, of owners that are neither paused nor parked.

    Args:
        session: Of the pass.
        annotation: Key on the owner.
    """
    snapshot = session.snapshot
    records = parking_records(snapshot).by_owner
    open_ = {uid for uid, owned in records.items() if owned.parking.open}
    owners = [owner for owner in _annotated(snapshot, annotation) if owner.uid not in open_]
    if not owners:
        return
    uids, namespaces = {o.uid for o in owners}, {o.namespace for o in owners}
    for key in sorted(snapshot.jobs):
        living = next((pod for pod in snapshot.jobs[key] if not pod.finished), None)
        if living is None or living.namespace not in namespaces:
            continue
        if any(owner.uid in uids for owner in above(snapshot, living).owners):
            yield key


def _annotated(snapshot: Snapshot, annotation: str) -> tuple[Owner, ...]:
    source, kept = (snapshot.owners,), snapshot.cache.of(_ASKED)
    held = kept.get(annotation, source)
    if held is None:
        annotated = snapshot.owners.annotated(annotation)
        held = tuple(owner for owner in annotated if not owner.paused)
        kept.put(annotation, source, held)
    return held
