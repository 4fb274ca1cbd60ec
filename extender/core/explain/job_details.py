"""What lists and explanations show of a job beside its queue position and its pods.

Workers of elastic jobs with their rescales, the slot plans of jobs with a utility, and faults of
the training.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from extender.core.cluster import job_views, worker_gang
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic.state import Ended
from extender.core.pricing.outcome import JobStatus
from extender.core.records import rescale, slot_plan
from extender.core.records.elastic_workers import elastic_owner
from extender.core.records.rescale import Rescale
from extender.core.records.rescale_reasons import ScalingReason
from extender.core.records.slot_plan import SlotPlan
from extender.core.training_faults.decision import TRAINING_FAULTS
from shared.model import JobKey
from shared.readapi.answer import FaultEntry
from shared.readapi.ledgers import RescaleEntry, WorkersEntry
from shared.readapi.pricing import AdmissionEntry

_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})
_NOT_COUNTED: Final = frozenset({State.FAILED, State.LEAVING})
_PODS: Final = "pods"
_DIGITS: Final = 6


class JobDetails(NamedTuple):
    """Details of a job; None where it has none."""

    workers: WorkersEntry | None = None
    admission: AdmissionEntry | None = None


def job_details(session: Session, job: Job, standings: Mapping[JobKey, JobStatus]) -> JobDetails:
    """Return the details of one job."""
    admission = admission_entry(standings.get(job.key), now=session.now)
    return JobDetails(workers_entry(session.snapshot, job), admission)


def fault_entries(session: Session, key: JobKey) -> tuple[FaultEntry, ...]:
    """Return what is wrong with the training of a job by the last look at it."""
    return tuple(
        FaultEntry(
            kind=fault.kind.value,
            pod=fault.pod,
            node=fault.node,
            since=fault.since,
            message=fault.message,
        )
        for fault in session.states.of(TRAINING_FAULTS).faults.get(key, ())
    )


def requested(job: Job) -> dict[str, int]:
    """Return what the pods of a job request together, by resource, base units.

    Pods that failed or leave do not count, unless the whole job has ended.
    """
    total = job.requests
    if all(member.state in _NOT_COUNTED for member in job.members):
        total = _total(job)
    return {name: amount for name, amount in sorted(total.items()) if amount and name != _PODS}


def _total(job: Job) -> Mapping[str, int]:
    total = Counter[str]()
    for member in job.members:
        total.update(dict(member.shape.requests))
    return total


def workers_entry(snapshot: Snapshot, job: Job) -> WorkersEntry | None:
    """Return how many workers a job has and may have; None if their number is fixed."""
    limits = job.spec.workers
    if limits is None:
        return None
    owner = elastic_owner(snapshot, job)
    record = rescale.rescale_records(snapshot).by_job.get(job.key)
    is_open = record is not None and record.rescale.open
    return WorkersEntry(
        now=_live_workers(job) if owner is None else len(owner.workers),
        least=limits.least,
        most=limits.most,
        stated=None if owner is None else owner.count.count,
        rescale=_entry(snapshot, record.rescale) if record is not None and is_open else None,
    )


def rescale_ledger(snapshot: Snapshot, past: Iterable[Ended] = ()) -> tuple[RescaleEntry, ...]:
    """Return all known rescales, oldest first.

    Args:
        snapshot: The annotations of its owners hold the last rescale of each job.
        past: Rescales that ended. Where an owner holds the same one, the owner's is newer, except
            for the outcome.
    """
    ended = {end.rescale.id: end for end in past}
    records = rescale.rescale_records(snapshot).by_owner.values()
    rescales = (*(end.rescale for end in ended.values()), *(r.rescale for r in records))
    by_id = {change.id: change for change in rescales}
    ordered = sorted(by_id.values(), key=lambda change: (change.at, change.id))
    return tuple(_with_outcome(snapshot, change, ended.get(change.id)) for change in ordered)


def rescales_of_job(entries: Iterable[RescaleEntry], key: JobKey) -> tuple[RescaleEntry, ...]:
    """Return the rescales of one job."""
    return tuple(e for e in entries if f"{e.namespace}/{e.kind}/{e.job}" == key)


def _with_outcome(snapshot: Snapshot, change: Rescale, ended: Ended | None) -> RescaleEntry:
    entry = _entry(snapshot, change)
    if change.open or ended is None:
        return entry
    return replace(
        entry,
        phase=ended.outcome.value,
        step_seconds_before=ended.step_seconds_before,
        step_seconds_after=ended.step_seconds_after,
    )


def _entry(snapshot: Snapshot, change: Rescale) -> RescaleEntry:
    namespace, _, rest = change.job.partition("/")
    kind, _, name = rest.partition("/")
    reason = ScalingReason.named(change.why)
    return RescaleEntry(
        namespace=namespace,
        id=change.id,
        job=name,
        kind=kind,
        cause=change.cause.value,
        before=change.before,
        to=change.to,
        phase=change.phase.value,
        open=change.open,
        begun_at=change.at,
        since=change.since,
        starts=change.starts or "",
        started=change.starts is not None and _runs(snapshot, change.starts),
        saved_seconds=change.saved_seconds,
        reason=change.why,
        message="" if reason is None else reason.text,
    )


def _runs(snapshot: Snapshot, key: JobKey) -> bool:
    if key not in snapshot.jobs:
        return False
    members = job_views.view(snapshot, key).having(State.BOUND, State.SUCCEEDED)
    return bool(members)


def _live_workers(job: Job) -> int:
    """Return how many workers a job has whose owner does not state their number."""
    live = [member for member in job.members if member.state not in _GONE]
    roles = worker_gang.worker_roles(member.role for member in live)
    return sum(member.role in roles for member in live)


def admission_entry(standing: JobStatus | None, *, now: float) -> AdmissionEntry | None:
    """Return the admission of a job with a utility; None for any other job."""
    if standing is None:
        return None
    plan = standing.plan
    entry = AdmissionEntry(
        admitted=plan is not None,
        payoff=round(standing.payoff, _DIGITS),
        utility=_rounded(standing.utility),
        bill=_rounded(standing.bill),
        promise=standing.promise.value if standing.promise else "",
        profile=standing.profile,
    )
    return entry if plan is None else _with_plan(entry, plan, now)


def _with_plan(entry: AdmissionEntry, plan: SlotPlan, now: float) -> AdmissionEntry:
    seconds = plan.slot_seconds
    slot = slot_plan.slot_at(now, seconds)
    workers = plan.workers_at(slot)
    later = min((span.first for span in plan.spans if span.first > slot), default=None)
    return replace(
        entry,
        promised_at=slot_plan.begins_at(plan.promise + 1, seconds),
        finish_at=slot_plan.begins_at(plan.completion + 1, seconds),
        resumes_at=None if workers or later is None else slot_plan.begins_at(later, seconds),
        planned_workers=workers,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
