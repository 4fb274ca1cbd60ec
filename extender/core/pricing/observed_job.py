"""The state of a job with a plan: nodes of its pods, progress, end."""

from dataclasses import dataclass, replace

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.session import Session
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


def observe_planned(session: Session, planned: OwnedPlan, slot: int) -> ObservedJob:
    """Return the state of a job in a slot."""
    plan = planned.plan
    if plan.job not in session.snapshot.jobs:
        # one that was to run in the slot before too has had its pods, and no new ones were made
        ran = bool(plan.workers_at(slot) and plan.workers_at(slot - 1))
        return ObservedJob(ended=ran and not planned.owner.suspended)
    job = job_views.view(session.snapshot, plan.job)
    stands = observe(session, job)
    over = all(m.state in _OVER for m in job.members)
    return replace(stands, ended=over and not planned.owner.suspended)


def observe(session: Session, job: Job) -> ObservedJob:
    """Return the state of a job that has pods, with a plan or not; ``ended`` is left open."""
    live = [m for m in job.members if m.state not in _GONE]
    workers = staying(live)
    known = {m.pod.uid for m in workers}
    return ObservedJob(
        job=job,
        workers=_nodes(workers),
        servers=_nodes([m for m in live if m.pod.uid not in known]),
        done=_done(session, live),
        waiting_since=_waiting_since(live),
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
