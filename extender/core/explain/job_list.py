"""The list of jobs, waiting, running and done: state, requests, progress, start or end of each."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from extender.core.agents import reports
from extender.core.cluster import job_views, owner_progress
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.explain import parked
from extender.core.explain.job_details import (
    admission_entry,
    fault_entries,
    job_details,
    requested,
)
from extender.core.explain.lists import WHOLE, Page, Positioned, with_positions
from extender.core.pricing.outcome import JobStatus
from extender.core.queue import running_jobs
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.forecast import UNKNOWN, Estimate
from extender.core.queue.state import QueueState
from extender.core.records.parking import OwnedParking
from extender.core.records.slot_plan import plans_by_job
from shared.model import JobKey
from shared.readapi import api
from shared.readapi.answer import EndEntry, JobState
from shared.readapi.ledgers import WorkersEntry

_DOMAIN: Final = "/"
"""Is in the names of resources that are not Kubernetes' own, such as ``nvidia.com/gpu``."""
_ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED})


class Forecasts(NamedTuple):
    """What is known of jobs beside their pods.

    Attributes:
        estimates: Expected starts of waiting jobs.
        standings: Of jobs with a utility; a paused one has no pods and is listed too.
    """

    estimates: Mapping[JobKey, Estimate] = MappingProxyType({})
    standings: Mapping[JobKey, JobStatus] = MappingProxyType({})


NO_FORECASTS: Final = Forecasts()


@dataclass(frozen=True)
class _Context:
    """What the entries of one list are made of."""

    session: Session
    state: QueueState
    queued: Mapping[JobKey, Positioned]
    forecasts: Forecasts


def all_jobs(
    session: Session,
    cycle: QueueOutcome | None = None,
    *,
    forecasts: Forecasts = NO_FORECASTS,
    page: Page = WHOLE,
) -> api.JobsResponse:
    """Return our jobs by key, each with its progress; only the jobs of the page are viewed.

    Args:
        session: The cluster and the time.
        cycle: The last pass of the queue; None before the first.
        forecasts: Expected starts, and standings.
        page: Its ``after`` is the key of the last job of the page before.
    """
    snapshot, standings = session.snapshot, forecasts.standings
    queued = {e.job.key: (at, e) for at, e in with_positions(cycle.entries if cycle else ())}
    context = _Context(session, cycle.state if cycle else QueueState(), queued, forecasts)
    paused = (key for key in standings if key not in snapshot.jobs)
    away = parked.by_job(snapshot)
    every = dict.fromkeys(chain(snapshot.jobs, paused, away))
    keys = ((key.split("/", 2), key) for key in every)
    after = page.after.split("/", 2)
    rows = nsmallest(
        page.limit + 1,
        ((parts, key) for parts, key in keys if parts > after and page.shows(parts[0])),
    )
    shown = [key for _, key in rows[: page.limit]]
    entries = (
        _parked(context, away[key])
        if key in away
        else _job(context, job_views.view(snapshot, key))
        if key in snapshot.jobs
        else _paused(session, key, standings[key])
        for key in shown
    )
    return api.JobsResponse(
        generated_at=session.now,
        entries=tuple(entry for entry in entries if entry is not None),
        more=shown[-1] if len(rows) > len(shown) else "",
    )


def job_state(job: Job, reason: Reason | None = None) -> JobState:
    """Return how far a job is; ``reason``: why it waits, if it is in the queue.

    A gang runs once it is whole and one of its pods does: pods that pull their image are starting.
    """
    states = {member.state for member in job.members}
    if states <= _ENDED:
        return JobState.FAILED if State.FAILED in states else JobState.DONE
    if states <= _ENDED | {State.LEAVING}:
        return JobState.ENDING
    bound = job.having(State.BOUND)
    if bound and job.placed >= (job.min_available or 1) and any(map(_runs, bound)):
        return JobState.RUNNING
    planned = bound or job.having(State.RESERVED, State.LOOSE)
    if planned:
        return JobState.STARTING
    return JobState.BLOCKED if reason is not None and reason.needs_action else JobState.WAITING


def _runs(member: Member) -> bool:
    return member.pod.phase == "Running"


