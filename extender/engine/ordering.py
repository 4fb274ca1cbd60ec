"""The order of waiting jobs: by CPS value or by creation."""

from dataclasses import dataclass

from extender.engine.jobs import Job
from extender.engine.parameters import EngineParameters, Order
from extender.engine.snapshot import Snapshot
from extender.policy import priority
from extender.policy.priority import Candidate, Value
from shared import labels
from shared.errors import InputError

_ALLOWED = frozenset(str(u) for u in range(1, 11))


@dataclass(frozen=True)
class Ranked:
    """A job at its place in the order; ``note`` says what of its priority could not be used."""

    job: Job
    value: Value
    note: str


def ordered(
    jobs: tuple[Job, ...], snapshot: Snapshot, params: EngineParameters, now: float
) -> tuple[Ranked, ...]:
    """Return the jobs with their CPS values, the one to be placed first in front.

    The values are computed for every order, so that people see them beside ``creation`` too.
    """
    default = params.priority.default_user_priority
    priorities = {
        namespace: user_priority(namespace, snapshot, default)
        for namespace in {job.namespace for job in jobs}
    }
    by_key = {job.key: job for job in jobs}
    candidates = [_candidate(job, priorities[job.namespace][0]) for job in jobs]
    values = priority.values(candidates, params.priority, now)
    ranked = [
        Ranked(by_key[value.job], value, priorities[by_key[value.job].namespace][1])
        for value in values
    ]
    if params.order is Order.CREATION:
        ranked.sort(key=lambda one: (one.job.created_at, one.job.about.uid))
    return tuple(ranked)


def user_priority(namespace: str, snapshot: Snapshot, default: int) -> tuple[int, str]:
    """Return u of a namespace and, if an annotation cannot be used, what is wrong with it.

    The Namespace's annotation wins over those of its ResourceQuotas, of which the largest counts.
    """
    found = snapshot.namespaces.get(namespace)
    texts = [found.annotations.get(labels.USER_PRIORITY)] if found else []
    if not any(texts):
        texts = [
            quota.annotations.get(labels.USER_PRIORITY)
            for quota in snapshot.quotas.get(namespace, ())
        ]
    stated = [text for text in texts if text is not None]
    good = [int(text) for text in stated if text in _ALLOWED]
    bad = [text for text in stated if text not in _ALLOWED]
    field = f"annotation {labels.USER_PRIORITY} of namespace {namespace}"
    problem = str(InputError(field, bad[0], "an integer from 1 to 10")) if bad else ""
    return max(good, default=default), problem


def _candidate(job: Job, user: int) -> Candidate:
    return Candidate(
        job=job.key,
        uid=job.about.uid,
        created_at=job.created_at,
        user_priority=user,
        class_value=max(m.pod.priority for m in job.members),
        max_wait_seconds=job.wishes.max_wait_seconds,
        workers=job.workers,
    )
