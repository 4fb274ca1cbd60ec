"""Which part of a list is wanted: a list of a large cluster is told in pages."""

import math
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice
from types import MappingProxyType
from typing import Final

import numpy as np

from extender.core.agents import report_view
from extender.core.agents.report_view import Freshness
from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import positions, slot_plans
from extender.core.explain.endings import Endings
from extender.core.explain.slot_plans import Bargains, More
from extender.core.nodes.node_table import FloatVector, IntVector, NodeTable
from extender.core.parameters.agents import AgentReportParameters
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import scoring
from extender.core.pricing.outcome import JobStatus
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.forecast import UNKNOWN, Estimate
from extender.core.queue.notices import QueueEntry
from extender.core.queue.state import QueueState
from extender.core.queue.weighting import Weight
from extender.core.records.slot_plan import plans_by_job
from shared import api
from shared.ledgers import WorkersEntry
from shared.model import JobKey, Node

MOST_ENTRIES: Final = 500
"""Of one page: a job takes about a millisecond to describe, and its entry about a kilobyte."""


@dataclass(frozen=True)
class Page:
    """See the module.

    Attributes:
        limit: Entries at most.
        after: What the page before ended with (``Listed.more``); empty for the first page.
        namespaces: Whose entries are wanted; None: of all.
    """

    limit: int
    after: str = ""
    namespaces: AbstractSet[str] | None = None

    def shows(self, namespace: str) -> bool:
        """Say whether entries of a namespace are wanted."""
        return self.namespaces is None or namespace in self.namespaces


WHOLE: Final = Page(limit=10**9)
"""All of it."""


# === Lists for people: the queue, the nodes, the jobs.


NO_MORE = More()


_NOT_READY = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})


def queue(
    cycle: QueueOutcome | None,
    params: CoreParameters,
    *,
    now: float,
    acting: bool,
    estimates: Mapping[JobKey, Estimate] = MappingProxyType({}),
    bargains: Bargains = slot_plans.UNKNOWN,
    page: Page = WHOLE,
) -> api.QueueResponse:
    """Return the queue as the last cycle saw it; empty before the first.

    Of a ``page``, ``after`` is how many entries stand before it.
    """
    placed = positions.placed(cycle.entries if cycle else ())
    after = int(page.after or 0)
    numbered = enumerate(placed[after:], start=after + 1)
    wanted = ((i, *one) for i, one in numbered if page.shows(one[1].job.namespace))
    found = list(islice(wanted, page.limit + 1))
    told = found[: page.limit]
    return api.QueueResponse(
        generated_at=now,
        acting=acting,
        order=params.order.value,
        entries=tuple(
            queue_entry(at, one, now, estimates.get(one.job.key, UNKNOWN), bargains.of(one.job))
            for _, at, one in told
        ),
        more=str(told[-1][0]) if len(found) > len(told) else "",
    )


def nodes(
    snapshot: Snapshot,
    params: CoreParameters,
    freshness: Freshness,
    *,
    now: float,
    page: Page = WHOLE,
) -> api.NodesResponse:
    """Return every node with what it has, what is taken, what it costs, what its agent says."""
    room = snapshot.room
    seats = Counter(seat.node for seat in snapshot.seats.values())
    logs = _log_prices(room, params)
    wanted = ((i, node) for i, node in enumerate(room.nodes) if node.name > page.after)
    found = nsmallest(page.limit + 1, wanted, key=lambda pair: pair[1].name)
    told = found[: page.limit]
    entries = tuple(
        api.NodeEntry(
            name=node.name,
            ready=_is_ready(node),
            unschedulable=node.unschedulable,
            allocatable=_amounts(room.resources, room.allocatable[i]),
            used=_amounts(room.resources, room.used[i]),
            seats=seats[node.name],
            relative_price=round(float(logs[i]) / math.log(params.pricing.kappa), 6),
            log_price=round(float(logs[i]), 6),
            agent=report_view.agent(snapshot, node.name, freshness),
        )
        for i, node in told
    )
    more = told[-1][1].name if len(found) > len(told) else ""
    return api.NodesResponse(generated_at=now, entries=entries, more=more)


