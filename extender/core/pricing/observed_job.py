"""The state of a job with a plan: nodes of its pods, progress, end."""

from dataclasses import dataclass, replace

from extender.core.agents import reports
from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.queue.slot_requests import _waiting_since, staying
from extender.core.records.slot_plan import OwnedPlan
from shared.model import NodeName

_OVER = frozenset({State.SUCCEEDED, State.FAILED})


_GONE = _OVER | {State.LEAVING}


@dataclass(frozen=True)
class ObservedJob:
    """See the module.

    Attributes:
        job: The job; None: it has no pods.
        workers: Nodes of the workers that run or are on their way, those that stay longest first.
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


def observe_planned(
    snapshot: Snapshot, planned: OwnedPlan, slot: int, reading: Reading, stale_seconds: float
) -> ObservedJob:
    """Return how a job stands in a slot; reports older than ``stale_seconds`` say nothing."""
    plan = planned.plan
    if plan.job not in snapshot.jobs:
        # one that was to run in the slot before too has had its pods, and no new ones were made
        ran = bool(plan.workers_at(slot) and plan.workers_at(slot - 1))
        return ObservedJob(ended=ran and not planned.owner.suspended)
    job = job_views.view(snapshot, plan.job)
    stands = observe(snapshot, job, reading, stale_seconds)
    over = all(m.state in _OVER for m in job.members)
    return replace(stands, ended=over and not planned.owner.suspended)


def observe(snapshot: Snapshot, job: Job, reading: Reading, stale_seconds: float) -> ObservedJob:
    """Return how a job stands that has pods, whether it has a plan or not; ``ended`` is open."""
    live = [m for m in job.members if m.state not in _GONE]
    workers = staying(live)
    known = {m.pod.uid for m in workers}
    return ObservedJob(
        job=job,
        workers=_nodes(workers),
        servers=_nodes([m for m in live if m.pod.uid not in known]),
        done=_done(snapshot, live, reading, stale_seconds),
        waiting_since=_waiting_since(live),
    )


def _nodes(members: list[Member]) -> tuple[NodeName, ...]:
    return tuple(m.node for m in members if m.node is not None)


def _done(
    snapshot: Snapshot, live: list[Member], reading: Reading, stale_seconds: float
) -> float | None:
    shares = []
    for member in live:
        report = reports.of_pod(snapshot, member.pod.uid, reading, stale_seconds)
        progress = report.progress if report is not None else None
        if progress is not None and progress.step is not None and progress.total_steps:
            shares.append(min(1.0, progress.step / progress.total_steps))
    return max(shares, default=None)
