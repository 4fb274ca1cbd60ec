"""The order of waiting jobs: by CPS value, by DRS key, by remaining service or by creation.

The CPS value is the combined priority V (docs/policies/priority.md), the DRS key is ``weighting``;
the order by remaining service is ``service``, in which jobs that run have their places too.
Job level only, that is the order between jobs; the order of the pods inside one job is ``buckets``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extender.core.cluster.jobs import MEMORY, Job
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.goods import Goods, goods
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order, PriorityParameters
from extender.core.queue import contenders, namespace_shares, time_left, weighting
from extender.core.queue.contenders import Standing
from extender.core.queue.state import QueueState
from extender.core.queue.time_left import Timed
from extender.core.queue.weighting import Capacity, Waiting, Weight
from shared import labels
from shared.accelerators import PARTS
from shared.errors import InputError
from shared.model import CPU, JobKey, Uid

MINUTE_SECONDS: Final = 60.0

LONGEST_WAIT_SECONDS: Final = 60 * MINUTE_SECONDS
"""A job that can wait longer than this is in no hurry: l = 1."""


THOUSAND: Final = 1000
"""m counts thousandths of a GPU where GPUs come first, because a MIG slice is a part of one."""


MOST_TIME_PRIORITY: Final = 100
"""l of a job that cannot wait longer than a minute."""


PAPER_SECTION_3: Final = PriorityParameters(high=10, normal=5, low=1)
"""The weights of Sect. 3.2: a short maximum wait (l up to 100) outweighs every job priority."""


PAPER_EXPERIMENTS: Final = PriorityParameters(high=100, normal=50, low=1)
"""The weights of the experiments (Sect. 4.2), our default: the job priority weighs most."""


@dataclass(frozen=True)
class Candidate:
    """A waiting job, as far as its place in the order depends on it.

    Attributes:
        job: The job.
        uid: Last key of the order; the uid of the job's first pod or owner.
        created_at: Seconds since the epoch.
        user_priority: u, 1…10, checked where it was read.
        class_value: Value of the job's PriorityClass; 0 without one.
        max_wait_seconds: L; None where the job names none.
        size: m: the number of worker pods, at least 1; with ``of_gpus`` thousandths of GPUs.
        of_gpus: Whether its GPUs are its size, because the cluster has some.
    """

    job: JobKey
    uid: Uid
    created_at: float
    user_priority: int
    class_value: int
    max_wait_seconds: float | None
    size: int
    of_gpus: bool = False


@dataclass(frozen=True)
class Value:
    """The priority of one job and everything it was made of, in the paper's letters.

    Attributes:
        job: The job.
        u: User priority, 1…10.
        b: Job priority: hp, np or lp.
        l: Time-constraint priority, 1…100.
        e: Urgency u + b + l.
        m: Task parallelism, the number of workers; with ``of_gpus`` thousandths of GPUs.
        e_normalised: ê, 0…1 among the waiting jobs.
        m_normalised: m̂, 0…1 among the waiting jobs.
        v: V = k'·(m̂ + ê), 0…2k'. The order follows this one.
        v_rounded: V rounded half up, for places that take an integer only.
        of_gpus: Whether m counts GPUs.
    """

    job: JobKey
    u: int
    b: int
    l: int  # noqa: E741 - the paper's letter, and what `shuntyard queue` shows
    e: int
    m: int
    e_normalised: float
    m_normalised: float
    v: float
    v_rounded: int
    of_gpus: bool = False


def cps_values(
    candidates: Sequence[Candidate], params: PriorityParameters, now: float
) -> tuple[Value, ...]:
    """Return the values of all waiting jobs, in the order in which they should start.

    1. l = ⌈100/L⌉, e = u + b + l, m = number of workers (or GPUs: ``goods``)      (5)-(8)
    2. m̂, ê: min-max normalised over ``candidates``; 0 for all where max = min    (9), (10)
    3. V = k'·(m̂ + ê)                                                             (11)

    Larger V first, then earlier creation, then smaller uid: total, and the same for every order
    of ``candidates``. Equal V are exactly equal, because V is one quotient of integers.

    Args:
        candidates: All waiting jobs; the value of one depends on the others.
        params: Weights and thresholds.
        now: Seconds since the epoch; only read with ``ageing``.

    Source:
        Du, Xiao, Chen et al., EURASIP JWCN 2023:45, (5)-(11); ties as Volcano breaks them.
    """
    if not candidates:
        return ()
    urgencies = [_urgency(c, params, now) for c in candidates]
    e_low, e_span = _range([sum(terms) for terms in urgencies])
    m_low, m_span = _range([c.size for c in candidates])
    ranked = [
        (c, _value(c, terms, (e_low, e_span), (m_low, m_span), params.expansion))
        for c, terms in zip(candidates, urgencies, strict=True)
    ]
    ranked.sort(key=lambda pair: (-pair[1].v, pair[0].created_at, pair[0].uid))
    return tuple(value for _, value in ranked)


def job_priority(class_value: int, params: PriorityParameters) -> int:
    """Return b, one of hp, np and lp, by the value of the job's PriorityClass.

    Source:
        As ``cps_values``, (6); the thresholds are ours, the paper's classes have names only.
    """
    if class_value >= params.high_class_value:
        return params.high
    return params.normal if class_value >= params.normal_class_value else params.low


def time_priority(max_wait_seconds: float | None) -> int:
    """Return l = ⌈100/L⌉ with L in minutes: 100 for L ≤ 1, 1 for L > 60 or no L.

    Source:
        As ``cps_values``, (7).
    """
    if max_wait_seconds is None or max_wait_seconds > LONGEST_WAIT_SECONDS:
        return 1
    if max_wait_seconds <= MINUTE_SECONDS:
        return MOST_TIME_PRIORITY
    return math.ceil(MOST_TIME_PRIORITY * MINUTE_SECONDS / max_wait_seconds)


def remaining_wait_seconds(candidate: Candidate, now: float) -> float | None:
    """Return L(t) = max(1 minute, L - time waited), the ageing form of L; None without L.

    Source:
        Ours: the paper's L is static, so that a waiting job never gains.
    """
    if candidate.max_wait_seconds is None:
        return None
    waited_seconds = max(0.0, now - candidate.created_at)  # another machine's clock stamped it
    return max(MINUTE_SECONDS, candidate.max_wait_seconds - waited_seconds)


def _urgency(candidate: Candidate, params: PriorityParameters, now: float) -> tuple[int, int, int]:
    """Return (u, b, l)."""
    wait_seconds = (
        remaining_wait_seconds(candidate, now) if params.ageing else candidate.max_wait_seconds
    )
    b = job_priority(candidate.class_value, params)
    return candidate.user_priority, b, time_priority(wait_seconds)


def _range(numbers: Sequence[int]) -> tuple[int, int]:
    """Return the least number and the span; span 1 where all are equal, so that 0/0 becomes 0."""
    return min(numbers), (max(numbers) - min(numbers)) or 1


def _value(
    candidate: Candidate,
    terms: tuple[int, int, int],
    e_range: tuple[int, int],
    m_range: tuple[int, int],
    expansion: float,
) -> Value:
    u, b, l = terms  # noqa: E741 - the paper's letter
    e, m = sum(terms), candidate.size
    (e_low, e_span), (m_low, m_span) = e_range, m_range
    # one division of integers: m̂ + ê added as floats would tear exact ties apart by an ulp
    v = expansion * (((m - m_low) * e_span + (e - e_low) * m_span) / (m_span * e_span))
    return Value(
        job=candidate.job,
        u=u,
        b=b,
        l=l,
        e=e,
        m=m,
        e_normalised=(e - e_low) / e_span,
        m_normalised=(m - m_low) / m_span,
        v=v,
        v_rounded=math.floor(v + 0.5),
        of_gpus=candidate.of_gpus,
    )


_ALLOWED: Final = frozenset(str(u) for u in range(1, 11))


@dataclass(frozen=True)
class Ranked:
    """A job at its place in the order.

    Attributes:
        job: The job.
        value: Its CPS value.
        note: What its namespace says of its priority or share that could not be used; else empty.
        weight: Its DRS key; None under every other order.
        standing: Its place by remaining service; None under every other order.
    """

    job: Job
    value: Value
    note: str
    weight: Weight | None = None
    standing: Standing | None = None


def ordered(
    jobs: tuple[Job, ...],
    session: Session,
    state: QueueState | None = None,
    running: Sequence[Timed] | None = None,
) -> tuple[Ranked, ...]:
    """Return the jobs with their CPS values, the one to be placed first in front.

    The values are computed for every order, so that users see them beside ``creation`` too.

    Args:
        jobs: The jobs that wait.
        session: The cluster, now.
        state: Of the last pass, for earlier runs; None: there were none.
        running: The other jobs that run, for the order by service; None: those of the cluster.
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
    counted = goods(snapshot.node_table, params.job_size)
    candidates = [_candidate(job, priorities[job.namespace][0], counted) for job in jobs]
    values = cps_values(candidates, params.priority, now)
    ranked = [
        Ranked(by_key[value.job], value, notes[by_key[value.job].namespace]) for value in values
    ]
    if params.order is Order.CREATION:
        ranked.sort(key=lambda place: (place.job.created_at, place.job.about.uid))
    if params.order is Order.WEIGHTING:
        return _by_weight(ranked, counted, params)
    if params.order is Order.SERVICE:
        return _by_service(ranked, session, state or QueueState(), running)
    return tuple(ranked)