def all_jobs(
    snapshot: Snapshot,
    freshness: Freshness,
    *,
    now: float,
    standings: Mapping[JobKey, JobStatus] = MappingProxyType({}),
    memory: QueueState | None = None,
    page: Page = WHOLE,
) -> api.JobsResponse:
    """Return all jobs of ours, by key, each with how far it is; only those of a page are viewed."""
    bargains = Bargains(snapshot, standings, now)
    reading = Reading(now, freshness.monotonic)
    params = CoreParameters(
        agent_reports=AgentReportParameters(stale_seconds=freshness.stale_seconds)
    )
    endings = Endings(Session(snapshot, reading, params), memory or QueueState())
    paused = (key for key in standings if key not in snapshot.jobs)
    keys = ((key.split("/", 2), key) for key in chain(snapshot.jobs, paused))
    after = page.after.split("/", 2)
    wanted = (one for one in keys if one[0] > after and page.shows(one[0][0]))
    found = nsmallest(page.limit + 1, wanted)
    told = [key for _, key in found[: page.limit]]
    views = (
        _job(job_views.view(snapshot, key), freshness, bargains, endings)
        if key in snapshot.jobs
        else _paused(bargains, key)
        for key in told
    )
    return api.JobsResponse(
        generated_at=now,
        entries=tuple(one for one in views if one is not None),
        more=told[-1] if len(found) > len(told) else "",
    )


def _log_prices(room: NodeTable, params: CoreParameters) -> FloatVector:
    """Return ln(P/L) of the dearest resource of each node; 0 for a node that has none."""
    prices = scoring.log_prices(room, params.pricing)
    dearest: FloatVector = np.where(np.isfinite(prices), prices, 0.0).max(axis=1, initial=0.0)
    return dearest


def queue_entry(
    position: int | None, entry: QueueEntry, now: float, estimate: Estimate, more: More = NO_MORE
) -> api.QueueEntry:
    """Return a waiting job's line in the queue."""
    job, value = entry.job, entry.value
    return api.QueueEntry(
        position=position,
        job=job.name,
        namespace=job.namespace,
        kind=job.kind,
        created_at=job.created_at,
        v=value.v,
        terms=api.Terms(
            u=value.u,
            b=value.b,
            l=value.l,
            m=value.m,
            e_normalised=value.e_normalised,
            m_normalised=value.m_normalised,
        ),
        waited_seconds=max(0.0, now - job.created_at),
        members=len(job.members),
        min_available=job.min_available,
        reason=entry.reason.value,
        message="; ".join(text for text in (entry.message, entry.note) if text),
        weight=_weight(entry.weight),
        max_wait_seconds=job.spec.max_wait_seconds,
        estimated_start=estimate.starts_at,
        estimate=estimate.why,
        workers=more.workers,
        admission=more.admission,
    )


def _weight(weight: Weight | None) -> api.Weight | None:
    if weight is None:
        return None
    return api.Weight(
        utility=weight.utility,
        size=weight.size,
        cpu_ratio=weight.cpu_ratio,
        memory_ratio=weight.memory_ratio,
    )


def _job(job: Job, freshness: Freshness, bargains: Bargains, endings: Endings) -> api.JobEntry:
    snapshot = endings.session.snapshot
    counts = Counter(member.state.value for member in job.members)
    more = bargains.of(job)
    return api.JobEntry(
        job=job.name,
        namespace=job.namespace,
        kind=job.kind,
        created_at=job.created_at,
        min_available=job.min_available,
        members=len(job.members),
        counts=api.MemberCounts(**counts),
        problem=job.problem.message if job.problem else "",
        warnings=job.warnings,
        nodes=tuple(sorted({m.node for m in job.members if m.node is not None})),
        progress=report_view.progress(snapshot, job, freshness),
        progress_problem=report_view.progress_problem(snapshot, job),
        checkpoint=report_view.checkpoint(snapshot, job, now=bargains.now),
        workers=more.workers,
        admission=more.admission,
        end=endings.of(job),
    )


def _paused(bargains: Bargains, key: JobKey) -> api.JobEntry | None:
    """Return a job whose plan pauses it so that it has no pods; None for every other."""
    standing = bargains.standings[key]
    if standing.plan is None or bargains.snapshot is None or key in bargains.snapshot.jobs:
        return None
    namespace, kind, name = key.split("/", 2)
    noted = plans_by_job(bargains.snapshot).get(key)
    asked = standing.plan.asked
    return api.JobEntry(
        job=name,
        namespace=namespace,
        kind=kind,
        created_at=noted.owner.created_at if noted else bargains.now,
        min_available=asked.least + asked.servers,
        members=0,
        counts=api.MemberCounts(),
        workers=WorkersEntry(now=0, least=asked.least, most=asked.most, stated=0),
        admission=slot_plans.admission(standing, now=bargains.now),
    )


def _is_ready(node: Node) -> bool:
    return not any(taint.key in _NOT_READY for taint in node.taints)


def _amounts(resources: tuple[str, ...], row: IntVector) -> dict[str, int]:
    return {name: int(amount) for name, amount in zip(resources, row, strict=True) if amount}
