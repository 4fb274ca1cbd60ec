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
from extender.core.nodes.goods import goods
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import order, weighting
from extender.core.queue.weighting import Weight
from extender.core.records.elastic_workers import elastic_owner
from shared.model import JobKey, NodeName, Pod, PodShape, Uid

_ON_THE_WAY: Final = (State.RESERVED, State.LOOSE)
_UNPLACED: Final = (*_ON_THE_WAY, State.GATED, State.HELD, State.DIRECT, State.IN_TREE)


@dataclass(frozen=True)
class Pace:
    """How a job trains: its speed, steps left, seconds of a pause; None: not known."""

    speed: Speed | None = None
    left: float | None = None
    pause_seconds: float = Elastic.pause_seconds


@dataclass(frozen=True, kw_only=True)
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
    """Return a job that runs with as many workers as its owner asks for; None if it does not.

    Workers that wait for room must be the first to leave, else the order of leaving is not known.
    """
    job = job_views.view(snapshot, key)
    owned, span = elastic_owner(snapshot, job), job.spec.workers
    if owned is None or span is None or owned.count.count != len(owned.workers):
        return None
    bound = tuple(m for m in owned.workers if m.state is State.BOUND)
    surplus = len(owned.workers) - len(bound)
    if not bound or any(m.state is State.BOUND for m in owned.workers[:surplus]):
        return None
    workers = {m.pod.uid for m in owned.workers}
    others = tuple(m for m in job.having(State.BOUND) if m.pod.uid not in workers)
    awaited = any(m.pod.uid not in workers for m in job.having(*_UNPLACED))
    least = _least(job, span, len(others))
    if least > len(bound) or awaited:
        return None
    return ElasticJob(
        job=job,
        workers=bound,
        others=others,
        least=least,
        most=max(span.most, len(bound)),
        surplus=surplus,
        newcomer=pod_shape.own_shape(snapshot, bound[0].pod),
    )


def running(
    elastic_job: ElasticJob, weight: Weight, pace: Pace, *, may_shrink: bool, may_grow: bool
) -> Running:
    """Return a job as the rule sees it.

    Args:
        elastic_job: The job.
        weight: Its place in the order.
        pace: How it trains.
        may_shrink: It can give up workers now.
        may_grow: It can get some.
    """
    bound, others, number = elastic_job.workers, elastic_job.others, elastic_job.number
    elastic = _elastic(
        elastic_job.job,
        weight,
        least=elastic_job.least if may_shrink else number,
        most=elastic_job.most if may_grow else number,
        worker=replace(elastic_job.newcomer, requests=_requests(m.shape for m in bound)),
        others=others,
        pace=pace,
    )
    workers = tuple(Worker(m.pod.uid, m.node) for m in bound if m.node is not None)
    return Running(elastic, workers, tuple(m.node for m in others if m.node is not None))


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
    span = job.spec.workers or WorkerRange(needed, len(workers))
    least = _least(job, span, len(others))
    wanted = min(len(workers), span.most)
    if wanted < least:
        return None
    elastic = _elastic(
        job,
        weight,
        least=least,
        most=max(wanted, span.most),
        worker=replace(workers[0].shape, requests=_requests(m.shape for m in workers)),
        others=others,
        pace=Pace(),
    )
    could_start = max(m.pod.created_at for m in waiting)
    return Candidate(elastic, wanted, max(0.0, now - could_start))


def split(members: Sequence[Member]) -> tuple[list[Member], list[Member]]:
    """Return the workers among the members, and the others."""
    roles = worker_roles(m.role for m in members)
    workers = [m for m in members if m.role in roles]
    return workers, [m for m in members if m.role not in roles]


def weigher(snapshot: Snapshot, params: CoreParameters) -> Callable[[Job], Weight]:
    """Return what gives a job's key in the order ``weighting``, whatever order the queue has."""
    counted = goods(snapshot.node_table, params.job_size)
    capacity = order.capacity(counted)

    def weight(job: Job) -> Weight:
        user, _ = order.user_priority(job.namespace, snapshot, _default(params))
        (own,) = weighting.weights([order.weighed(job, user, counted)], capacity, params.weighting)
        return own

    return weight


def most_important(
    snapshot: Snapshot, beside: Collection[JobKey], params: CoreParameters
) -> Running | None:
    """Return the most important of the other running jobs, which do not change; None: none runs.

    Only its utility counts: a job that takes workers must be more important than all that run.
    """
    user: dict[str, int] = {}
    best: tuple[int, JobKey, Pod, NodeName] | None = None
    for key, pods in sorted(snapshot.jobs.items()):
        placed = _placed_pod(snapshot, pods)
        if placed is None or key in beside:
            continue
        namespace = key.partition("/")[0]
        if namespace not in user:
            user[namespace] = order.user_priority(namespace, snapshot, _default(params))[0]
        of = params.weighting
        value = max(pod.priority for pod in pods)
        utility = of.class_weight * value + of.user_weight * user[namespace]
        if best is None or utility > best[0]:
            best = (utility, key, *placed)
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


def _least(job: Job, span: WorkerRange, others: int) -> int:
    return max(span.least, (job.min_available or 0) - others)


def _elastic(
    job: Job,
    weight: Weight,
    *,
    least: int,
    most: int,
    worker: PodShape,
    others: Sequence[Member],
    pace: Pace,
) -> Elastic:
    server = None
    if others:
        server = replace(others[0].shape, requests=_requests(m.shape for m in others))
    return Elastic(
        weight=weight,
        created_at=job.created_at,
        uid=Uid(job.about.uid),
        least=least,
        most=most,
        worker=worker,
        server=server,
        servers=len(others),
        speed=pace.speed,
        left=pace.left,
        pause_seconds=pace.pause_seconds,
    )


def _requests(shapes: Iterable[PodShape]) -> tuple[tuple[str, int], ...]:
    """Return the least that any of the shapes requests: any of them frees as much."""
    least, *others = (dict(shape.requests) for shape in shapes)
    for other in others:
        least = {name: min(amount, other.get(name, 0)) for name, amount in least.items()}
    return tuple(sorted((name, amount) for name, amount in least.items() if amount))


def _default(params: CoreParameters) -> int:
    return params.priority.default_user_priority
