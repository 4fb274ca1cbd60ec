"""Why one pod or one job waits, and what would make it run."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from msgspec.structs import replace as changed

from extender.core.agents import reports
from extender.core.cluster import job_views, replacements
from extender.core.cluster.jobs import UNPLANNED_STATES, Job, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Cache, Snapshot
from extender.core.cluster.unfenced_copies import unfenced_copies
from extender.core.explain import changes, corrections, hypothetical_nodes, verdicts
from extender.core.explain.changes import Preconditions
from extender.core.explain.corrections import as_queued
from extender.core.explain.job_details import fault_entries
from extender.core.explain.lists import with_positions
from extender.core.explain.trials import Scenario, Trials
from extender.core.kinds import registry
from extender.core.placement import planner
from extender.core.placement.planner import Refusal
from extender.core.queue import backfill, running_jobs, slot_gate
from extender.core.queue.backfill import HeadReservation
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.notices import QueueEntry
from extender.core.queue.state import QueueState
from extender.core.records import migrations
from extender.core.scheduler import prioritizing
from shared import labels
from shared.model import JobKey, Pod, PodKey
from shared.readapi import api
from shared.readapi.explanation import Ahead, Change, Step, StepKind, Tried

MOST_AHEAD: Final = 10
"""Jobs before this one that are listed."""
_UNPLACED: Final = (State.GATED, State.HELD, State.DIRECT)
_PROGRESS: Final = (
    *(State.HELD, State.GATED, State.DIRECT, State.IN_TREE, State.LOOSE, State.RESERVED),
    *(State.LEAVING, State.BOUND, State.FAILED, State.SUCCEEDED),
)
"""States of members, the least advanced first."""


def _go_on() -> None:
    """Check nothing."""


@dataclass(frozen=True)
class ExplainSession(Session):
    """Inputs of one explanation; ``isolated`` makes one for use in another thread.

    Attributes:
        cycle: The last pass of the queue; None before the first.
        check: Called repeatedly during the work; an exception that it raises ends the work.
    """

    cycle: QueueOutcome | None = None
    check: Callable[[], None] = _go_on

    @property
    def state(self) -> QueueState:
        """State of the queue after its last pass."""
        return self.cycle.state if self.cycle else QueueState()


@dataclass(frozen=True)
class _Findings:
    """The part of an explanation that is the same for a job and for each of its pods."""

    reason: Reason | None = None
    message: str = ""
    needs: int = 0
    fits: int = 0
    cause: str = ""
    short: Mapping[str, int] | None = None
    tried: tuple[Tried, ...] = ()
    changes: tuple[Change, ...] = ()


def isolated(
    session: Session, cycle: QueueOutcome | None, check: Callable[[], None] = _go_on
) -> ExplainSession:
    """Return the inputs of an explanation that share no mutable state with the store.

    Args:
        session: The cluster, the time and the parameters.
        cycle: The last pass of the queue; None before the first.
        check: See ``ExplainSession``; the core reads no clock, so the caller sets time limits here.
    """
    snapshot = session.snapshot
    table = hypothetical_nodes.isolated(snapshot.node_table, check)
    own = replace(snapshot, node_table=table, cache=snapshot.cache.beside())
    return ExplainSession(
        own, session.reading, session.parameters, session.states, cycle=cycle, check=check
    )


def pod(session: ExplainSession, pod: Pod) -> api.ExplainResponse:
    """Return where a pod is, the score terms of every feasible node, and why it waits."""
    snapshot, params = session.snapshot, session.parameters
    is_ours = pod.scheduler_name == params.scheduler_name
    key = registry.job_key(pod)
    job = job_views.view(snapshot, key) if is_ours and key in snapshot.jobs else None
    member = next((m for m in job.members if m.pod.uid == pod.uid), None) if job else None
    terms = prioritizing.explain(snapshot, pod, params) if is_ours else {}
    ranked = sorted(terms.items(), key=lambda item: (-item[1]["total"], item[0]))
    findings = _findings(session, job) if job else _of_other_scheduler(session, pod, key)
    return changed(
        _answer(session, key, job, findings),
        pod=pod.name,
        state=member.state.value if member else "",
        node=member.node if member else pod.node_name,
        decision=pod.annotations.get(labels.DECISION, ""),
        nodes=tuple(api.NodeTerms(node=name, **scores) for name, scores in ranked),
    )


def job(session: ExplainSession, key: JobKey) -> api.ExplainResponse:
    """Return why a job waits; it must be in ``snapshot.jobs``."""
    job = job_views.view(session.snapshot, key)
    states = {member.state for member in job.members}
    state = next(state for state in _PROGRESS if state in states)
    answer = _answer(session, key, job, _findings(session, job))
    return changed(answer, state=state.value)


def jobs_named(snapshot: Snapshot, namespace: str, name: str, kind: str = "") -> tuple[JobKey, ...]:
    """Return the jobs of that name, of any kind or of the given one."""
    keys = (key.split("/", 2) for key in snapshot.jobs)
    matching = (k for k in keys if (k[0], k[2]) == (namespace, name) and kind in {"", k[1]})
    return tuple(sorted(JobKey("/".join(parts)) for parts in matching))


def _answer(
    session: ExplainSession, key: JobKey, job: Job | None, findings: _Findings
) -> api.ExplainResponse:
    entries = with_positions(session.cycle.entries if session.cycle else ())
    position = next((i for i, entry in entries if entry.job.key == key), None)
    before = [] if position is None else entries[: position - 1][::-1]
    return api.ExplainResponse(
        generated_at=session.now,
        namespace=key.split("/", 1)[0],
        job=key,
        state="",
        reason=findings.reason.value if findings.reason else "",
        message=findings.message,
        position=position,
        warnings=job.warnings if job else (),
        ahead=tuple(
            Ahead(position=i, job=e.job.key, reason=e.reason.value, v=e.value.v)
            for i, e in before[:MOST_AHEAD]
            if i is not None
        ),
        counts=_counts(job) if job else None,
        needs=findings.needs,
        fits=findings.fits,
        cause=findings.cause,
        short=findings.short or {},
        tried=findings.tried,
        changes=findings.changes,
        faults=fault_entries(session, key),
        progress=reports.progress(session.snapshot, job, reports.freshness(session))
        if job
        else None,
        progress_problem=reports.progress_problem(session.snapshot, job) if job else "",
    )


def _counts(job: Job) -> api.MemberCounts:
    return api.MemberCounts(**Counter(member.state.value for member in job.members))


def _findings(session: ExplainSession, job: Job) -> _Findings:
    entry = _entry(session, job.key)
    reason, message = (entry.reason, entry.message) if entry else (None, "")
    if not job.having(*_UNPLACED):
        return _Findings(reason, message or _unpinned(job))
    s = _scenario(session, job)
    result = s.plan()
    refused = result if isinstance(result, Refusal) else None
    if entry is None and refused:
        reason, message = refused.reason, refused.message
    if refused and refused.reason is Reason.RELEASING:
        return _Findings(reason, message)
    again_at = _again_at(session, job.key)
    needed = (
        *corrections.raised_quota(s, reason),
        *corrections.corrections(s, _old_pods(session, job)),
    )
    head = _head(session, job)
    ahead = as_queued(job_views.view(session.snapshot, head.job)) if head else None
    findings = _of_nodes(s, Preconditions(needed, again_at, head, ahead), session.state)
    if needed or again_at is not None:
        findings = replace(findings, cause=needed[0].cause if needed else "back-off")
    elif cause := _cause(reason) or _cause(refused.reason if refused else None):
        findings = replace(findings, cause=cause)
    return replace(findings, reason=reason, message=message)


def _cause(reason: Reason | None) -> str:
    """Return what decides where the nodes do not; empty if they do."""
    match reason:
        case Reason.AWAITING_ROOM:
            return "workers"
        case Reason.BEHIND_RESERVATION:
            return "reservation"
        case Reason.TOPOLOGY_PLACEMENT_FAILED:
            return "topology"
        case Reason.SHARED_DEVICES_ONLY:
            return "shared-devices"
        case _:
            return ""


def _unpinned(job: Job) -> str:
    """Return why pods were released without a pin; empty if none was."""
    causes = {cause for member in job.having(State.LOOSE) for cause in member.shape.unmodelled}
    if not causes:
        return ""
    return f"released without a pin, kube-scheduler chooses the nodes: {', '.join(sorted(causes))}"


def _of_nodes(s: Scenario, before: Preconditions, state: QueueState) -> _Findings:
    """Return how the nodes fit the job once it is corrected, and all the changes."""
    corrected = before.corrections[-1].after if before.corrections else s
    table = corrected.node_table
    found = verdicts.judge(corrected.groups, table)
    trials, fits = Trials(corrected), corrected.fits
    needs = max(1, planner.missing(corrected.job))
    cause = ""
    short: Mapping[str, int] = {}
    if fits < needs:
        cause = verdicts.deciding_cause(found) or verdicts.scarcest_resource(found)
        short = verdicts.shortage(verdicts.judge(corrected.with_least_members().groups, table))
    return _Findings(
        needs=needs,
        fits=fits,
        cause=cause,
        short=short,
        tried=tuple(verdicts.tried(verdict) for verdict in found),
        changes=changes.changes(s, before, trials, state),
    )


def _of_other_scheduler(session: ExplainSession, pod: Pod, key: JobKey) -> _Findings:
    """Return what keeps a waiting pod of another scheduler: its ``schedulerName``, and more."""
    ours = session.parameters.scheduler_name
    if pod.scheduler_name == ours or pod.node_name or pod.finished:
        return _Findings()
    pods = tuple(
        changed(other, scheduler_name=ours)
        for _, other in sorted(session.snapshot.pods.items())
        if other.scheduler_name == pod.scheduler_name and registry.job_key(other) == key
    )
    jobs = {**session.snapshot.jobs, key: pods}
    snapshot = replace(session.snapshot, jobs=jobs, cache=Cache())
    findings = _findings(replace(session, snapshot=snapshot), job_views.view(snapshot, key))
    step = Step(
        kind=StepKind.SET_SCHEDULER,
        subject=key,
        field="schedulerName",
        before=pod.scheduler_name,
        after=ours,
    )
    text = f"set schedulerName to {ours} (now {pod.scheduler_name})"
    offered: tuple[Change, ...] = (Change(kind=step.kind, says=text, steps=(step,)),)
    if findings.reason:
        offered = tuple(
            changed(c, steps=(step, *c.steps), says=f"{text}, and then {c.says}")
            for c in findings.changes
        )
    return replace(findings, reason=None, message="", cause="scheduler", changes=offered)


def _scenario(session: ExplainSession, job: Job) -> Scenario:
    """Return the job with the nodes that the queue would give it."""
    snapshot = session.snapshot
    arrivals = migrations.replacements_by_job(snapshot).get(job.key, migrations.NO_REPLACEMENTS)
    table = snapshot.node_table
    if arrivals.targets:
        table = migrations.without_reservations(table, arrivals.reserved)
    else:
        table = slot_gate.open_to(job, table, snapshot, session.parameters)
    if (head := _head(session, job)) is not None:
        table = backfill.open_nodes(head, table)
    held = arrivals.held
    if unfenced_copies(session, job):
        held |= {member.pod.uid for member in job.having(*UNPLANNED_STATES)}
    queued = as_queued(migrations.with_held(job, held))
    return Scenario(session, queued, table, arrivals.targets)


def _head(session: ExplainSession, job: Job) -> HeadReservation | None:
    """Return the reservation that this job must respect; None if there is none."""
    head = session.cycle.backfill_head if session.cycle else None
    if head is None or head.job == job.key:
        return None
    if [n.name for n in head.after.nodes] != [n.name for n in session.snapshot.node_table.nodes]:
        return None  # the nodes have changed: the next pass reserves anew
    lasts = running_jobs.lasts(job, session, session.state)
    return None if backfill.gone_in_time(head, session.now, lasts) else head


def _entry(session: ExplainSession, key: JobKey) -> QueueEntry | None:
    entries = session.cycle.entries if session.cycle else ()
    return next((entry for entry in entries if entry.job.key == key), None)


def _again_at(session: ExplainSession, key: JobKey) -> float | None:
    """Return when the back-off of a job ends, seconds since the epoch; None without one."""
    backoff = session.state.backoff.get(key)
    left = backoff.until - session.monotonic if backoff else 0.0
    return session.now + left if left > 0 else None


def _old_pods(session: Session, job: Job) -> tuple[PodKey, ...]:
    """Return the job's migrated, replaced or lost pods that still exist."""
    snapshot, key = session.snapshot, job.key
    moved = (
        PodKey(f"{migration.namespace}/{member.pod}")
        for _, migration in sorted(snapshot.migrations.items())
        if migration.job == key
        for member in migration.members
        if not migrations.has_left(snapshot, migration, member)
    )
    replaced = replacements.awaited_by(snapshot, snapshot.jobs.get(key, ()))
    return tuple(dict.fromkeys((*moved, *replaced, *unfenced_copies(session, job))))
