"""The jobs of a snapshot in the terms of the rule ``scaling``.

A running job counts with its bound workers; workers that wait for room leave before them. A job
whose number of workers must not change now has that number as least and most.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from extender.core.cluster import job_views, pod_shape
from extender.core.cluster.job_spec import WorkerRange
from extender.core.cluster.jobs import UNPLANNED_STATES, Job, Member, State, in_order
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import worker_roles
from extender.core.elastic.scaling_values import Candidate, Elastic, Running, Worker
from extender.core.elastic.speed import Speed
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import order, weighting
from extender.core.queue.weighting import Weight
from extender.core.records.elastic_workers import elastic_owner
from shared.model import JobKey, NodeName, Pod, PodShape, Uid

_ON_THE_WAY: Final = (State.RESERVED, State.LOOSE)
_UNPLACED: Final = (*_ON_THE_WAY, State.GATED, State.HELD, State.DIRECT, State.IN_TREE)


@dataclass(frozen=True)
class Pace:
    """What is known of a job's training: its speed, steps that are left, seconds of a pause."""

    speed: Speed | None = None
    left: float | None = None
    pause_seconds: float = Elastic.pause_seconds


@dataclass(frozen=True)
class ElasticJob:
    """A job that runs and can change.

    Attributes:
        job: The job.
        workers: Those that are bound, in the order in which the owner removes them.
        others: Its other pods that are bound.
        least: Fewest workers it may have: those that its gang needs counted.
        most: Most workers it may have.
        surplus: How many workers wait for room; they leave first.
        newcomer: What one worker more would ask for.
    """

    job: Job
    workers: tuple[Member, ...]
    others: tuple[Member, ...]
    least: int
    most: int
    surplus: int
    newcomer: PodShape

    @property
    def number(self) -> int:
        """How many workers run."""
        return len(self.workers)


def elastic_job(snapshot: Snapshot, key: JobKey) -> ElasticJob | None:
    """Return a job that runs with as many workers as its owner wants; None if it does not.

    Workers that wait for room must be those that leave first, or nobody knows who would leave.
    """
    job = job_views.view(snapshot, key)
    found = elastic_owner(snapshot, job)
    wished = job.spec.workers
    if found is None or wished is None or found.count.count != len(found.workers):
        return None
    bound = tuple(m for m in found.workers if m.state is State.BOUND)
    surplus = len(found.workers) - len(bound)
    if not bound or any(m.state is State.BOUND for m in found.workers[:surplus]):
        return None
    mine = {m.pod.uid for m in found.workers}
    others = tuple(m for m in job.having(State.BOUND) if m.pod.uid not in mine)
    awaited = any(m.pod.uid not in mine for m in job.having(*_UNPLACED))
    least = _least(job, wished, len(others))
    if least > len(bound) or awaited:
        return None
    most = max(wished.most, len(bound))
    newcomer = pod_shape.own_shape(snapshot, bound[0].pod)
    return ElasticJob(job, bound, others, least, most, surplus, newcomer)


def running(
    one: ElasticJob, weight: Weight, pace: Pace, *, may_shrink: bool, may_grow: bool
) -> Running:
    """Return a job as the rule sees it.

    Args:
        one: The job.
        weight: Its place in the order.
        pace: How it trains.
        may_shrink: Whether it can give up workers now.
        may_grow: Whether it can get some.
    """
    number = one.number
    elastic = _elastic(
        one.job,
        weight,
        WorkerRange(one.least if may_shrink else number, one.most if may_grow else number),
        replace(one.newcomer, requests=_requests(m.shape for m in one.workers)),
        one.others,
        pace,
    )
    workers = tuple(Worker(m.pod.uid, m.node) for m in one.workers if m.node is not None)
    return Running(elastic, workers, tuple(m.node for m in one.others if m.node is not None))


