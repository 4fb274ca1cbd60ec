"""The order of waiting jobs: by CPS value, by DRS key or by creation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extender.core.cluster.jobs import MEMORY, Job
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from extender.core.queue import namespace_shares, priority, weighting
from extender.core.queue.priority import Candidate, Value
from extender.core.queue.weighting import Capacity, Waiting, Weight
from shared import labels
from shared.errors import InputError
from shared.model import CPU, JobKey

_ALLOWED: Final = frozenset(str(u) for u in range(1, 11))


@dataclass(frozen=True)
class Ranked:
    """A job at its place in the order.

    Attributes:
        job: The job.
        value: Its CPS value.
        note: What its namespace says of its priority or share that could not be used; else empty.
        weight: Its DRS key; None under every other order.
    """

    job: Job
    value: Value
    note: str
    weight: Weight | None = None


def ordered(jobs: tuple[Job, ...], session: Session) -> tuple[Ranked, ...]:
    """Return the jobs with their CPS values, the one to be placed first in front.

    The values are computed for every order, so that users see them beside ``creation`` too.
    """
    snapshot, params, now = session.snapshot, session.parameters, session.now
    default = params.priority.default_user_priority
    priorities = {
        namespace: user_priority(namespace, snapshot, default)
        for namespace in {job.namespace for job in jobs}
    }
    notes = {
        namespace: _note(problem, namespace, snapshot, params)
        for namespace, (_, problem) in priorities.items()
    }
    by_key = {job.key: job for job in jobs}
    candidates = [_candidate(job, priorities[job.namespace][0]) for job in jobs]
    values = priority.values(candidates, params.priority, now)
    ranked = [
        Ranked(by_key[value.job], value, notes[by_key[value.job].namespace]) for value in values
    ]
    if params.order is Order.CREATION:
        ranked.sort(key=lambda place: (place.job.created_at, place.job.about.uid))
    if params.order is Order.WEIGHTING:
        return _by_weight(ranked, snapshot.room, params)
    return tuple(ranked)


def user_priority(namespace: str, snapshot: Snapshot, default: int) -> tuple[int, str]:
    """Return u of a namespace and, if an annotation cannot be used, what is wrong with it.

    The Namespace's annotation wins over those of its ResourceQuotas, of which the largest counts.
    """
    stated = namespace_shares.stated(namespace, labels.USER_PRIORITY, snapshot)
    good = [int(text) for text in stated if text in _ALLOWED]
    bad = [text for text in stated if text not in _ALLOWED]
    field = f"annotation {labels.USER_PRIORITY} of namespace {namespace}"
    problem = str(InputError(field, bad[0], "an integer from 1 to 10")) if bad else ""
    return max(good, default=default), problem


def _note(problem: str, namespace: str, snapshot: Snapshot, params: CoreParameters) -> str:
    if not params.fair_share.enabled:
        return problem
    _, other = namespace_shares.entitlement(namespace, snapshot)
    return "; ".join(text for text in (problem, other) if text)


def _by_weight(
    ranked: Sequence[Ranked], room: NodeTable, params: CoreParameters
) -> tuple[Ranked, ...]:
    by_key: Mapping[JobKey, Ranked] = {place.job.key: place for place in ranked}
    waiting = [weighed(place.job, place.value.u) for place in ranked]
    weights = weighting.weights(waiting, capacity(room), params.weighting)
    return tuple(replace(by_key[weight.job], weight=weight) for weight in weights)


def capacity(room: NodeTable) -> Capacity:
    """Return what all nodes together have, as DRS' order counts it."""
    totals = dict(zip(room.resources, room.allocatable.sum(axis=0).tolist(), strict=True))
    return Capacity(totals.get(CPU, 0), totals.get(MEMORY, 0))


def weighed(job: Job, user: int) -> Waiting:
    """Return what DRS' order asks about a job; ``user``: u of its namespace."""
    cpu_milli, memory_bytes = job.requests
    return Waiting(
        job=job.key,
        uid=job.about.uid,
        created_at=job.created_at,
        user_priority=user,
        class_value=max(m.pod.priority for m in job.members),
        cpu_milli=cpu_milli,
        memory_bytes=memory_bytes,
    )


def _candidate(job: Job, user: int) -> Candidate:
    return Candidate(
        job=job.key,
        uid=job.about.uid,
        created_at=job.created_at,
        user_priority=user,
        class_value=max(m.pod.priority for m in job.members),
        max_wait_seconds=job.spec.max_wait_seconds,
        workers=job.workers,
    )
