"""Checks that jobs ran in the order of V wherever capacity forced a choice (pure).

Judged when a job is released, by the free resources of the watch: what running pods leave, minus
the pods of jobs released before (whose nodes are known afterwards).

1. Another complete gang waits, would have fitted before, and no longer fits now: capacity forced a
   choice. (If it still fits, nothing was taken from it; releases of one cycle may reach the API
   server concurrently.)
2. If its V was smaller, it *stood back* as it should.
3. If its V was larger, it was *overtaken*: a fault.

Fitting is counted for gangs whose pods are all alike, as the examples' are: pods that fit on each
node, added up. V is from one answer of the extender for all jobs, because it depends on the other
waiting jobs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from devcluster.demo.history import JobName, Ledger, Recorded, final, states
from shared.model import NodeName, Pod, Uid

Values = Mapping[JobName, float]
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice when a job was released.

    Attributes:
        at: Monotonic second.
        job: The job that was released.
        v: Its V; None if no answer of the extender held it.
        stood_back: Jobs of smaller V whose room it took.
        overtaken: Jobs of larger V whose room it took.
    """

    at: float
    job: JobName
    v: float | None
    stood_back: tuple[JobName, ...]
    overtaken: tuple[JobName, ...]


def choices(
    history: Sequence[Recorded],
    sizes: Mapping[JobName, int],
    values: Mapping[JobName, Values],
    kept: Mapping[str, int] = _NOTHING,
) -> tuple[Choice, ...]:
    """Return the choice at each job's release, in order.

    Args:
        history: Events of the watch, in order.
        sizes: How many members each gang needs.
        values: For each job, the V of all jobs that waited when it was released, itself included.
        kept: What every node keeps for jobs with a utility, by resource.
    """
    end, released, made = final(history), set[JobName](), list[Choice]()
    for recorded, ledger in states(history):
        fresh = [
            job
            for job in sizes
            if job not in released and job in ledger.jobs and ledger.jobs[job].released_at
        ]
        for job in sorted(fresh, key=lambda j: -values.get(j, {}).get(j, 0.0)):
            made.append(_choice(recorded.at, job, released, ledger, end, sizes, values, kept))
            released.add(job)
    return tuple(made)


def _choice(
    at: float,
    job: JobName,
    released: set[JobName],
    ledger: Ledger,
    end: Ledger,
    sizes: Mapping[JobName, int],
    values: Mapping[JobName, Values],
    kept: Mapping[str, int],
) -> Choice:
    scores = values.get(job, {})
    before = _free(ledger, end, released, kept)
    after = _free(ledger, end, {*released, job}, kept)
    waiting = [
        other
        for other in sorted(sizes)
        if other not in {*released, job} and _waits(other, ledger, sizes)
    ]
    hindered = [
        other
        for other in waiting
        if other in scores
        and _fits(other, ledger, before, sizes)
        and not _fits(other, ledger, after, sizes)
    ]
    own = scores.get(job)
    return Choice(
        at=at,
        job=job,
        v=own,
        stood_back=tuple(o for o in hindered if own is not None and scores[o] <= own),
        overtaken=tuple(o for o in hindered if own is not None and scores[o] > own),
    )


def _waits(job: JobName, ledger: Ledger, sizes: Mapping[JobName, int]) -> bool:
    return job in ledger.jobs and len(ledger.jobs[job].pods) >= sizes[job]


def _free(
    ledger: Ledger, end: Ledger, released: set[JobName], kept: Mapping[str, int]
) -> dict[NodeName, dict[str, int]]:
    free = {
        name: {what: amount - kept.get(what, 0) for what, amount in node.allocatable.items()}
        for name, node in ledger.nodes.items()
    }
    for name, job in ledger.jobs.items():
        for uid, pod in job.pods.items():
            node = _node(name, uid, pod, end, released)
            if node in free and not pod.finished:
                for resource, amount in pod.shape.requests:
                    free[node][resource] = free[node].get(resource, 0) - amount
    return free


def _node(job: JobName, uid: Uid, pod: Pod, end: Ledger, released: set[JobName]) -> NodeName | None:
    if pod.node_name is not None:
        return pod.node_name
    return end.jobs[job].nodes.get(uid) if job in released else None


def _fits(
    job: JobName,
    ledger: Ledger,
    free: Mapping[NodeName, Mapping[str, int]],
    sizes: Mapping[JobName, int],
) -> bool:
    pod = next(iter(ledger.jobs[job].pods.values()))
    requests = [(resource, amount) for resource, amount in pod.shape.requests if amount > 0]
    places = sum(
        max(0, min(room.get(resource, 0) // amount for resource, amount in requests))
        for room in free.values()
    )
    return places >= sizes[job]
