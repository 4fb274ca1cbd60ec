"""The cluster shared among namespaces: entitlements, what each holds, and whose turn it is.

Entitlements are annotations of Namespaces and their ResourceQuotas. A namespace holds what the pods
of our scheduler request that are bound or released, those that are being deleted too, and what is
kept for members of gangs that do not exist yet. Pods of other schedulers count for no namespace.
Jobs placed in a pass count at once (``fair_share``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeVar

import numpy as np

from extender.core.cluster import pod_shape
from extender.core.cluster.jobs import UNPLANNED_STATES, Job, State, in_order
from extender.core.cluster.reasons import Reason
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.goods import dominant_share, goods
from extender.core.nodes.node_table import IntVector, NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Refusal
from extender.core.queue import fair_share
from extender.core.queue.backfill import RunningJob
from extender.core.queue.fair_share import Entitlement, Turn
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Pod, PodShape
from shared.parameters import bounds

_BOUNDS: Final = bounds(Entitlement)
_NUMBER: Final = re.compile(r"[0-9]{1,4}(\.[0-9]{1,9})?")


def entitlement(namespace: str, snapshot: Snapshot) -> tuple[Entitlement, str]:
    """Return what a namespace may expect and, if annotations cannot be used, what is wrong.

    The Namespace's annotation wins over those of its ResourceQuotas, of which the largest weight
    and guarantee count, and the smallest limit.
    """
    reads = (
        _read(labels.WEIGHT, "weight", max, namespace, snapshot),
        _read(labels.GUARANTEED_SHARE, "guaranteed", max, namespace, snapshot),
        _read(labels.BORROWING_LIMIT, "borrowing", min, namespace, snapshot),
    )
    numbers = {name: value for name, value, _ in reads if value is not None}
    problems = "; ".join(problem for *_, problem in reads if problem)
    return Entitlement(**numbers), problems


def stated(namespace: str, key: str, snapshot: Snapshot) -> list[str]:
    """Return the values of an annotation: the Namespace's, else one of each of its quotas."""
    entity = snapshot.namespaces.get(namespace)
    text = entity.annotations.get(key) if entity else None
    if text:
        return [text]
    quotas = (quota.annotations.get(key) for quota in snapshot.quotas.get(namespace, ()))
    return [text for text in quotas if text is not None]


def _read(
    key: str,
    name: str,
    choose: Callable[[Iterable[float]], float],
    namespace: str,
    snapshot: Snapshot,
) -> tuple[str, float | None, str]:
    """Return the name, the number if one is stated, and what is wrong."""
    least, most = _BOUNDS[name]
    texts = stated(namespace, key, snapshot)
    numbers = [(text, float(text)) for text in texts if _NUMBER.fullmatch(text)]
    good = {text: number for text, number in numbers if least <= number <= most}
    bad = next((text for text in texts if text not in good), None)
    problem = ""
    if bad is not None:
        field = f"annotation {key} of namespace {namespace}"
        problem = str(InputError(field, bad, f"a number from {least:g} to {most:g}"))
    return name, choose(good.values()) if good else None, problem


def by_job(snapshot: Snapshot, namespace: str = "") -> Iterator[tuple[JobKey, list[PodShape]]]:
    """Yield each job that holds something, with the shapes of what counts for its namespace.

    With ``namespace`` only those of that one.
    """
    for key, pods in snapshot.jobs.items():
        if namespace and not key.startswith(f"{namespace}/"):
            continue
        shapes = [pod_shape.with_devices(snapshot, pod) for pod in pods if _counts(pod, snapshot)]
        if (kept := snapshot.placeholders.get(key)) is not None:
            shapes += [placeholder.shape for placeholder in kept.placeholders]
        if shapes:
            yield key, shapes


def total(shapes: Iterable[PodShape], table: NodeTable) -> IntVector:
    """Return what shapes request together, by resource."""
    demands, amounts = Demands(table), np.zeros(len(table.resources), dtype=np.int64)
    for shape in shapes:
        amounts += demands.of(shape)
    return amounts