def candidate(job: Job, weight: Weight, now: float) -> Candidate | None:
    """Return a whole job that waits; None if it has members already, or cannot be planned.

    ``now`` is in seconds since the epoch.
    """
    if job.placed or job.kept or job.having(State.BOUND, *_ON_THE_WAY):
        return None
    waiting = in_order(job.having(*UNPLANNED_STATES))
    workers, others = split(waiting)
    if not workers or any(m.shape.unmodelled for m in waiting):
        return None
    needed = max(1, (job.min_available or 0) - len(others))
    wished = job.spec.workers or WorkerRange(needed, len(workers))
    least = _least(job, wished, len(others))
    wanted = min(len(workers), wished.most)
    if wanted < least:
        return None
    span = WorkerRange(least, max(wanted, wished.most))
    shape = replace(workers[0].shape, requests=_requests(m.shape for m in workers))
    elastic = _elastic(job, weight, span, shape, others, Pace())
    could_start = max(m.pod.created_at for m in waiting)
    return Candidate(elastic, wanted, max(0.0, now - could_start))


def split(members: Sequence[Member]) -> tuple[list[Member], list[Member]]:
    """Return the workers among the members, and the others."""
    roles = worker_roles(m.role for m in members)
    workers = [m for m in members if m.role in roles]
    return workers, [m for m in members if m.role not in roles]


def weigher(snapshot: Snapshot, params: CoreParameters) -> Callable[[Job], Weight]:
    """Return what gives a job's key in the order ``weighting``, whatever order the queue has."""
    capacity = order.capacity(snapshot.node_table)

    def weight(job: Job) -> Weight:
        user, _ = order.user_priority(job.namespace, snapshot, _default(params))
        (found,) = weighting.weights([order.weighed(job, user)], capacity, params.weighting)
        return found

    return weight


def most_important(
    snapshot: Snapshot, beside: Collection[JobKey], params: CoreParameters
) -> Running | None:
    """Return the most important of the other jobs that run, which nobody changes; None: none runs.

    It is there for its utility alone: who is to take workers must be more important than all.
    """
    user: dict[str, int] = {}
    best: tuple[int, JobKey, Pod, NodeName] | None = None
    for key, pods in sorted(snapshot.jobs.items()):
        here = _placed_pod(snapshot, pods)
        if here is None or key in beside:
            continue
        namespace = key.partition("/")[0]
        if namespace not in user:
            user[namespace] = order.user_priority(namespace, snapshot, _default(params))[0]
        of = params.weighting
        value = max(pod.priority for pod in pods)
        utility = of.class_weight * value + of.user_weight * user[namespace]
        if best is None or utility > best[0]:
            best = (utility, key, *here)
    return None if best is None else _fixed(*best)


def _fixed(utility: int, key: JobKey, pod: Pod, node: NodeName) -> Running:
    weight_of = Weight(key, utility, 0.0, 0.0, 0.0)
    elastic = Elastic(weight_of, pod.created_at, pod.uid, least=1, most=1, worker=pod.shape)
    return Running(elastic, (Worker(pod.uid, node),))


def _placed_pod(snapshot: Snapshot, pods: Sequence[Pod]) -> tuple[Pod, NodeName] | None:
    for pod in pods:
        if pod.finished or pod.deleting:
            continue
        reservation = snapshot.reservations.get(pod.uid)
        node = snapshot.bound.get(pod.uid) or (reservation.node if reservation else None)
        if node is not None:
            return pod, node
    return None


def _least(job: Job, wished: WorkerRange, others: int) -> int:
    return max(wished.least, (job.min_available or 0) - others)


def _elastic(
    job: Job,
    weight_of: Weight,
    span: WorkerRange,
    worker: PodShape,
    others: Sequence[Member],
    pace: Pace,
) -> Elastic:
    server = None
    if others:
        server = replace(others[0].shape, requests=_requests(m.shape for m in others))
    return Elastic(
        weight=weight_of,
        created_at=job.created_at,
        uid=Uid(job.about.uid),
        least=span.least,
        most=span.most,
        worker=worker,
        server=server,
        servers=len(others),
        speed=pace.speed,
        left=pace.left,
        pause_seconds=pace.pause_seconds,
    )


def _requests(shapes: Iterable[PodShape]) -> tuple[tuple[str, int], ...]:
    """Return what each of the shapes asks for at least: what surely comes free with one."""
    first, *rest = (dict(shape.requests) for shape in shapes)
    for asked in rest:
        first = {name: min(amount, asked.get(name, 0)) for name, amount in first.items()}
    return tuple(sorted((name, amount) for name, amount in first.items() if amount))


def _default(params: CoreParameters) -> int:
    return params.priority.default_user_priority
