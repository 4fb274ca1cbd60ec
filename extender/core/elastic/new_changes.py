"""New changes of workers: the proposals to follow now, and the first write of each.

The limits are a pause after each change, longer after aborted ones, and a number of changes in an
hour. Of the changes for one start all are made or none.

Before a Deployment has fewer workers, the pods to remove are marked, as its controller goes by that
mark. Marks are written in the phase ``Asked``; the smaller number only when all marks show in the
snapshot. A mark that is left after a crash or an abort does no harm: its pod is the first to be
removed the next time too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from extender.core.agents.trainers import TrainerProblem, trainers_to_ask
from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner, MarkPod
from extender.core.cluster.job_spec import Shrink, WorkerRange
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import worker_count
from extender.core.elastic import open_changes
from extender.core.elastic.open_changes import recent
from extender.core.kinds import registry
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.elastic import RescaleParameters
from extender.core.records import parking
from extender.core.records.elastic_workers import (
    OwnerWorkers,
    elastic_owner,
    jobs_with_range,
    owner_workers,
)
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
from shared.readapi.ledgers import Declined


def missing_marks(workers: OwnerWorkers, to: int) -> tuple[MarkPod, ...]:
    """Return the marks that leaving pods still need when ``to`` workers stay.

    None if only pods without a node leave: their owner removes these before all others.
    """
    leaving = workers.surplus(to)
    if len(leaving) <= workers.waiting:
        return ()
    kind = registry.nominating(leaving[0].pod)
    if kind is None:
        return ()
    going, staying = [m.pod for m in leaving], [m.pod for m in workers.live[len(leaving) :]]
    values = kind.nominations(going, staying)
    return tuple(MarkPod(p.key, p.uid, values[p.key]) for p in going if p.key in values)


def marks(snapshot: Snapshot, records: RescaleRecords) -> tuple[MarkPod, ...]:
    """Return the marks that are missing for changes under way."""
    return tuple(mark for noted in records.open for mark in marks_of_change(snapshot, noted))


def marks_of_change(snapshot: Snapshot, noted: OwnedRescale) -> tuple[MarkPod, ...]:
    """Return the marks missing for one change; none if its owner has another number by now."""
    owner, change = noted.owner, noted.rescale
    unchanged = open_changes.worker_number(owner) == change.before
    if change.phase is not Phase.ASKED or change.to == 0 or not unchanged:
        return ()
    pods = snapshot.jobs.get(change.job, ())
    if not any(registry.nominating(pod) for pod in pods):
        return ()  # most kinds need none
    job = job_views.view(snapshot, change.job)
    return missing_marks(owner_workers(snapshot, job, owner), change.to)


@dataclass(frozen=True, kw_only=True)
class RequestedChange:
    """A proposal that can be followed, without the other changes for the same start.

    Attributes:
        owner: The object whose number of workers changes.
        job: The job; None while it is paused and has no pods.
        workers: Its workers.
        last: Its last change; None if it had none.
        before: The owner's number of workers now.
        to: Its number afterwards; as ``before`` if there is nothing to do.
        asked: Pods whose trainers must save and hold first.
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
        """True if there is anything to do."""
        return self.before != self.to


def requested_change(
    session: Session, records: RescaleRecords, proposal: Proposal
) -> RequestedChange | R:
    """Return the change that a proposal asks for, or why it is not made."""
    snapshot = session.snapshot
    change = _subject(snapshot, records, proposal)
    if isinstance(change, R) or not change.changes:
        return change
    key = proposal.job
    if any(m.open and m.job == key for m in snapshot.migrations.values()):
        return R.MIGRATING
    if key in parking.open_jobs(snapshot):
        return R.PARKING
    if why := hindrance(change.last, proposal, session.now, session.parameters.rescaling):
        return why
    if change.to > change.before:
        return R.STILL_LEAVING if change.before == 0 and change.workers.pods else change
    return _with_trainers(session, change)


