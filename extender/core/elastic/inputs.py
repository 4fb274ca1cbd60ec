"""What a proposal is made from: who runs and can change, who waits for room, what is free."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import beginning, elastic_jobs, speeds
from extender.core.elastic.beginning import Wanted
from extender.core.elastic.elastic_jobs import Crowd, Pace
from extender.core.elastic.scaling_values import Candidate, Running
from extender.core.elastic.speeds import SpeedMemory
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import slot_gate
from extender.core.queue.decision import QUEUE, QueueOutcome, QueueTrigger
from extender.core.queue.state import QueueState
from extender.core.queue.weighting import Weight
from extender.core.records import elastic_owner, plans, profile, rescale
from extender.core.records.rescale import Cause, Proposal
from shared.model import JobKey

MOST_LOOKED_AT: Final = 20
"""Jobs for which room is looked for, the most important ones: a count bounds the work, not a clock,
so that it is the same again."""


@dataclass(frozen=True)
class Scene:
    """One snapshot, as it is looked at.

    Attributes:
        cycle: What the queue would do now.
        room: What is free for jobs without a utility, less the seats of those who start in that
            cycle.
        crowds: Jobs whose workers could change.
        paces: What is known of their training.
        weights: Of the jobs that could change, in the order ``weighting``.
        waiting: Whole jobs that wait for room and nothing else, the most important first.
        fixed: The most important of the others that run; None: none runs.
    """

    snapshot: Snapshot
    reading: Reading
    params: CoreParameters
    cycle: QueueOutcome
    room: NodeTable
    crowds: Mapping[JobKey, Crowd]
    paces: Mapping[JobKey, Pace]
    weights: Mapping[JobKey, Weight]
    waiting: Mapping[JobKey, tuple[Job, Candidate]]
    fixed: Running | None

    def may(self, key: JobKey, to: int, cause: Cause, starts: JobKey | None = None) -> bool:
        """Say whether such a change could begin now."""
        book = rescale.of(self.snapshot)
        proposal = Proposal(key, to, cause, starts)
        found = beginning.wanted(self.snapshot, book, proposal, self.reading, self.params)
        return isinstance(found, Wanted)


def scene(
    snapshot: Snapshot,
    queue: QueueState,
    known: SpeedMemory,
    reading: Reading,
    params: CoreParameters,
) -> Scene | None:
    """Return what there is to decide on; None, and at no cost, where no job could change."""
    crowds = _crowds(snapshot)
    if not crowds:
        return None
    cycle = QUEUE.decide(Session(snapshot, reading, params), queue, QueueTrigger())
    weight = elastic_jobs.weigher(snapshot, params)
    return Scene(
        snapshot=snapshot,
        reading=reading,
        params=params,
        cycle=cycle,
        room=slot_gate.others(_after(snapshot.room, cycle), snapshot, params),
        crowds=crowds,
        paces={k: speeds.pace(snapshot, c.job, known, reading, params) for k, c in crowds.items()},
        weights={key: weight(one.job) for key, one in crowds.items()},
        waiting=_waiting(cycle, weight, reading.now),
        fixed=elastic_jobs.most_important(snapshot, crowds.keys(), params),
    )


def _crowds(snapshot: Snapshot) -> dict[JobKey, Crowd]:
    keys = elastic_owner.ranged(snapshot)
    if not keys:
        return {}
    busy = set(rescale.of(snapshot).busy)
    busy |= {migration.job for migration in snapshot.migrations.values() if migration.open}
    busy |= plans.planned(snapshot).keys() | profile.unmeasured(snapshot)
    found = {key: elastic_jobs.crowd(snapshot, key) for key in keys if key not in busy}
    return {key: one for key, one in found.items() if one is not None}


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
    known = [(job, elastic_jobs.candidate(job, weight(job), now)) for job in jobs]
    found = [(job, one) for job, one in known if one is not None]
    found.sort(key=lambda pair: pair[1].elastic.rank)
    return {job.key: (job, one) for job, one in found[:MOST_LOOKED_AT]}
