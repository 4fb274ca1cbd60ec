"""The first write of a change of workers: trainers to ask, number to write, or why there is none.

Before a Deployment has fewer workers, the pods to remove are marked, as its controller goes by that
mark. Marks are written in the phase ``Asked``; the smaller number only when all marks show in the
snapshot. A mark that is left after a crash or an abort does no harm: its pod is the first to be
removed the next time too.
"""

from dataclasses import dataclass, replace
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner, MarkPod
from extender.core.cluster.job_spec import Shrink, WorkerRange
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import worker_count
from extender.core.elastic import stepping
from extender.core.elastic.stepping import recent
from extender.core.kinds import registry
from extender.core.parameters.elastic import RescaleParameters
from extender.core.records.elastic_workers import OwnerWorkers, elastic_owner, owner_workers
from extender.core.records.rescale import (
    Cause,
    OwnedRescale,
    Phase,
    Proposal,
    Rescale,
    RescaleRecords,
    is_paused,
)
from extender.core.records.rescale_reasons import ScalingReason as R
from shared.model import JobKey, Owner, Uid


def missing_marks(workers: OwnerWorkers, to: int) -> tuple[MarkPod, ...]:
    """Return the marks that those who leave still need when ``to`` workers stay.

    None where the owner's own order says it already: who has no place goes before all others.
    """
    leaving = workers.surplus(to)
    if len(leaving) <= workers.waiting:
        return ()
    kind = registry.nominating(leaving[0].pod)
    if kind is None:
        return ()
    going, staying = [m.pod for m in leaving], [m.pod for m in workers.live[len(leaving) :]]
    wanted = kind.nominations(going, staying)
    return tuple(MarkPod(p.key, p.uid, wanted[p.key]) for p in going if p.key in wanted)


def marks(snapshot: Snapshot, records: RescaleRecords) -> tuple[MarkPod, ...]:
    """Return the marks that are missing for changes under way."""
    return tuple(mark for noted in records.open for mark in marks_of_change(snapshot, noted))


def marks_of_change(snapshot: Snapshot, noted: OwnedRescale) -> tuple[MarkPod, ...]:
    """Return those of one change: of one that is asked for, and that nobody has interfered with."""
    owner, one = noted.owner, noted.rescale
    if one.phase is not Phase.ASKED or one.to == 0 or stepping.worker_number(owner) != one.before:
        return ()
    pods = snapshot.jobs.get(one.job, ())
    if not any(registry.nominating(pod) for pod in pods):
        return ()  # most kinds need none
    return missing_marks(owner_workers(snapshot, job_views.view(snapshot, one.job), owner), one.to)


