"""Parked jobs in a pass of the queue: planned from their records, and resumed when all fits.

A parked job is placed like any other waiting job, from pods that no API server has. Where the
others are released, its places are kept and written on its owner (``records.parking_writes``).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from extender.core.cluster import job_views
from extender.core.cluster.commands import (
    ChangeOwner,
    Command,
    DeletePod,
    EmitEvent,
    OpenGate,
    ReleaseGang,
    SetQueuedCondition,
)
from extender.core.cluster.jobs import Job, Member
from extender.core.cluster.session import Session
from extender.core.nodes.node_table import NodeTable
from extender.core.placement import planner
from extender.core.placement.planner import Plan
from extender.core.records import parked_jobs, parking_writes
from extender.core.records.parking import OwnedParking
from shared.model import JobKey, NodeName, Uid


@dataclass(frozen=True)
class ParkedJobs:
    """The parked jobs of one pass.

    Attributes:
        session: With the pods that they will have.
        by_job: Their records.
    """

    session: Session
    by_job: Mapping[JobKey, OwnedParking]

    @classmethod
    def of(cls, session: Session) -> "ParkedJobs":
        """Return the parked jobs that may resume."""
        by_job = parked_jobs.queued(session.snapshot)
        if not by_job:
            return cls(session, by_job)
        return cls(replace(session, snapshot=parked_jobs.with_parked(session.snapshot)), by_job)

    def resumed(self, key: JobKey, nodes: Mapping[Uid, NodeName]) -> ChangeOwner:
        """Return the write that keeps the places of a plan."""
        return parking_writes.keep_places(self.by_job[key], dict(nodes), self.session.now)

    def possible(self, commands: Iterable[Command]) -> Iterator[Command]:
        """Yield the commands that are not about pods which do not exist."""
        pods = self.session.snapshot.jobs
        supposed = {pod.uid for key in self.by_job for pod in pods[key]}
        for command in commands:
            if isinstance(command, OpenGate | ReleaseGang):
                if JobKey(command.job) not in self.by_job:
                    yield command
            elif _pod(command) not in supposed:
                yield command


def places_beside(
    session: Session, job: Job, owner: Uid, table: NodeTable
) -> tuple[tuple[Member, NodeName], ...] | None:
    """Return places for the whole gang of a job that runs, beside its present ones.

    The members are those of ``parked_jobs.moving``; None if not all of them fit.

    Args:
        session: Of the pass.
        job: As it runs.
        owner: The owner that would be paused.
        table: What is free.
    """
    snapshot = parked_jobs.moving(session.snapshot, job, owner)
    wanted = job_views.view(snapshot, job.key)
    plan = planner.plan(wanted, table, session.parameters, 0.0, was_whole=False)
    if not isinstance(plan, Plan) or len(plan.placement.nodes) < len(wanted.members):
        return None
    nodes = plan.placement.nodes
    return tuple((member, nodes[member.pod.uid]) for member in wanted.members)


def _pod(command: Command) -> Uid | None:
    """Return the uid of the pod that a command is about; None where it is about none."""
    if isinstance(command, SetQueuedCondition | DeletePod):
        return command.uid
    return command.about.uid if isinstance(command, EmitEvent) else None
