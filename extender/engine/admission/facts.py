"""How a job with a plan stands: where its pods are, how far it is, whether it has ended."""

from dataclasses import dataclass, replace

from extender.adapters import registry
from extender.engine import jobs
from extender.engine.admission.planned import Planned
from extender.engine.jobs import Job, Member, State
from extender.engine.memory import Reading
from extender.engine.migration import hearing
from extender.engine.snapshot import Snapshot
from extender.engine.worker_gang import worker_roles
from shared.model import NodeName, Pod

_OVER = frozenset({State.SUCCEEDED, State.FAILED})
_GONE = _OVER | {State.LEAVING}


@dataclass(frozen=True)
class Facts:
    """See the module.

    Attributes:
        job: The job; None: it has no pods.
        workers: Nodes of the workers that run or are on their way, who stays longest first.
        servers: Nodes of its other pods.
        done: Share of the training that is done, as agents report it; None if none does.
        waiting_since: When the oldest of its pods came, if none of them has a place; seconds since
            the epoch. What was planned since then was not done.
        ended: It has ended, well or not.
    """

    job: Job | None = None
    workers: tuple[NodeName, ...] = ()
    servers: tuple[NodeName, ...] = ()
    done: float | None = None
    waiting_since: float | None = None
    ended: bool = False


def facts(
    snapshot: Snapshot, planned: Planned, slot: int, reading: Reading, stale_seconds: float
) -> Facts:
    """Return how a job stands in a slot; reports older than ``stale_seconds`` say nothing."""
    plan = planned.plan
    if plan.job not in snapshot.jobs:
        # one that was to run in the slot before too has had its pods, and nobody made new ones
        ran = bool(plan.workers_at(slot) and plan.workers_at(slot - 1))
        return Facts(ended=ran and not planned.owner.suspended)
    job = jobs.view(snapshot, plan.job)
    stands = of_job(snapshot, job, reading, stale_seconds)
    over = all(m.state in _OVER for m in job.members)
    return replace(stands, ended=over and not planned.owner.suspended)


def of_job(snapshot: Snapshot, job: Job, reading: Reading, stale_seconds: float) -> Facts:
    """Return how a job stands that has pods, whether it has a plan or not; ``ended`` is open."""
    live = [m for m in job.members if m.state not in _GONE]
    workers = staying(live)
    known = {m.pod.uid for m in workers}
    return Facts(
        job=job,
        workers=_nodes(workers),
        servers=_nodes([m for m in live if m.pod.uid not in known]),
        done=_done(snapshot, live, reading, stale_seconds),
        waiting_since=_waiting_since(live),
    )


def staying(live: list[Member]) -> list[Member]:
    """Return the workers in the order in which their owner keeps them, who stays longest first."""
    roles = worker_roles(m.role for m in live)
    workers = sorted((m for m in live if m.role in roles), key=lambda m: (m.rank, m.pod.name))
    adapter = registry.resizable(workers[0].pod) if workers else None
    if adapter is None:
        return workers
    by_uid = {m.pod.uid: m for m in workers}
    leaving: tuple[Pod, ...] = adapter.removal_order([m.pod for m in workers])
    return [by_uid[pod.uid] for pod in reversed(leaving)]


def _waiting_since(live: list[Member]) -> float | None:
    if any(m.node is not None for m in live):
        return None
    return min((m.pod.created_at for m in live), default=None)


def _nodes(members: list[Member]) -> tuple[NodeName, ...]:
    return tuple(m.node for m in members if m.node is not None)


def _done(
    snapshot: Snapshot, live: list[Member], reading: Reading, stale_seconds: float
) -> float | None:
    shares = []
    for member in live:
        report = hearing.of_pod(snapshot, member.pod.uid, reading, stale_seconds)
        progress = report.progress if report is not None else None
        if progress is not None and progress.step is not None and progress.total_steps:
            shares.append(min(1.0, progress.step / progress.total_steps))
    return max(shares, default=None)