@dataclass(frozen=True, kw_only=True)
class RequestedChange:
    """A proposal that can be followed: what is to be written, but for who else is concerned.

    Attributes:
        owner: Whose number it is.
        job: The job; None while it is paused and has no pods.
        workers: Its workers.
        last: Its change before; None if it had none.
        before: Workers it is told to have.
        to: Workers it will be told to have; as ``before`` if there is nothing to do.
        asked: Whose trainers are asked first.
    """

    proposal: Proposal
    owner: Owner
    job: Job | None
    workers: OwnerWorkers
    last: Rescale | None
    before: int
    to: int
    asked: tuple[Uid, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.to


def requested_change(
    session: Session, records: RescaleRecords, proposal: Proposal
) -> RequestedChange | R:
    """Return what following a proposal means, or why it is not followed."""
    snapshot = session.snapshot
    found = _subject(snapshot, records, proposal)
    if isinstance(found, R) or not found.changes:
        return found
    key = proposal.job
    if any(m.open and m.job == key for m in snapshot.migrations.values()):
        return R.MIGRATING
    if why := hindrance(found.last, proposal, session.now, session.parameters.rescaling):
        return why
    if found.to > found.before:
        return R.STILL_LEAVING if found.before == 0 and found.workers.pods else found
    return _shrinking(session, found)


def first_write(session: Session, one: RequestedChange, beside: int) -> ChangeOwner:
    """Return the write that begins a change; ``beside``: jobs that change together, it included."""
    now, params, shrinks = session.now, session.parameters.rescaling, one.to < one.before
    last = stepping.recent(one.last, now)
    ask_until = now + params.checkpoint_seconds
    wished = _range(one.job)
    rescale = Rescale(
        id=stepping.change_name(one.owner, one.before, one.to, now),
        phase=Phase.ASKED,
        cause=one.proposal.cause,
        before=one.before,
        to=one.to,
        at=now,
        since=now,
        starts=one.proposal.starts,
        asked=one.asked,
        ask_until=ask_until if shrinks else 0.0,
        hold_until=ask_until + params.hold_seconds if one.asked else 0.0,
        recent=last if one.proposal.cause is Cause.SLOT else (*last, now),
        job=one.proposal.job,
        group=beside,
        aborted=one.last.aborted if one.last else 0,
        saved_seconds=one.proposal.saved_seconds,
        most=wished.most if wished else one.last.most if one.last else 0,
        owner=one.owner.uid,
    )
    return _written(one, rescale)


def _written(one: RequestedChange, rescale: Rescale) -> ChangeOwner:
    """A number goes out at once where nobody is asked or marked before, nor waited for."""
    event = stepping.begun(one.owner, rescale)
    if one.to < one.before and (one.asked or rescale.group > 1 or _unmarked(one)):
        return stepping.note(one.owner, rescale, event)
    phase = Phase.GROWING if one.to > one.before else Phase.SHRINKING
    return stepping.enter(
        one.owner, rescale, phase, now=rescale.at, workers=one.workers, event=event
    )


def _unmarked(one: RequestedChange) -> bool:
    return one.to > 0 and bool(missing_marks(one.workers, one.to))


def _subject(
    snapshot: Snapshot, records: RescaleRecords, proposal: Proposal
) -> RequestedChange | R:
    job = job_views.view(snapshot, proposal.job) if proposal.job in snapshot.jobs else None
    paused = _paused(records, proposal.job)
    owner = paused.owner if paused else _owner(snapshot, job)
    if owner is None:
        return R.OWNER_NOT_SUPPORTED
    before = stepping.worker_number(owner)
    if before is None or (owner.job is not None and owner.job.managed):
        return R.OWNER_NOT_SUPPORTED
    if why := _mistake(records, owner, job):
        return why
    if before == 0 and paused is None:
        return R.SUSPENDED
    noted = records.by_owner.get(owner.uid)
    last = noted.rescale if noted else None
    to = _clamped(proposal, owner, job, last)
    if isinstance(to, R):
        return to
    return RequestedChange(
        proposal=proposal,
        owner=owner,
        job=job,
        workers=owner_workers(snapshot, job, owner),
        last=last,
        before=before,
        to=to,
    )


def _mistake(records: RescaleRecords, owner: Owner, job: Job | None) -> R | None:
    if owner.uid in records.unreadable:
        return R.RESCALE_UNREADABLE
    return R.MISCONFIGURED if job is not None and job.problem else None


def _paused(records: RescaleRecords, key: JobKey) -> OwnedRescale | None:
    noted = records.by_job.get(key)
    return noted if noted is not None and is_paused(noted) else None


def _owner(snapshot: Snapshot, job: Job | None) -> Owner | None:
    found = elastic_owner(snapshot, job) if job is not None else None
    return found.owner if found is not None else None


def _range(job: Job | None) -> WorkerRange | None:
    return job.spec.workers if job is not None else None


def _clamped(proposal: Proposal, owner: Owner, job: Job | None, last: Rescale | None) -> int | R:
    """Return the number within what the job may have; none at all only by a slot plan.

    One that may not change its number can still be paused, and come back as it was.
    """
    count, wished, slot = worker_count(owner), _range(job), proposal.cause is Cause.SLOT
    if count is None:
        return R.OWNER_NOT_SUPPORTED
    if proposal.to <= 0 and slot:
        can_pause = bool(owner.suspend_field) or count.least == 0
        return 0 if can_pause else R.OWNER_NOT_SUPPORTED
    if wished is not None:
        return min(max(proposal.to, wished.least), wished.most)
    if not slot:
        return R.NOT_ELASTIC
    most = last.most if last is not None and job is None else 0
    return max(1, min(proposal.to, most) if most else count.count)


def _shrinking(session: Session, one: RequestedChange) -> RequestedChange | R:
    """Add who is asked: nobody where those who leave have no place yet, or need not be asked."""
    job = one.job
    if job is None or job.spec.shrink is Shrink.TERMINATE or not _disturbs(one, job):
        return one
    if not job.spec.has_checkpoint:
        return R.NOT_OPTED_IN
    asked = stepping.trainers_to_ask(session, job)
    if isinstance(asked, R):
        return asked
    return replace(one, asked=asked)


def _disturbs(one: RequestedChange, job: Job) -> bool:
    """Return True if anybody who leaves has a place, or one on the way."""
    if one.to == 0:
        return bool(job.having(State.BOUND, State.RESERVED))
    return len(one.workers.leaving(one.to, one.before)) > one.workers.waiting


MOST_DOUBLINGS: Final = 5
"""The rest after changes that came to nothing doubles with each in a row, up to 32 times."""


def is_free(proposal: Proposal) -> bool:
    """Return True if no limit applies: a slot plan asks for it, or another job starts by it."""
    return proposal.cause is Cause.SLOT or proposal.starts is not None


def hindrance(
    last: Rescale | None, proposal: Proposal, now: float, params: RescaleParameters
) -> R | None:
    """Return why a job must not change now, by what it has been through."""
    if last is None:
        return None
    rest = params.cooldown_seconds * 2.0 ** min(max(last.aborted - 1, 0), MOST_DOUBLINGS)
    rests = now < last.since + rest
    free = is_free(proposal)
    if rests and last.aborted and (not free or last.phase is Phase.ABORTED):
        return R.ABORTED_LATELY
    if free:
        return None
    if rests:
        return R.COOLING_DOWN
    often = len(recent(last, now)) >= params.most_rescales_per_hour
    return R.CAP_REACHED if often else None