class Demands:
    """What shapes request; by identity, since hashing a shape costs more than all else.

    Args:
        table: The nodes.
        counted: What amounts by resource are returned as; None: as they are.
    """

    def __init__(
        self, table: NodeTable, counted: Callable[[IntVector], IntVector] | None = None
    ) -> None:
        self._room, self._counted = table, counted
        self._known: dict[int, tuple[PodShape, IntVector]] = {}

    def of(self, shape: PodShape) -> IntVector:
        """Return the demand of one shape; callers must not write to it."""
        demand = self._known.get(id(shape))
        if demand is None:
            amounts = self._room.demand(shape)
            counted = amounts if self._counted is None else self._counted(amounts)
            demand = self._known[id(shape)] = (shape, counted)
        return demand[1]


def _counts(pod: Pod, snapshot: Snapshot) -> bool:
    """Return True if a pod is bound, or released and not bound yet."""
    if pod.finished:
        return False
    if pod.uid in snapshot.bound or pod.uid in snapshot.reservations:
        return True
    loose = labels.PLAN in pod.annotations and not pod.gates
    return loose and not pod.deleting


class Ranked(Protocol):
    """What has its place in the order of jobs."""

    @property
    def job(self) -> Job:
        """The job."""
        ...


R = TypeVar("R", bound=Ranked)


Held = Mapping[str, Iterable[PodShape]]
"""Shapes of the pods of each namespace."""


class Shares:
    """What each namespace holds. Mutable; it belongs to one pass or projection.

    Args:
        held: What each holds at the beginning; not read where fair share is off.
        snapshot: What namespaces may expect, and how large the cluster is.
        params: See there.
    """

    def __init__(self, held: Held, snapshot: Snapshot, params: CoreParameters) -> None:
        self._snapshot, self._params = snapshot, params.fair_share
        counted = goods(snapshot.node_table, params.job_size)
        self._capacity = counted.capacity
        self._demands = Demands(snapshot.node_table, counted.of)
        self._entitled: dict[str, Entitlement] = {}
        self._held: dict[str, IntVector] = {}
        self._kept_for: dict[str, JobKey] = {}
        if self._params.enabled:
            for namespace, shapes in held.items():
                self._add(namespace, shapes)

    def in_turn(self, ranked: Sequence[R]) -> Iterable[R]:
        """Return the jobs in the order in which they have their turns; to be gone through once."""
        if not self._params.enabled:
            return ranked
        return fair_share.in_turn(((place.job.namespace, place) for place in ranked), self._turn)

    def take(self, job: Job, pods: Iterable[tuple[PodShape, int]]) -> None:
        """Count what a job was given."""
        if self._params.enabled:
            self._add(job.namespace, (shape for shape, _ in pods))

    def begin(self) -> None:
        """Begin another row of turns: nothing is kept for a job."""
        self._kept_for.clear()

    def leave(self, running: RunningJob) -> None:
        """Count no more what a job held that has ended."""
        namespace = running.job.partition("/")[0]
        gone = (self._demands.of(shape) for shape, _ in running.pods)
        self._held[namespace] = sum((-amounts for amounts in gone), self._holds(namespace))

    def keep_for(self, job: Job, refusal: Refusal) -> None:
        """Leave the rest of its namespace's quota to a job whose maximum wait is over.

        Only if that is what it waits for; otherwise the smaller jobs of its namespace would always
        take it first.
        """
        if refusal.reason is Reason.WAITING_FOR_QUOTA:
            self._kept_for.setdefault(job.namespace, job.key)

    def within(self, job: Job) -> Job | Refusal:
        """Return the job with as many waiting members as its namespace may hold, or why with none.

        A gang that has members and lacks some is completed whatever its namespace holds.
        """
        entitled = self._entitlement(job.namespace)
        if not self._params.enabled or entitled.borrowing is None:
            return job
        waiting = in_order(job.having(*UNPLANNED_STATES))
        needed = planner.missing(job)
        plannable = job.min_available is not None and not job.problem
        if not plannable or not waiting or len(waiting) < needed:
            return job  # the planner refuses it with a reason
        demands = [self._demands.of(member.shape) for member in waiting]
        held = self._holds(job.namespace)
        count = fair_share.most_within(entitled, held, demands, self._capacity)
        if needed and _has_members(job):
            count = max(count, needed)
        elif self._kept_for.get(job.namespace, job.key) != job.key:
            return _refused(Reason.BEHIND_RESERVATION)
        if count < max(1, needed):
            nothing = np.zeros_like(held)
            alone = fair_share.most_within(entitled, nothing, demands, self._capacity)
            never = alone < max(1, needed) and not _has_members(job)
            return _refused(Reason.EXCEEDS_MAX_QUOTA if never else Reason.WAITING_FOR_QUOTA)
        gone = {member.pod.uid for member in waiting[count:]}
        if not gone:
            return job
        return replace(job, members=tuple(m for m in job.members if m.pod.uid not in gone))

    def share_with(self, job: Job) -> float:
        """Return the dominant share of its namespace if it had the job's whole gang too."""
        return dominant_share(self._held_with(job), self._capacity)

    def may_reclaim(self, job: Job) -> bool:
        """Return True if its namespace, with the job's whole gang, has only what is guaranteed."""
        entitled = self._entitlement(job.namespace)
        return fair_share.within_guarantee(entitled, self._held_with(job), self._capacity)

    def met(self, namespace: str) -> float:
        """Return the part of its guaranteed share that a namespace holds; 1 where none is."""
        guaranteed = self._entitlement(namespace).guaranteed
        share = dominant_share(self._holds(namespace), self._capacity)
        return share / guaranteed if guaranteed > 0 else 1.0

    def spares(self, namespace: str, shapes: Iterable[PodShape]) -> bool:
        """Return True if a namespace has more than its guaranteed share, and no less without these.

        Args:
            namespace: Its name.
            shapes: Of pods that count for it.
        """
        held = self._holds(namespace)
        left = sum((-self._demands.of(shape) for shape in shapes), held)
        return fair_share.has_spare(self._entitlement(namespace), held, left, self._capacity)

    def _held_with(self, job: Job) -> IntVector:
        waiting = in_order(job.having(*UNPLANNED_STATES))
        needed = waiting[: max(1, planner.missing(job))]
        return sum((self._demands.of(m.shape) for m in needed), self._holds(job.namespace))

    def _turn(self, namespace: str) -> Turn:
        share = dominant_share(self._holds(namespace), self._capacity)
        return fair_share.turn(share, self._entitlement(namespace), self._params)

    def _entitlement(self, namespace: str) -> Entitlement:
        if namespace not in self._entitled:
            self._entitled[namespace], _ = entitlement(namespace, self._snapshot)
        return self._entitled[namespace]

    def _holds(self, namespace: str) -> IntVector:
        held = self._held.get(namespace)
        return np.zeros_like(self._capacity) if held is None else held

    def _add(self, namespace: str, shapes: Iterable[PodShape]) -> None:
        total = self._holds(namespace).copy()
        for shape in shapes:
            total += self._demands.of(shape)
        self._held[namespace] = total


