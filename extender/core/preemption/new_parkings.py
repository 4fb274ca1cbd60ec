"""New parkings: the proposals to follow now, and the first write of each.

Of the jobs that leave for one start all are parked or none. A job has at most one open operation:
one that moves, changes its workers, restarts or is parked already is not parked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.agents.trainers import TrainerProblem, trainers_to_ask
from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.disruptions import is_autoscaled
from extender.core.cluster.job_spec import Preemptible
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.preemption import budgets, moves, open_parkings, parking_costs
from extender.core.queue import running_jobs
from extender.core.records import hang_restarts, parked_jobs, parking, parking_writes, rescale
from extender.core.records.parking import Cause, Parking, ParkingProposal, ParkingRecords, Phase
from extender.core.records.parking_reasons import ParkingReason as R
from shared import labels
from shared.model import JobKey, NodeName, Owner, Uid
from shared.readapi.ledgers import Declined

MOST_BYTES: Final = 96 * 2**10
"""Of a record: an owner's annotations may have 256 KiB in all."""
MOST_DOUBLINGS: Final = 5
HOUR_SECONDS: Final = 3600.0
_STARTING: Final = (State.RESERVED, State.LOOSE)
_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


@dataclass(frozen=True, kw_only=True)
class RequestedParking:
    """A parking that can begin, without the others for the same start.

    Attributes:
        owner: The object that is suspended, or paused by its numbers.
        job: Its job.
        last: Its last parking; None if it had none.
        asked: Pods whose trainers must save and hold first.
        places: Of a job that moves: nodes of the pods of ``parked_jobs.moving``.
    """

    owner: Owner
    job: Job
    last: Parking | None
    asked: tuple[Uid, ...]
    places: Mapping[Uid, NodeName] = field(default_factory=dict)


@dataclass(frozen=True)
class Chosen:
    """The writes that begin parkings, and why other jobs are not parked."""

    commands: tuple[ChangeOwner, ...]
    declined: Mapping[JobKey, Declined]


def choose(session: Session, proposals: Iterable[ParkingProposal]) -> Chosen:
    """Begin what may begin, in the order of the proposals; for a start once."""
    records = parking.parking_records(session.snapshot)
    busy = set(parking.open_jobs(session.snapshot))
    served: set[JobKey] = set()
    commands: list[ChangeOwner] = []
    declined: dict[JobKey, R] = {}
    for proposal in proposals:
        if busy.intersection(proposal.jobs) or proposal.starts in served:
            continue  # it is proposed again if need be
        results = _together(
            [requested_parking(session, records, proposal, key) for key in proposal.jobs]
        )
        begun = [one for one in results if isinstance(one, RequestedParking)]
        commands += [_first_write(session, proposal, one, len(begun)) for one in begun]
        busy.update(one.job.key for one in begun)
        if begun and proposal.starts is not None:
            served.add(proposal.starts)
        why = zip(proposal.jobs, results, strict=True)
        declined |= {key: result for key, result in why if isinstance(result, R)}
    now = session.now
    ledger = {
        key: Declined(job=key, reason=why.value, message=why.text, at=now)
        for key, why in sorted(declined.items())
    }
    return Chosen(tuple(commands), ledger)


def _together(results: list[RequestedParking | R]) -> list[RequestedParking | R]:
    """Decline all if one is declined: the start would not happen."""
    if not any(isinstance(result, R) for result in results):
        return results
    return [result if isinstance(result, R) else R.OTHERS_STAY for result in results]