def _since(job: Job, state: JobState, now: float) -> float | None:
    """Return since when a job is in a state; None if its pods do not show it."""
    if state in {JobState.WAITING, JobState.BLOCKED}:
        return job.created_at
    bound = job.having(State.BOUND)
    if state in {JobState.RUNNING, JobState.STARTING} and bound:
        return running_jobs.started_at((member.pod for member in bound), now)
    if state in {JobState.DONE, JobState.FAILED}:
        return max((member.pod.finished_at for member in job.members), default=0.0) or None
    return None


def _job(context: _Context, job: Job) -> api.JobEntry:
    session = context.session
    snapshot = session.snapshot
    counts = Counter(member.state.value for member in job.members)
    details = job_details(session, job, context.forecasts.standings)
    position, entry = context.queued.get(job.key, (None, None))
    waits = entry is not None and entry.reason is not Reason.RELEASING
    estimate = context.forecasts.estimates.get(job.key, UNKNOWN) if waits else UNKNOWN
    state = job_state(job, entry.reason if entry else None)
    return api.JobEntry(
        job=job.name,
        namespace=job.namespace,
        kind=job.kind,
        created_at=job.created_at,
        state=state,
        since=_since(job, state, session.now),
        requests=requested(job),
        position=position if waits else None,
        reason=entry.reason.value if entry is not None and waits else "",
        message=entry.message if entry is not None and waits else "",
        estimated_start=estimate.starts_at,
        earliest_start=estimate.earliest,
        latest_start=estimate.latest,
        estimate=estimate.why,
        min_available=job.min_available,
        members=len(job.members),
        counts=api.MemberCounts(**counts),
        problem=job.problem.message if job.problem else "",
        warnings=job.warnings,
        nodes=tuple(sorted({m.node for m in job.members if m.node is not None})),
        devices=_devices(job),
        progress=reports.progress(snapshot, job, reports.freshness(session)),
        progress_problem=reports.progress_problem(snapshot, job),
        checkpoint=reports.checkpoint(snapshot, job, now=session.now),
        workers=details.workers,
        admission=details.admission,
        end=_end(session, job, context.state),
        faults=fault_entries(session, job.key),
    )


def _parked(context: _Context, owned: OwnedParking) -> api.JobEntry:
    key = owned.parking.job
    position, entry = context.queued.get(key, (None, None))
    if entry is None:
        return parked.entry(owned, None, "")
    estimate = context.forecasts.estimates.get(key, UNKNOWN)
    return parked.entry(owned, position, entry.reason.value, estimate)


def _devices(job: Job) -> dict[str, dict[str, int]]:
    """Return by node what the members there hold of resources that are not Kubernetes' own."""
    found: dict[str, Counter[str]] = {}
    for member in job.members:
        if member.node is None or member.state in _ENDED:
            continue
        asked = {name: amount for name, amount in member.shape.requests if _DOMAIN in name}
        if asked:
            found.setdefault(member.node, Counter()).update(asked)
    return {node: dict(found[node]) for node in sorted(found)}


def _end(session: Session, job: Job, state: QueueState) -> EndEntry | None:
    """Return the end of a running job as the queue expects it; None if none of its pods runs."""
    if not job.having(State.BOUND):
        return None
    pods, now = session.snapshot.jobs[job.key], session.now
    since = running_jobs.started_at(pods, now)
    end = running_jobs.expected_end(session, pods, job.key, since, state)
    progress = owner_progress.read(session.snapshot, pods, since, now)
    if progress is None:
        return EndEntry(at=end.at, why=end.why.value)
    return EndEntry(
        at=end.at,
        why=end.why.value,
        done_percent=progress.stated.percent,
        written_at=None if progress.stated.problem else progress.stated.written_at,
        stale=not progress.fresh and not progress.problem,
        problem=progress.problem,
    )


def _paused(session: Session, key: JobKey, standing: JobStatus) -> api.JobEntry | None:
    """Return the entry of a job without pods if its slot plan pauses it; None otherwise."""
    if standing.plan is None:
        return None
    namespace, kind, name = key.split("/", 2)
    record = plans_by_job(session.snapshot).get(key)
    request = standing.plan.request
    return api.JobEntry(
        job=name,
        namespace=namespace,
        kind=kind,
        created_at=record.owner.created_at if record else session.now,
        min_available=request.least + request.servers,
        state=JobState.PAUSED,
        members=0,
        counts=api.MemberCounts(),
        workers=WorkersEntry(now=0, least=request.least, most=request.most, stated=0),
        admission=admission_entry(standing, now=session.now),
    )