def standings(
    jobs: Iterable[Timed], session: Session, state: QueueState
) -> tuple[tuple[Timed, Standing], ...]:
    """Return jobs that run and that wait in one order by remaining service, the first in front."""
    by_key = {timed.job.key: timed for timed in jobs}
    params = session.parameters
    default = params.priority.default_user_priority
    counted = goods(session.snapshot.node_table, params.job_size)
    candidates = [
        _candidate(
            timed.job, user_priority(timed.job.namespace, session.snapshot, default)[0], counted
        )
        for timed in by_key.values()
    ]
    priority = replace(params.priority, ageing=True)
    values = cps_values(candidates, priority, session.now)
    importance = {value.job: value.v / (2.0 * priority.expansion) for value in values}
    found = contenders.standings(by_key, importance, session, state)
    return tuple((by_key[standing.place.job], standing) for standing in found)


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
    ranked: Sequence[Ranked], counted: Goods, params: CoreParameters
) -> tuple[Ranked, ...]:
    by_key: Mapping[JobKey, Ranked] = {place.job.key: place for place in ranked}
    waiting = [weighed(place.job, place.value.u, counted) for place in ranked]
    weights = weighting.weights(waiting, capacity(counted), params.weighting)
    return tuple(replace(by_key[weight.job], weight=weight) for weight in weights)


