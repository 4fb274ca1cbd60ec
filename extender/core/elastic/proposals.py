"""Changes of workers to propose: by slot plans first, then by DRS for jobs without one.

A slot plan sets how many workers an admitted job should have in the present slot.

DRS (docs/policies/scaling.md) works on one snapshot:

1. Jobs that wait for room are those of a queue pass over the same snapshot.
2. The starter is the first of them that fits once other jobs give up workers: all of these shrink
   together, and there is no second starter until they have. While the queue has a backfill head,
   only the head can be the starter.
3. Without a starter, jobs lose workers that slow them, or grow into room that the queue leaves.

Growth counts only workers that the planner can place: the rule ``scaling`` knows nodes and amounts,
but neither topology, relations between roles, nor the shares of namespaces. While the speed of a
job is being measured, it gets one worker at a time, so that the speed is known soon.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec.structs import replace as changed

from extender.core.cluster import job_views
from extender.core.cluster.jobs import UNPLANNED_STATES, Job, Member, State, in_order
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import worker_count
from extender.core.elastic import elastic_jobs, scaling
from extender.core.elastic.elastic_jobs import ElasticJob, Pace
from extender.core.elastic.inputs import ElasticSession, elastic_session
from extender.core.elastic.measured_speeds import SpeedMemory
from extender.core.elastic.scaling_values import Addition, Candidate, Removal, Running, ScalingPlan
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.planner import Refusal
from extender.core.queue import backfill, namespace_shares
from extender.core.queue.namespace_shares import Shares
from extender.core.records import slot_plan
from extender.core.records.elastic_workers import elastic_owner, starters
from extender.core.records.rescale import Cause, Proposal
from extender.core.records.slot_plan import OwnedPlan, plans_by_job
from shared.model import JobKey, Uid

_PLACED = (State.BOUND, State.RESERVED, State.LOOSE)


def slot_plan_proposals(session: Session) -> tuple[Proposal, ...]:
    """Return what is to change in the present slot, in order of the jobs' names.

    A job whose plan is over or empty stays as it is: a late job is never stopped. A job that waits
    for its slot with its pods gated stays as it is too: it takes no room.
    """
    snapshot, params = session.snapshot, session.parameters.slot_time
    if not params.enabled:
        return ()
    slot = slot_plan.slot_at(session.now, params.slot_seconds)
    proposed = []
    for key, owned in sorted(plans_by_job(snapshot).items()):
        if owned.plan.slot_seconds != params.slot_seconds:
            continue
        to = _target_workers(snapshot, owned, slot)
        if to is not None:
            proposed.append(Proposal(key, to, Cause.SLOT))
    return tuple(proposed)


def _target_workers(snapshot: Snapshot, owned: OwnedPlan, slot: int) -> int | None:
    """Return the number of workers that a job should get; None if it is to stay as it is."""
    plan, key = owned.plan, owned.plan.job
    if not plan.spans or slot > plan.completion:
        return None
    target = plan.workers_at(slot)
    job = job_views.view(snapshot, key) if key in snapshot.jobs else None
    placed = job is not None and bool(job.having(*_PLACED))
    if target == 0:
        return 0 if placed and plan.request.pauses else None
    if job is not None and all(m.state in {State.SUCCEEDED, State.FAILED} for m in job.members):
        return None
    now = _workers(snapshot, owned)
    if now is None or now == target or (now > 0 and plan.request.least == plan.request.most):
        return None
    return None if target < now and placed and not plan.request.shrinks else target


def _workers(snapshot: Snapshot, owned: OwnedPlan) -> int | None:
    """Return the owner's number of workers; None if it has none."""
    job = job_views.view(snapshot, owned.plan.job) if owned.plan.job in snapshot.jobs else None
    if owned.owner.suspended:
        return 0
    elastic = None if job is None else elastic_owner(snapshot, job)
    count = worker_count(owned.owner) if elastic is None else elastic.count
    return None if count is None else count.count


