"""Measures what a parking costs: the save and the last step, then the restart and the first step.

The record of the parking keeps it, so that it is known after a restart of ours, and so that the
next choice of jobs to park reads what the last restart of a job took.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from extender.core.agents import reports, trainers
from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Session
from extender.core.records import parking_writes
from extender.core.records.parking import OwnedParking, Parking, ParkingRecords, Phase, is_about
from extender.core.records.parking_cost import Cost

MOST_SECONDS: Final = 3600.0
"""A restart that takes longer is not measured."""


def before(last: Parking | None) -> Cost:
    """Return the cost of a parking that begins: what is known of earlier restarts."""
    return Cost(earlier_restart_seconds=None if last is None else last.cost.last_restart_seconds)


def stopped(session: Session, parking: Parking, job: Job | None) -> Cost:
    """Return the cost when the pods are stopped; the record has the step of the checkpoint."""
    found = (trainers.reported_checkpoint(session, uid) for uid in parking.asked)
    saves = [one.save_seconds for one in found if one and one.save_seconds is not None]
    step = parking.step
    if not parking.asked and job is not None:
        last = reports.last_progress(session, job)
        step = None if last is None else last[1].step
    return replace(parking.cost, save_seconds=max(saves, default=None), stopped_step=step)


def is_awaited(parking: Parking) -> bool:
    """Return True if a job has resumed and its restart is not measured yet."""
    ended = parking.phase is Phase.RESUMED and parking.resumed_at > 0.0
    return ended and parking.cost.restart_seconds is None


def restarted(session: Session, records: ParkingRecords) -> Iterator[ChangeOwner]:
    """Yield the records of jobs that were parked and whose first new step was reported."""
    for owned in records.by_owner.values():
        late = session.now - owned.parking.resumed_at > MOST_SECONDS
        if is_awaited(owned.parking) and not late and is_about(session.snapshot, owned):
            cost = _restart(session, owned)
            if cost is not None:
                yield parking_writes.write(owned.owner, replace(owned.parking, cost=cost))


def _restart(session: Session, owned: OwnedParking) -> Cost | None:
    """Return the cost once the first new step is reported; None before."""
    parking, snapshot = owned.parking, session.snapshot
    if parking.job not in snapshot.jobs:
        return None
    job = job_views.view(snapshot, parking.job)
    last = reports.last_progress(session, job)
    if last is None:
        return None
    progress, step = last[1], last[1].step
    if step is None or progress.updated_at <= parking.resumed_at:
        return None
    cost, resumed = parking.cost, None
    if job.spec.has_checkpoint:
        resumed = _resumed_step(session, job)
        if resumed is None:
            return None
    if step <= (resumed or 0) or (resumed is None and step == cost.stopped_step):
        return None  # the last line of a log that is older than the restart
    seconds = min(progress.updated_at, session.now) - parking.resumed_at
    return replace(cost, resumed_step=resumed, restart_seconds=max(0.0, seconds))


def _resumed_step(session: Session, job: Job) -> int | None:
    """Return with how many completed steps the training goes on; None until its trainers say it."""
    asked = trainers.trainers_to_ask(session, job)
    if isinstance(asked, trainers.TrainerProblem):
        return None
    found = (trainers.reported_checkpoint(session, uid) for uid in asked)
    return min((one.resumed_step or 0 for one in found if one is not None), default=None)