def _by_service(
    ranked: Sequence[Ranked],
    session: Session,
    state: QueueState,
    running: Sequence[Timed] | None,
) -> tuple[Ranked, ...]:
    by_key: Mapping[JobKey, Ranked] = {place.job.key: place for place in ranked}
    waiting = [time_left.of(place.job, session, state) for place in ranked]
    if running is None:
        running = time_left.of_running(session, state, without=by_key)
    found = standings((*waiting, *running), session, state)
    return tuple(
        replace(by_key[timed.job.key], standing=standing)
        for timed, standing in found
        if timed.job.key in by_key
    )


def capacity(counted: Goods) -> Capacity:
    """Return what all nodes together have, as DRS' order counts it."""
    totals = dict(zip(counted.resources, counted.capacity.tolist(), strict=False))
    return Capacity(totals.get(CPU, 0), totals.get(MEMORY, 0), counted.gpu_parts)


def weighed(job: Job, user: int, counted: Goods) -> Waiting:
    """Return a job as DRS' order reads it; ``user``: u of its namespace."""
    return Waiting(
        job=job.key,
        uid=job.about.uid,
        created_at=job.created_at,
        user_priority=user,
        class_value=max(m.pod.priority for m in job.members),
        cpu_milli=job.requests[CPU],
        memory_bytes=job.requests[MEMORY],
        gpu_parts=counted.size(job.requests),
    )


def _candidate(job: Job, user: int, counted: Goods) -> Candidate:
    gpus = counted.size(job.requests) * THOUSAND // PARTS
    return Candidate(
        job=job.key,
        uid=job.about.uid,
        created_at=job.created_at,
        user_priority=user,
        class_value=max(m.pod.priority for m in job.members),
        max_wait_seconds=job.spec.max_wait_seconds,
        size=gpus if counted.gpu_parts else job.workers,
        of_gpus=counted.gpu_parts > 0,
    )