def proposals(session: Session, speeds: SpeedMemory) -> tuple[Proposal, ...]:
    """Return what should change now, what matters most in front."""
    return (*slot_plan_proposals(session), *drs_proposals(session, speeds))


def reserved(
    snapshot: Snapshot,
    requests: Sequence[tuple[ElasticJob, int]],
    room: NodeTable,
    params: CoreParameters,
) -> Mapping[JobKey, int]:
    """Return how many workers more each job can have, the first job first.

    Args:
        snapshot: The cluster, for the holdings of namespaces.
        requests: Jobs, each with the most workers it should get.
        room: The free amounts, less those that other jobs are to have.
        params: Of the planner.
    """
    shares = namespace_shares.shares(snapshot, params)
    counts: dict[JobKey, int] = {}
    for elastic_job, most in requests:
        count, room = _reserved(elastic_job, most, room, params, shares)
        if count:
            counts[elastic_job.job.key] = count
    return counts


def _reserved(
    elastic_job: ElasticJob, most: int, room: NodeTable, params: CoreParameters, shares: Shares
) -> tuple[int, NodeTable]:
    """Return how many of the newcomers find reservations, and the room with them."""
    for count in range(_allowed(elastic_job, most, shares), 0, -1):
        come = newcomers(elastic_job, count)
        result = planner.place_members(elastic_job.job, come, room, params)
        if not isinstance(result, Unschedulable):
            reservations = [(m.shape, room.index[result.nodes[m.pod.uid]]) for m in come]
            shares.take(elastic_job.job, reservations)
            return count, result.node_table
    return 0, room


def _allowed(elastic_job: ElasticJob, most: int, shares: Shares) -> int:
    """Return how many of the newcomers the namespace may have."""
    come = newcomers(elastic_job, most)
    within = shares.within(replace(elastic_job.job, members=(*elastic_job.job.members, *come)))
    if isinstance(within, Refusal):
        return 0
    names = {m.pod.uid for m in come}
    return sum(m.pod.uid in names for m in within.members)


def newcomers(elastic_job: ElasticJob, count: int) -> tuple[Member, ...]:
    """Return so many workers as the owner would make them, ranked behind all others."""
    like = elastic_job.workers[0]
    first = _last_rank(elastic_job.job) + 1
    return tuple(
        replace(
            like,
            pod=changed(like.pod, uid=Uid(f"{like.pod.uid}/{i}"), name=f"{like.pod.name}/{i}"),
            index=first + i,
            state=State.GATED,
            node=None,
            shape=elastic_job.newcomer,
        )
        for i in range(count)
    )


def _last_rank(job: Job) -> int:
    return max(m.rank for m in job.members)


_ANY_JOB: Final = JobKey("any")


def drs_proposals(session: Session, speeds: SpeedMemory) -> tuple[Proposal, ...]:
    """Return which jobs should have more workers, or fewer; the same arguments, the same answer.

    Args:
        session: With the state of the queue: a queue pass from it yields the waiting jobs.
        speeds: Speeds of jobs so far (``measured_speeds.learned``).
    """
    if not session.parameters.rescaling.enabled:
        return ()
    inputs = elastic_session(session, speeds)
    return () if inputs is None else _starting(inputs) or _settling(inputs)


def placed(job: Job, workers: int, room: NodeTable, params: CoreParameters) -> Placement | None:
    """Place so many workers of a waiting job, and all its other pods."""
    members = in_order(job.having(*UNPLANNED_STATES))
    of_workers, others = elastic_jobs.split(members)
    result = planner.place_members(job, [*others, *of_workers[:workers]], room, params)
    return None if isinstance(result, Unschedulable) else result


def _starting(inputs: ElasticSession) -> tuple[Proposal, ...]:
    """Propose the jobs that shrink for the first job that then starts."""
    awaited = starters(inputs.session.snapshot, inputs.session.now)
    if not inputs.waiting or not inputs.waiting.keys().isdisjoint(awaited):
        return ()
    runs = [
        _running(inputs, key, may_shrink=inputs.may(key, one.least, Cause.STARVING, _ANY_JOB))
        for key, one in inputs.jobs.items()
    ]
    plan = _decided(inputs, runs, inputs.waiting.values(), inputs.node_table)
    return _removed(inputs, [one for one in plan.removals if one.starts is not None])