def first_write(session: Session, change: RequestedChange, group: int) -> ChangeOwner:
    """Return the write that begins a change; ``group``: how many jobs change together."""
    now, params = session.now, session.parameters.rescaling
    last, proposal = change.last, change.proposal
    begun = open_changes.recent(last, now)
    ask_until = now + params.checkpoint_seconds
    workers = _range(change.job)
    rescale = Rescale(
        id=open_changes.change_name(change.owner, change.before, change.to, now),
        phase=Phase.ASKED,
        cause=proposal.cause,
        before=change.before,
        to=change.to,
        at=now,
        since=now,
        starts=proposal.starts,
        asked=change.asked,
        ask_until=ask_until if change.to < change.before else 0.0,
        hold_until=ask_until + params.hold_seconds if change.asked else 0.0,
        recent=begun if proposal.cause is Cause.SLOT else (*begun, now),
        job=proposal.job,
        group=group,
        aborted=last.aborted if last else 0,
        saved_seconds=proposal.saved_seconds,
        most=workers.most if workers else last.most if last else 0,
        owner=change.owner.uid,
    )
    return _written(change, rescale)


def _written(change: RequestedChange, rescale: Rescale) -> ChangeOwner:
    """Write the number at once, unless trainers, marks or other changes come before it."""
    event = open_changes.begun(change.owner, rescale)
    if change.to < change.before and (change.asked or rescale.group > 1 or _lacks_marks(change)):
        return open_changes.note(change.owner, rescale, event)
    phase = Phase.GROWING if change.to > change.before else Phase.SHRINKING
    return open_changes.enter(
        change.owner, rescale, phase, now=rescale.at, workers=change.workers, event=event
    )


def _lacks_marks(change: RequestedChange) -> bool:
    return change.to > 0 and bool(missing_marks(change.workers, change.to))


def _subject(
    snapshot: Snapshot, records: RescaleRecords, proposal: Proposal
) -> RequestedChange | R:
    job = job_views.view(snapshot, proposal.job) if proposal.job in snapshot.jobs else None
    paused = _paused(records, proposal.job)
    owner = paused.owner if paused else _owner(snapshot, job)
    if owner is None:
        return R.OWNER_NOT_SUPPORTED
    before = open_changes.worker_number(owner)
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
    elastic = elastic_owner(snapshot, job) if job is not None else None
    return elastic.owner if elastic is not None else None


def _range(job: Job | None) -> WorkerRange | None:
    return job.spec.workers if job is not None else None


def _clamped(proposal: Proposal, owner: Owner, job: Job | None, last: Rescale | None) -> int | R:
    """Return the number within the job's range; 0 only by a slot plan.

    A job that may not change its number can still be paused, and resumed with the same number.
    """
    count, workers, slot = worker_count(owner), _range(job), proposal.cause is Cause.SLOT
    if count is None:
        return R.OWNER_NOT_SUPPORTED
    if proposal.to <= 0 and slot:
        can_pause = bool(owner.suspend_field) or count.least == 0
        return 0 if can_pause else R.OWNER_NOT_SUPPORTED
    if workers is not None:
        return min(max(proposal.to, workers.least), workers.most)
    if not slot:
        return R.NOT_ELASTIC
    most = last.most if last is not None and job is None else 0
    return max(1, min(proposal.to, most) if most else count.count)


def _with_trainers(session: Session, change: RequestedChange) -> RequestedChange | R:
    """Add the trainers to ask: none if no leaving worker has a node, or the job needs no save."""
    job = change.job
    if job is None or job.spec.shrink is Shrink.TERMINATE or not _disturbs(change, job):
        return change
    if not job.spec.has_checkpoint:
        return R.NOT_OPTED_IN
    asked = trainers_to_ask(session, job)
    if isinstance(asked, TrainerProblem):
        return R.of_checkpoint(asked)
    return replace(change, asked=asked)


def _disturbs(change: RequestedChange, job: Job) -> bool:
    """Return True if a leaving worker has a node, bound or reserved."""
    if change.to == 0:
        return bool(job.having(State.BOUND, State.RESERVED))
    return len(change.workers.leaving(change.to, change.before)) > change.workers.waiting


MOST_DOUBLINGS: Final = 5
"""The pause after aborted changes doubles with each in a row, up to 32 times."""


def is_free(proposal: Proposal) -> bool:
    """Return True if no limit applies: a slot plan asks for it, or another job starts by it."""
    return proposal.cause is Cause.SLOT or proposal.starts is not None