def requested_parking(
    session: Session, records: ParkingRecords, proposal: ParkingProposal, key: JobKey
) -> RequestedParking | R:
    """Return the parking of a job, or why it is not parked."""
    snapshot = session.snapshot
    if key not in snapshot.jobs:
        return R.NOT_FOUND
    job = job_views.view(snapshot, key)
    owner = _pausable(snapshot, records, job)
    if isinstance(owner, R):
        return owner
    noted = records.by_owner.get(owner.uid)
    last = noted.parking if noted is not None else None
    why = other_operation(session, job) or hindrance(session, job, last, proposal)
    if why is not None:
        return why
    asked = _trainers(session, job, proposal.cause)
    if isinstance(asked, R):
        return asked
    places = _places(session, job, owner, proposal)
    if isinstance(places, R):
        return places
    requested = RequestedParking(owner=owner, job=job, last=last, asked=asked, places=places)
    size = len(parking.text(_parking(session, proposal, requested, 1)))
    return R.RECORD_TOO_LARGE if size > MOST_BYTES else requested


def _places(
    session: Session, job: Job, owner: Owner, proposal: ParkingProposal
) -> Mapping[Uid, NodeName] | R:
    if proposal.cause is not Cause.MOVE:
        return {}
    chosen = proposal.in_turn  # else a person names the nodes to be left
    return dict(proposal.places) if chosen else moves.places(session, job, owner)


def saving_owner(session: Session, job: Job) -> Owner | None:
    """Return the owner that is suspended once the job has saved; None if it would not be."""
    spec = job.spec
    if not spec.has_checkpoint or spec.preemptible is not Preemptible.CHECKPOINT:
        return None
    owner = _pausable(session.snapshot, parking.parking_records(session.snapshot), job)
    return None if isinstance(owner, R) else owner


def _pausable(snapshot: Snapshot, records: ParkingRecords, job: Job) -> Owner | R:
    pods = [member.pod for member in job.members if member.state not in _GONE]
    owner = parking.pausing_owner(snapshot, pods)
    if owner is None:
        return _without_owner(snapshot, job)
    if owner.uid in records.unreadable:
        return R.PARKING_UNREADABLE
    if owner.paused:
        return R.SUSPENDED
    return R.MISCONFIGURED if job.problem else _loss(snapshot, job, owner) or owner


def _loss(snapshot: Snapshot, job: Job, owner: Owner) -> R | None:
    """Return what would not come back as it was; None if all does."""
    facts = registry.parking_facts(owner)
    if facts is not None and facts.reruns and job.having(State.SUCCEEDED):
        return R.RUNS_AGAIN
    if facts is not None and facts.renames and not registry.is_named_by_label(job.key):
        return R.NAME_CHANGES
    if owner.pause is None:
        return None
    if owner.groups > 1:
        return R.SEVERAL_JOBS
    if owner.pause.deletes_volumes:
        return R.VOLUMES_DELETED
    return R.AUTOSCALED if is_autoscaled(snapshot, owner) else None


def _without_owner(snapshot: Snapshot, job: Job) -> R:
    owners = above(snapshot, job.members[0].pod).owners
    if any(labels.KUEUE_QUEUE in owner.labels for owner in owners):
        return R.MANAGED_BY_KUEUE
    managed = any(owner.job is not None and owner.job.managed for owner in owners)
    return R.MANAGED_BY_OTHER if managed else R.OWNER_NOT_SUPPORTED


def other_operation(session: Session, job: Job) -> R | None:
    """Return what else is under way with a job; None if nothing is."""
    snapshot = session.snapshot
    if any(m.open and m.job == job.key for m in snapshot.migrations.values()):
        return R.MIGRATING
    if job.key in rescale.rescale_records(snapshot).busy:
        return R.RESCALING
    if hang_restarts.is_open(snapshot, job, session.now):
        return R.RESTARTING
    if session.parameters.slot_time.enabled and job.spec.utility is not None:
        return R.ADMITTED_BY_PRICE
    return R.STARTING if job.having(*_STARTING) else None