def _settling(inputs: ElasticSession) -> tuple[Proposal, ...]:
    """Propose jobs that lose workers that slow them, and jobs that grow."""
    runs = [
        _running(
            inputs,
            key,
            paced=True,
            may_shrink=inputs.may(key, one.least, Cause.SLOWS),
            may_grow=not one.surplus and inputs.may(key, one.most, Cause.ROOM_LEFT),
        )
        for key, one in inputs.jobs.items()
    ]
    head = inputs.cycle.backfill_head
    room = inputs.node_table if head is None else backfill.open_nodes(head, inputs.node_table)
    first = list(inputs.waiting.values())[:1] if inputs.session.parameters.scaling.reserve else []
    plan = _decided(inputs, runs, first, room)
    if plan.starts:  # jobs that are to start come first
        return ()
    return (*_removed(inputs, plan.removals), *_added(inputs, plan.additions, room))


def _running(
    inputs: ElasticSession,
    key: JobKey,
    *,
    may_shrink: bool,
    may_grow: bool = False,
    paced: bool = False,
) -> Running:
    elastic_job = inputs.jobs[key]
    return elastic_jobs.running(
        elastic_job,
        inputs.weights[key],
        inputs.paces[key] if paced else Pace(),
        may_shrink=may_shrink,
        may_grow=may_grow,
    )


def _decided(
    inputs: ElasticSession,
    runs: Sequence[Running],
    waiting: Iterable[tuple[Job, Candidate]],
    room: NodeTable,
) -> ScalingPlan:
    def place(key: JobKey, workers: int, free: NodeTable) -> Placement | None:
        if free is room:
            return None  # the queue has just refused it
        return placed(inputs.waiting[key][0], workers, free, inputs.session.parameters)

    running = [*runs, inputs.fixed] if inputs.fixed else list(runs)
    candidates = [one for _, one in waiting]
    params = inputs.session.parameters.scaling
    return scaling.decide(running, candidates, room, place, params, most_starts=1)


def _removed(inputs: ElasticSession, removals: Iterable[Removal]) -> tuple[Proposal, ...]:
    """Return one proposal for each job: how many workers it keeps."""
    by_job: dict[JobKey, list[Removal]] = {}
    for removal in removals:
        by_job.setdefault(removal.job, []).append(removal)
    return tuple(
        Proposal(
            job=key,
            to=inputs.jobs[key].number - len(own),
            cause=Cause(own[0].why.value),
            starts=own[0].starts,
            saved_seconds=_saved(own),
        )
        for key, own in by_job.items()
    )


def _added(
    inputs: ElasticSession, additions: Sequence[Addition], room: NodeTable
) -> Iterable[Proposal]:
    """Yield one proposal a job: how many workers it gets of those that find room."""
    counts = Counter(one.job for one in additions)  # in the order in which they were first given
    requests = [(inputs.jobs[key], _step(inputs, key, count)) for key, count in counts.items()]
    granted = reserved(inputs.session.snapshot, requests, room, inputs.session.parameters)
    for key, count in granted.items():
        own = [addition for addition in additions if addition.job == key][:count]
        to = inputs.jobs[key].number + count
        yield Proposal(key, to, Cause(own[0].why.value), saved_seconds=_saved(own))


def _step(inputs: ElasticSession, key: JobKey, count: int) -> int:
    """Return how many workers a job may get at once: one while its speed is being measured."""
    pace = inputs.paces[key]
    measuring = (
        inputs.session.parameters.scaling.marginal_gain
        and pace.speed is None
        and pace.left is not None
    )
    return min(count, 1) if measuring else count


def _saved(changes: Sequence[Removal] | Sequence[Addition]) -> float | None:
    saved = [c.saved_seconds for c in changes if c.saved_seconds is not None]
    return sum(saved) if saved else None
