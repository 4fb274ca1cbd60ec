"""Jobs whose workers may change: how many they have, and what was done about it."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from extender.core.cluster import job_views, worker_gang
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic.state import Ended
from extender.core.records import rescale
from extender.core.records.elastic_workers import elastic_owner
from extender.core.records.rescale import Rescale
from extender.core.records.rescale_reasons import ScalingReason
from shared.ledgers import RescaleEntry, WorkersEntry
from shared.model import JobKey

_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


def workers(snapshot: Snapshot, job: Job) -> WorkersEntry | None:
    """Return how many workers a job has and may have; None if their number does not change."""
    wished = job.spec.workers
    if wished is None:
        return None
    found = elastic_owner(snapshot, job)
    noted = rescale.rescale_records(snapshot).by_job.get(job.key)
    is_open = noted is not None and noted.rescale.open
    return WorkersEntry(
        now=_live(job) if found is None else len(found.workers),
        least=wished.least,
        most=wished.most,
        stated=None if found is None else found.count.count,
        rescale=entry(snapshot, noted.rescale) if noted is not None and is_open else None,
    )


def ledger(snapshot: Snapshot, past: Iterable[Ended] = ()) -> tuple[RescaleEntry, ...]:
    """Return all changes that are known, oldest first.

    Args:
        snapshot: Its owners say the last change of each job.
        past: Those that ended; of the same one the word of its owner wins, but for its outcome.
    """
    ended = {one.rescale.id: one for one in past}
    said = (noted.rescale for noted in rescale.rescale_records(snapshot).by_owner.values())
    by_id = {one.id: one for one in (*(one.rescale for one in ended.values()), *said)}
    ordered = sorted(by_id.values(), key=lambda one: (one.at, one.id))
    return tuple(_told(snapshot, one, ended.get(one.id)) for one in ordered)


def of_job(entries: Iterable[RescaleEntry], key: JobKey) -> tuple[RescaleEntry, ...]:
    """Return the changes of one job."""
    return tuple(one for one in entries if f"{one.namespace}/{one.kind}/{one.job}" == key)


def _told(snapshot: Snapshot, one: Rescale, ended: Ended | None) -> RescaleEntry:
    found = entry(snapshot, one)
    if one.open or ended is None:
        return found
    return replace(
        found,
        phase=ended.outcome.value,
        step_seconds_before=ended.step_seconds_before,
        step_seconds_after=ended.step_seconds_after,
    )


def entry(snapshot: Snapshot, one: Rescale) -> RescaleEntry:
    """Return a change as people are told it."""
    namespace, _, rest = one.job.partition("/")
    kind, _, name = rest.partition("/")
    why = ScalingReason.named(one.why)
    return RescaleEntry(
        namespace=namespace,
        id=one.id,
        job=name,
        kind=kind,
        cause=one.cause.value,
        before=one.before,
        to=one.to,
        phase=one.phase.value,
        open=one.open,
        begun_at=one.at,
        since=one.since,
        starts=one.starts or "",
        started=one.starts is not None and _runs(snapshot, one.starts),
        saved_seconds=one.saved_seconds,
        reason=one.why,
        message="" if why is None else why.text,
    )


def _runs(snapshot: Snapshot, key: JobKey) -> bool:
    if key not in snapshot.jobs:
        return False
    members = job_views.view(snapshot, key).having(State.BOUND, State.SUCCEEDED)
    return bool(members)


def _live(job: Job) -> int:
    """Return how many members do the work, of a job whose owners say no number."""
    live = [member for member in job.members if member.state not in _GONE]
    roles = worker_gang.worker_roles(member.role for member in live)
    return sum(member.role in roles for member in live)