def has_limit(snapshot: Snapshot, namespace: str, params: CoreParameters) -> bool:
    """Return True if a namespace has a limit."""
    if not params.fair_share.enabled:
        return False
    return entitlement(namespace, snapshot)[0].borrowing is not None


def may_hold(snapshot: Snapshot, pod: Pod, params: CoreParameters) -> bool:
    """Return True if the namespace of a single pod that never had our gate may hold it too."""
    ours = labels.PLAN in pod.annotations or bool(pod.scheduling_group)
    if ours or not has_limit(snapshot, pod.namespace, params):
        return True
    entitled, _ = entitlement(pod.namespace, snapshot)
    mine = (shape for key, shapes in by_job(snapshot, pod.namespace) for shape in shapes)
    counted = goods(snapshot.node_table, params.job_size)
    held = counted.of(total((*mine, pod_shape.with_devices(snapshot, pod)), snapshot.node_table))
    return fair_share.allows(entitled, held, counted.capacity)


def shares(snapshot: Snapshot, params: CoreParameters) -> Shares:
    """Return what each namespace holds at the beginning of a pass."""
    held: dict[str, list[PodShape]] = {}
    for key, shapes in by_job(snapshot) if params.fair_share.enabled else ():
        held.setdefault(key.partition("/")[0], []).extend(shapes)
    return Shares(held, snapshot, params)


def of_running(
    running_jobs: Iterable[RunningJob], snapshot: Snapshot, params: CoreParameters
) -> Shares:
    """Return what each namespace holds through jobs that run at the start of a projection."""
    held: dict[str, list[PodShape]] = {}
    for running in running_jobs:
        shapes = (shape for shape, _ in running.pods)
        held.setdefault(running.job.partition("/")[0], []).extend(shapes)
    return Shares(held, snapshot, params)


def _has_members(job: Job) -> bool:
    return bool(job.having(State.BOUND, State.RESERVED, State.LOOSE))


def _refused(reason: Reason) -> Refusal:
    return Refusal.of(reason)