def hindrance(
    last: Rescale | None, proposal: Proposal, now: float, params: RescaleParameters
) -> R | None:
    """Return why a job must not change now, by its changes so far."""
    if last is None:
        return None
    pause = params.cooldown_seconds * 2.0 ** min(max(last.aborted - 1, 0), MOST_DOUBLINGS)
    pauses = now < last.since + pause
    free = is_free(proposal)
    if pauses and last.aborted and (not free or last.phase is Phase.ABORTED):
        return R.ABORTED_LATELY
    if free:
        return None
    if pauses:
        return R.COOLING_DOWN
    often = len(recent(last, now)) >= params.most_rescales_per_hour
    return R.CAP_REACHED if often else None


@dataclass(frozen=True)
class Chosen:
    """The writes that begin changes, and why the other jobs do not change."""

    commands: tuple[ChangeOwner, ...]
    declined: Mapping[JobKey, Declined]


def choose(session: Session, records: RescaleRecords, proposals: Iterable[Proposal]) -> Chosen:
    """Begin what may begin, in the order of the proposals."""
    snapshot, params = session.snapshot, session.parameters
    busy = set(records.busy)
    left = params.rescaling.most_open
    left -= sum(noted.rescale.cause is not Cause.SLOT for noted in records.open)
    commands: list[ChangeOwner] = []
    declined = {**dict(_unscalable(snapshot)), **dict(_unreadable(snapshot, records))}
    for group in _groups(p for p in proposals if _is_enabled(p, params)):
        if any(proposal.job in busy for proposal in group):
            continue  # a job with an open change is proposed again if need be
        busy.update(proposal.job for proposal in group)
        changes = [requested_change(session, records, p) for p in group]
        changes = _within(_together(changes), left)
        begun = [c for c in changes if isinstance(c, RequestedChange) and c.changes]
        commands += [first_write(session, c, len(begun)) for c in begun]
        left -= sum(map(_counts, begun))
        declined |= {p.job: c for p, c in zip(group, changes, strict=True) if isinstance(c, R)}
    declined_now = {job: _declined(job, why, session.now) for job, why in sorted(declined.items())}
    return Chosen(tuple(commands), declined_now)


def _groups(proposals: Iterable[Proposal]) -> Iterable[list[Proposal]]:
    """Group the proposals that make room for the same start; all others are alone."""
    alone = count()
    groups: dict[JobKey | int, list[Proposal]] = {}
    for proposal in proposals:
        group = next(alone) if proposal.starts is None else proposal.starts
        groups.setdefault(group, []).append(proposal)
    return groups.values()


def _together(changes: list[RequestedChange | R]) -> list[RequestedChange | R]:
    """Decline all changes for a start if one of them is declined: the start would not happen."""
    if not any(isinstance(change, R) for change in changes):
        return changes
    return [change if isinstance(change, R) else R.OTHERS_STAY for change in changes]


def _within(changes: list[RequestedChange | R], left: int) -> list[RequestedChange | R]:
    counted = sum(_counts(change) for change in changes if isinstance(change, RequestedChange))
    return changes if counted <= left else [R.TOO_MANY_OPEN for _ in changes]


def _counts(change: RequestedChange) -> bool:
    """True if a change counts towards ``most_open``; a slot plan's changes do not."""
    return change.changes and change.proposal.cause is not Cause.SLOT


def _is_enabled(proposal: Proposal, params: CoreParameters) -> bool:
    return params.rescaling.enabled or proposal.cause is Cause.SLOT


def _unreadable(snapshot: Snapshot, records: RescaleRecords) -> Iterable[tuple[JobKey, R]]:
    """Yield the jobs of owners whose annotation is not ours: their workers are never changed."""
    if not records.unreadable:
        return
    for job, pods in snapshot.jobs.items():
        if any(owner.uid in records.unreadable for owner in above(snapshot, pods[0]).owners):
            yield job, R.RESCALE_UNREADABLE


def _unscalable(snapshot: Snapshot) -> Iterable[tuple[JobKey, R]]:
    """Yield the jobs that run and state a range, but whose owner is of no supported kind."""
    for key in jobs_with_range(snapshot):
        job = job_views.view(snapshot, key)
        if job.placed and not job.problem and elastic_owner(snapshot, job) is None:
            yield key, R.OWNER_NOT_SUPPORTED


def _declined(job: JobKey, why: R, now: float) -> Declined:
    return Declined(job=job, reason=why.value, message=why.text, at=now)
