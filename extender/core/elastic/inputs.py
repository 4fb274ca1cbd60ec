"""Inputs of DRS: jobs that run and can change, jobs that wait for room, free room."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import elastic_jobs, measured_speeds, new_changes
from extender.core.elastic.elastic_jobs import ElasticJob, Pace
from extender.core.elastic.measured_speeds import SpeedMemory
from extender.core.elastic.new_changes import RequestedChange
from extender.core.elastic.scaling_values import Candidate, Running
from extender.core.nodes.node_table import NodeTable
from extender.core.queue import slot_gate
from extender.core.queue.decision import QUEUE, QueueOutcome
from extender.core.queue.state import QueueTrigger
from extender.core.queue.weighting import Weight
from extender.core.records import elastic_workers, profile, rescale, slot_plan
from extender.core.records.rescale import Cause, Proposal
from shared.model import JobKey

MOST_WAITING: Final = 20
"""The most important waiting jobs, for which other jobs may shrink.

A count bounds the work, not a clock, so that the same inputs give the same proposals.
"""


@dataclass(frozen=True)
class ElasticSession:
    """Inputs of one pass of DRS.

    Attributes:
        session: What every decision reads.
        cycle: A pass of the queue over the same snapshot.
        node_table: Room for jobs without a utility once the jobs that start in that pass have
            theirs.
        jobs: Jobs whose workers could change.
        paces: How they train.
        weights: Of the jobs that could change, in the order ``weighting``.
        waiting: Whole jobs that wait for room and nothing else, the most important first.
        fixed: The most important of the others that run; None: none runs.
    """

    session: Session
    cycle: QueueOutcome
    node_table: NodeTable
    jobs: Mapping[JobKey, ElasticJob]
    paces: Mapping[JobKey, Pace]
    weights: Mapping[JobKey, Weight]
    waiting: Mapping[JobKey, tuple[Job, Candidate]]
    fixed: Running | None

    def may(self, key: JobKey, to: int, cause: Cause, starts: JobKey | None = None) -> bool:
        """Return True if such a change could begin now."""
        records = rescale.rescale_records(self.session.snapshot)
        proposal = Proposal(key, to, cause, starts)
        change = new_changes.requested_change(self.session, records, proposal)
        return isinstance(change, RequestedChange)


def elastic_session(session: Session, memory: SpeedMemory) -> ElasticSession | None:
    """Return the inputs of a pass; None, and at no cost, where no job could change."""
    snapshot, params = session.snapshot, session.parameters
    jobs = _elastic_jobs(snapshot)
    if not jobs:
        return None
    cycle = QUEUE.decide(session, session.states.of(QUEUE), QueueTrigger())
    weight = elastic_jobs.weigher(snapshot, params)
    return ElasticSession(
        session=session,
        cycle=cycle,
        node_table=slot_gate.others(_after(snapshot.node_table, cycle), snapshot, params),
        jobs=jobs,
        paces={key: measured_speeds.pace(session, one.job, memory) for key, one in jobs.items()},
        weights={key: weight(one.job) for key, one in jobs.items()},
        waiting=_waiting(cycle, weight, session.now),
        fixed=elastic_jobs.most_important(snapshot, jobs.keys(), params),
    )


def _elastic_jobs(snapshot: Snapshot) -> dict[JobKey, ElasticJob]:
    keys = elastic_workers.jobs_with_range(snapshot)
    if not keys:
        return {}
    busy = set(rescale.rescale_records(snapshot).busy)
    busy |= {migration.job for migration in snapshot.migrations.values() if migration.open}
    busy |= slot_plan.plans_by_job(snapshot).keys() | profile.unmeasured(snapshot)
    jobs = {key: elastic_jobs.elastic_job(snapshot, key) for key in keys if key not in busy}
    return {key: job for key, job in jobs.items() if job is not None}


def _after(room: NodeTable, cycle: QueueOutcome) -> NodeTable:
    shapes = {m.pod.uid: m.shape for entry in cycle.entries for m in entry.job.members}
    released = [pod for one in cycle.commands if isinstance(one, ReleaseGang) for pod in one.pods]
    return room.with_pods(
        (shapes[pod.uid], room.index[pod.node])
        for pod in released
        if pod.node is not None and pod.node in room.index
    )


def _waiting(
    cycle: QueueOutcome, weight: Callable[[Job], Weight], now: float
) -> dict[JobKey, tuple[Job, Candidate]]:
    """Return the jobs that wait for room; the backfill head alone, if there is one.

    Others must not take the room that is kept for it, nor what they would free for themselves.
    """
    head = cycle.backfill_head.job if cycle.backfill_head else None
    lacking = (entry.job for entry in cycle.entries if entry.reason.lacks_room)
    jobs = [job for job in lacking if head in {None, job.key}]
    pairs = [(job, elastic_jobs.candidate(job, weight(job), now)) for job in jobs]
    candidates = [(job, candidate) for job, candidate in pairs if candidate is not None]
    candidates.sort(key=lambda pair: pair[1].elastic.rank)
    return {job.key: (job, candidate) for job, candidate in candidates[:MOST_WAITING]}