def hindrance(
    session: Session, job: Job, last: Parking | None, proposal: ParkingProposal
) -> R | None:
    """Return the limit that keeps a job from being parked; None if there is none."""
    if proposal.cause is Cause.MANUAL:
        return None
    if job.spec.preemptible is Preemptible.NEVER:
        return R.NEVER
    if budgets.forbid(session.snapshot, proposal.cause, proposal.jobs):
        return R.DISRUPTION_BUDGET
    if not proposal.in_turn:
        return None
    params, now = session.parameters.preemption, session.now
    started = running_jobs.started_at(session.snapshot.jobs[job.key], now)
    if now - started < params.least_run_seconds:
        return R.JUST_STARTED
    return None if last is None else _too_often(last, now, params)


def _too_often(last: Parking, now: float, params: PreemptionParameters) -> R | None:
    if last.aborted:
        rest = params.rest_seconds * 2.0 ** min(last.aborted - 1, MOST_DOUBLINGS)
        return R.ABORTED_LATELY if now - last.since < rest else None
    if now - last.since < params.rest_seconds and last.phase is Phase.RESUMED:
        return R.PARKED_LATELY
    often = len(_recent(last, now)) >= params.most_per_hour
    return R.CAP_REACHED if often else None


def _recent(last: Parking | None, now: float) -> tuple[float, ...]:
    before = () if last is None else last.recent
    return tuple(at for at in before if now - at < HOUR_SECONDS)


def _trainers(session: Session, job: Job, cause: Cause) -> tuple[Uid, ...] | R:
    """Return the trainers to ask: none where no pod runs, or the owner needs no checkpoint."""
    if not job.having(State.BOUND):
        return () if cause is Cause.MANUAL else R.JOB_NOT_RUNNING
    if job.spec.preemptible is Preemptible.TERMINATE:
        return ()
    if not job.spec.has_checkpoint:
        return R.NOT_OPTED_IN
    asked = trainers_to_ask(session, job)
    return R.of_checkpoint(asked) if isinstance(asked, TrainerProblem) else asked


def _first_write(
    session: Session, proposal: ParkingProposal, requested: RequestedParking, group: int
) -> ChangeOwner:
    """Suspend at once, unless trainers or other jobs come before it."""
    one = _parking(session, proposal, requested, group)
    owner, job = requested.owner, requested.job
    if not one.asked and group == 1:
        return open_parkings.suspended(session, owner, one, job)
    text = f"the job is asked for a checkpoint, then parked ({one.cause.value})"
    if one.starts is not None:
        text = f"{text}: room for {one.starts}"
    event = parking_writes.event(owner, "Parking", parking_writes.warned(owner, text))
    return parking_writes.write(owner, one, event=event)


def _parking(
    session: Session, proposal: ParkingProposal, requested: RequestedParking, group: int
) -> Parking:
    """Return the record of a parking that begins now; what its pods need is counted at the end."""
    now, params, last = session.now, session.parameters.preemption, requested.last
    pods, needed = parked_jobs.kept_pods(session.snapshot, requested.job)
    made = Parking(
        id=f"{requested.owner.name[:48]}-park-{int(now * 1000):x}",
        phase=Phase.ASKED,
        cause=proposal.cause,
        at=now,
        since=now,
        job=requested.job.key,
        owner=requested.owner.uid,
        starts=proposal.starts,
        group=group,
        asked=requested.asked,
        ask_until=now + params.checkpoint_seconds,
        hold_until=now + params.checkpoint_seconds + params.hold_seconds,
        pods=pods,
        needed=needed,
        parked_seconds=0.0 if last is None else last.parked_seconds,
        count=1 if last is None else last.count + (last.phase is not Phase.ABORTED),
        recent=(*_recent(last, now), now),
        aborted=0 if last is None else last.aborted,
        text=proposal.why,
        cost=parking_costs.before(last),
    )
    if not requested.places:
        return made
    return parked_jobs.with_places(made, requested.places, requested.owner.uid)


def proposed_jobs(proposals: Sequence[ParkingProposal]) -> frozenset[JobKey]:
    """Return all jobs of these proposals."""
    return frozenset(key for proposal in proposals for key in proposal.jobs)
