"""The proposals to follow now: within the limits, and for one start all of them or none.

The limits are a pause after each change, longer after aborted ones, and a number of changes in an
hour.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import beginning
from extender.core.elastic.beginning import RequestedChange
from extender.core.parameters.combined import CoreParameters
from extender.core.records.elastic_workers import elastic_owner, jobs_with_range
from extender.core.records.rescale import Cause, Proposal, RescaleRecords
from extender.core.records.rescale_reasons import ScalingReason as R
from shared.ledgers import Declined
from shared.model import JobKey


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
        changes = [beginning.requested_change(session, records, p) for p in group]
        changes = _within(_together(changes), left)
        begun = [c for c in changes if isinstance(c, RequestedChange) and c.changes]
        commands += [beginning.first_write(session, c, len(begun)) for c in begun]
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
