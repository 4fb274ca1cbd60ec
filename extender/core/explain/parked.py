"""What lists, ledger and explanations show of parked jobs, which have no pods: from their records.

The queue plans those that may resume from the pods of ``parked_jobs.with_parked``; a job that its
user parked is in no queue until its user resumes it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec.structs import replace as changed

from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import explanation
from extender.core.explain.explanation import ExplainSession
from extender.core.queue.forecast import UNKNOWN, Estimate
from extender.core.records import parked_jobs
from extender.core.records.parking import (
    Cause,
    OwnedParking,
    Parking,
    Phase,
    is_about,
    is_asked_for,
    parking_records,
)
from extender.core.records.parking_reasons import ParkingReason
from shared.model import JobKey
from shared.readapi import api
from shared.readapi.answer import JobState
from shared.readapi.ledgers import ParkingEntry


def by_job(snapshot: Snapshot) -> Mapping[JobKey, OwnedParking]:
    """Return the records of the jobs that are parked now."""
    every = (one for one in parking_records(snapshot).open if one.parking.phase is Phase.PARKED)
    return {one.parking.job: one for one in every if is_about(snapshot, one)}


def sentence(owned: OwnedParking) -> str:
    """Return why a job is parked and when it resumes."""
    parking = owned.parking
    name = parking.job.rpartition("/")[2]
    namespace = parking.job.partition("/")[0]
    cause = f"parked ({parking.cause.value})"
    if parking.starts is not None:
        cause += f" for {parking.starts}"
    if is_asked_for(owned.owner) or (parking.cause is Cause.MANUAL and not owned.waits):
        command = f"shuntyard resume {name} -n {namespace}"
        return f"{cause}: after `{command}` it resumes when its whole gang has room"
    return f"{cause}: it resumes when its whole gang has room"


def entry(
    owned: OwnedParking, position: int | None, reason: str, estimate: Estimate = UNKNOWN
) -> api.JobEntry:
    """Return the entry of a parked job in the list of jobs."""
    parking = owned.parking
    namespace, kind, name = parking.job.split("/", 2)
    requests: Counter[str] = Counter()
    for alike in parking.pods:
        for resource, amount in alike.pod.shape.requests:
            requests[resource] += amount * alike.count
    return api.JobEntry(
        job=name,
        namespace=namespace,
        kind=kind,
        created_at=owned.owner.created_at,
        state=JobState.PARKED,
        since=parking.parked_at or parking.since,
        requests=dict(sorted(requests.items())),
        position=position,
        reason=reason,
        message=sentence(owned),
        estimated_start=estimate.starts_at,
        earliest_start=estimate.earliest,
        latest_start=estimate.latest,
        estimate=estimate.why,
        min_available=parking.needed,
        members=0,
        counts=api.MemberCounts(),
    )


def ledger(
    snapshot: Snapshot, now: float, past: Iterable[Parking] = ()
) -> tuple[ParkingEntry, ...]:
    """Return all known parkings, oldest first.

    Args:
        snapshot: The annotations of its owners hold the last parking of each job, and are newer.
        now: Seconds since the epoch.
        past: Parkings that ended.
    """
    present = (owned.parking for owned in parking_records(snapshot).by_owner.values())
    by_id = {parking.id: parking for parking in (*past, *present)}
    ordered = sorted(by_id.values(), key=lambda parking: (parking.at, parking.id))
    return tuple(_ledger_entry(parking, now) for parking in ordered)


def of_job(entries: Iterable[ParkingEntry], key: JobKey) -> tuple[ParkingEntry, ...]:
    """Return the parkings of one job."""
    return tuple(one for one in entries if f"{one.namespace}/{one.kind}/{one.job}" == key)


def _ledger_entry(parking: Parking, now: float) -> ParkingEntry:
    namespace, kind, name = parking.job.split("/", 2)
    reason, cost = ParkingReason.named(parking.why), parking.cost
    until = parking.resumed_at or (now if parking.open else parking.since)
    return ParkingEntry(
        namespace=namespace,
        id=parking.id,
        job=name,
        kind=kind,
        cause=parking.cause.value,
        phase=parking.phase.value,
        open=parking.open,
        begun_at=parking.at,
        since=parking.since,
        starts=parking.starts or "",
        saved_step=parking.step,
        save_seconds=cost.save_seconds,
        waited_seconds=max(0.0, until - parking.parked_at) if parking.parked_at else None,
        restart_seconds=cost.restart_seconds,
        lost_steps=cost.lost_steps,
        reason=parking.why,
        message=parking.text if reason is None else reason.text,
    )


def named(snapshot: Snapshot, namespace: str, name: str, kind: str = "") -> tuple[JobKey, ...]:
    """Return the jobs of that name, parked or not, of any kind or of the given one."""
    found = set(explanation.jobs_named(snapshot, namespace, name, kind))
    for key in by_job(snapshot):
        of_namespace, of_kind, of_name = key.split("/", 2)
        if (of_namespace, of_name) == (namespace, name) and kind in {"", of_kind}:
            found.add(key)
    return tuple(sorted(found))


def is_known(snapshot: Snapshot, key: JobKey) -> bool:
    """Return True if a job has pods or is parked."""
    return key in snapshot.jobs or key in by_job(snapshot)


def job(session: ExplainSession, key: JobKey) -> api.ExplainResponse:
    """Return why a job waits, or is parked, and what makes it run; it must be known."""
    owned = by_job(session.snapshot).get(key)
    if owned is None:
        return explanation.job(session, key)
    text = sentence(owned)
    if not owned.waits:
        return api.ExplainResponse(
            generated_at=session.now,
            namespace=key.partition("/")[0],
            job=key,
            state=JobState.PARKED.value,
            message=text,
        )
    found = explanation.job(
        replace(session, snapshot=parked_jobs.with_parked(session.snapshot)), key
    )
    message = "; ".join(part for part in (text, found.message) if part)
    return changed(found, state=JobState.PARKED.value, message=message)
