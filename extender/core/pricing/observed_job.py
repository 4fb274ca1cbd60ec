"""Observed state of a job with a utility: nodes of its pods, progress, end."""

from dataclasses import dataclass, replace
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.session import Session
from extender.core.queue.slot_requests import staying, waiting_since
from extender.core.records.slot_plan import OwnedPlan
from shared.model import NodeName

_OVER: Final = frozenset({State.SUCCEEDED, State.FAILED})
_GONE: Final = _OVER | {State.LEAVING}


@dataclass(frozen=True)
class ObservedJob:
    """See the module.

    Attributes:
        job: The job; None if it has no pods.
        worker_nodes: Nodes of its workers that run or have a node, those that stay longest first.
        server_nodes: Nodes of its other pods.
        done: Share of the training that is done by agents' reports; None without a report.
        waiting_since: Creation of its oldest pod, if no pod has a node; seconds since the epoch.
            Work that was planned since then was not done.
        ended: Whether it has ended, successfully or not.
    """

    job: Job | None = None
    worker_nodes: tuple[NodeName, ...] = ()
    server_nodes: tuple[NodeName, ...] = ()
    done: float | None = None
    waiting_since: float | None = None
    ended: bool = False


def observe_planned(session: Session, owned: OwnedPlan, slot: int) -> ObservedJob:
    """Return the state of a job with a plan in a slot."""
    plan = owned.plan
    if plan.job not in session.snapshot.jobs:
        # a job planned for the slot before too has had its pods, and got no new ones
        ran = bool(plan.workers_at(slot) and plan.workers_at(slot - 1))
        return ObservedJob(ended=ran and not owned.owner.suspended)
    job = job_views.view(session.snapshot, plan.job)
    over = all(m.state in _OVER for m in job.members)
    return replace(observe(session, job), ended=over and not owned.owner.suspended)


def observe(session: Session, job: Job) -> ObservedJob:
    """Return the state of a job that has pods, with a plan or not; ``ended`` is left open."""
    live = [m for m in job.members if m.state not in _GONE]
    workers = staying(live)
    worker_uids = {m.pod.uid for m in workers}
    return ObservedJob(
        job=job,
        worker_nodes=_nodes(workers),
        server_nodes=_nodes([m for m in live if m.pod.uid not in worker_uids]),
        done=_done(session, live),
        waiting_since=waiting_since(live),
    )


def _nodes(members: list[Member]) -> tuple[NodeName, ...]:
    return tuple(m.node for m in members if m.node is not None)


def _done(session: Session, live: list[Member]) -> float | None:
    shares = []
    for member in live:
        report = session.pod_report(member.pod.uid)
        progress = report.progress if report is not None else None
        if progress is not None and progress.step is not None and progress.total_steps:
            shares.append(min(1.0, progress.step / progress.total_steps))
    return max(shares, default=None)
