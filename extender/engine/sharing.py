"""The cluster shared among namespaces, in one row of turns (``policy.fair_share``).

What each holds at the beginning, ``holdings`` says; what a turn gives away counts at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from extender.engine import entitlements, holdings, planning
from extender.engine.holdings import Demands
from extender.engine.jobs import Job, State
from extender.engine.parameters import EngineParameters
from extender.engine.planning import Refusal
from extender.engine.reasons import MESSAGES, Reason
from extender.engine.snapshot import Snapshot
from extender.policy import fair_share
from extender.policy.fair_share import Entitlement, Turn
from extender.policy.reservation import Tenant
from extender.policy.room import IntVector
from shared import labels
from shared.model import JobKey, Pod, PodShape


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
    """What each namespace holds, as turns change it. Mutable; it belongs to one cycle or play.

    Args:
        held: By whom the cluster is held at the beginning; not looked at where fair share is off.
        snapshot: What namespaces may expect, and how large the cluster is.
        params: See there.
    """

    def __init__(self, held: Held, snapshot: Snapshot, params: EngineParameters) -> None:
        self._snapshot, self._params = snapshot, params.fair_share
        self._capacity: IntVector = snapshot.room.allocatable.sum(axis=0)
        self._demands = Demands(snapshot.room)
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
        return fair_share.in_turn(((one.job.namespace, one) for one in ranked), self._turn)

    def take(self, job: Job, seats: Iterable[tuple[PodShape, int]]) -> None:
        """Count what a job was given."""
        if self._params.enabled:
            self._add(job.namespace, (shape for shape, _ in seats))

    def begin(self) -> None:
        """Begin another row of turns: nothing is kept for anybody."""
        self._kept_for.clear()

    def leave(self, tenant: Tenant) -> None:
        """Count no more what a job held that has ended."""
        namespace = tenant.job.partition("/")[0]
        gone = holdings.total((shape for shape, _ in tenant.seats), self._snapshot.room)
        self._held[namespace] = self._holds(namespace) - gone

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
        waiting = planning.in_order(job.having(*planning.UNPLANNED_STATES))
        needed = planning.missing(job)
        known = job.min_available is not None and not job.problem
        if not known or not waiting or len(waiting) < needed:
            return job  # the planner says what hinders it
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
        waiting = planning.in_order(job.having(*planning.UNPLANNED_STATES))
        needed = waiting[: max(1, planning.missing(job))]
        total = sum((self._demands.of(m.shape) for m in needed), self._holds(job.namespace))
        return fair_share.dominant_share(total, self._capacity)

    def _turn(self, namespace: str) -> Turn:
        share = fair_share.dominant_share(self._holds(namespace), self._capacity)
        return fair_share.turn(share, self._entitlement(namespace), self._params)

    def _entitlement(self, namespace: str) -> Entitlement:
        if namespace not in self._entitled:
            self._entitled[namespace], _ = entitlements.entitlement(namespace, self._snapshot)
        return self._entitled[namespace]

    def _holds(self, namespace: str) -> IntVector:
        held = self._held.get(namespace)
        return np.zeros_like(self._capacity) if held is None else held

    def _add(self, namespace: str, shapes: Iterable[PodShape]) -> None:
        total = self._holds(namespace).copy()
        for shape in shapes:
            total += self._demands.of(shape)
        self._held[namespace] = total


def has_limit(snapshot: Snapshot, namespace: str, params: EngineParameters) -> bool:
    """Say whether a namespace may hold only so much."""
    if not params.fair_share.enabled:
        return False
    return entitlements.entitlement(namespace, snapshot)[0].borrowing is not None


def may_hold(snapshot: Snapshot, pod: Pod, params: EngineParameters) -> bool:
    """Say whether the namespace of a single pod that never had our gate may hold it too."""
    ours = labels.PLAN in pod.annotations or bool(pod.scheduling_group)
    if ours or not has_limit(snapshot, pod.namespace, params):
        return True
    entitled, _ = entitlements.entitlement(pod.namespace, snapshot)
    mine = (shape for key, shapes in holdings.by_job(snapshot, pod.namespace) for shape in shapes)
    capacity: IntVector = snapshot.room.allocatable.sum(axis=0)
    return fair_share.allows(entitled, holdings.total((*mine, pod.shape), snapshot.room), capacity)


def shares(snapshot: Snapshot, params: EngineParameters) -> Shares:
    """Return who holds what at the beginning of a cycle."""
    found: dict[str, list[PodShape]] = {}
    for key, shapes in holdings.by_job(snapshot) if params.fair_share.enabled else ():
        found.setdefault(key.partition("/")[0], []).extend(shapes)
    return Shares(found, snapshot, params)


def of_tenants(tenants: Iterable[Tenant], snapshot: Snapshot, params: EngineParameters) -> Shares:
    """Return the same of jobs that run at the beginning of a play on that snapshot."""
    found: dict[str, list[PodShape]] = {}
    for one in tenants:
        shapes = (shape for shape, _ in one.seats)
        found.setdefault(one.job.partition("/")[0], []).extend(shapes)
    return Shares(found, snapshot, params)


def _has_members(job: Job) -> bool:
    return bool(job.having(State.BOUND, State.SEATED, State.LOOSE))


def _refused(reason: Reason) -> Refusal:
    return Refusal(reason, MESSAGES[reason])
