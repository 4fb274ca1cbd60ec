"""Lists of the read API: the waiting queue, the nodes and the namespaces; pages of lists.

**Positions.** Waiting jobs that can start have the positions 1, 2, …; jobs that need a change first
have none. A misconfigured job, or one larger than any node, stays at the front of the order until
it is changed, but it delays no other job, so others must not count it.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple, Self

import numpy as np

from extender.core.agents import reports
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain.job_details import JobDetails, job_details, requested
from extender.core.nodes import leaving
from extender.core.nodes.device_columns import repeated
from extender.core.nodes.goods import Goods, goods
from extender.core.nodes.gpus import shared_devices
from extender.core.nodes.node_table import FloatVector, IntVector, NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement import scoring, wishes
from extender.core.pricing.outcome import JobStatus
from extender.core.queue import namespace_shares
from extender.core.queue.contenders import Standing
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.forecast import UNKNOWN, Estimate
from extender.core.queue.notices import QueueEntry
from extender.core.queue.weighting import Weight
from shared import labels
from shared.model import JobKey, Node, PodShape
from shared.readapi import api
from shared.readapi.scores import StandingEntry
from shared.readapi.tenancy import NamespaceEntry, NamespacesResponse

MOST_ENTRIES: Final = 500
"""Of one page: a job takes about a millisecond to describe, and its entry about a kilobyte."""
_NO_DETAILS: Final = JobDetails()
_NOT_READY: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})

Positioned = tuple[int | None, QueueEntry]
"""An entry of the queue and its position, which counts from 1."""


@dataclass(frozen=True)
class Page:
    """One page of a list.

    Attributes:
        limit: Entries at most.
        after: Where the page before ended (``Listed.more``); empty for the first page.
        namespaces: List entries of these namespaces only; None: of all.
    """

    limit: int
    after: str = ""
    namespaces: AbstractSet[str] | None = None

    def shows(self, namespace: str) -> bool:
        """Return True if entries of this namespace are listed."""
        return self.namespaces is None or namespace in self.namespaces


WHOLE: Final = Page(limit=10**9)
"""The whole list."""


def with_positions(entries: Sequence[QueueEntry]) -> tuple[Positioned, ...]:
    """Return the entries with their positions; those without one are last."""
    able = [entry for entry in entries if not entry.reason.needs_action]
    stuck = [entry for entry in entries if entry.reason.needs_action]
    return (*enumerate(able, start=1), *((None, entry) for entry in stuck))


def queue(
    session: Session,
    cycle: QueueOutcome | None,
    *,
    acting: bool,
    estimates: Mapping[JobKey, Estimate] = MappingProxyType({}),
    standings: Mapping[JobKey, JobStatus] = MappingProxyType({}),
    page: Page = WHOLE,
) -> api.QueueResponse:
    """Return the queue of the last pass; empty before the first.

    Args:
        session: The cluster and the time.
        cycle: The last pass of the queue.
        acting: Whether this replica is the leader.
        estimates: Expected starts.
        standings: Of jobs with a utility.
        page: Its ``after`` is the number of entries before the page.
    """
    after = int(page.after or 0)
    entries = cycle.entries if cycle else ()
    listed = with_positions(entries)[after:]
    matching = (
        (number, position, entry)
        for number, (position, entry) in enumerate(listed, start=after + 1)
        if page.shows(entry.job.namespace)
    )
    rows = list(islice(matching, page.limit + 1))
    shown = rows[: page.limit]
    return api.QueueResponse(
        generated_at=session.now,
        acting=acting,
        order=session.parameters.order.value,
        entries=tuple(
            queue_entry(
                position,
                entry,
                session.now,
                estimates.get(entry.job.key, UNKNOWN),
                job_details(session, entry.job, standings),
            )
            for _, position, entry in shown
        ),
        more=str(shown[-1][0]) if len(rows) > len(shown) else "",
        others=None if after else _others(entries, page),
    )


def _others(entries: Sequence[QueueEntry], page: Page) -> api.Others | None:
    """Return the jobs of namespaces that are not listed; None if all namespaces are."""
    if page.namespaces is None:
        return None
    hidden = [entry.job for entry in entries if not page.shows(entry.job.namespace)]
    total: Counter[str] = Counter()
    for job in hidden:
        total.update(requested(job))
    return api.Others(jobs=len(hidden), requests=dict(sorted(total.items())))


def nodes(session: Session, page: Page = WHOLE) -> api.NodesResponse:
    """Return the nodes with their capacity, use and price, and the state of their agents."""
    snapshot, params = session.snapshot, session.parameters
    table, freshness = snapshot.node_table, reports.freshness(session)
    reserved = Counter(reservation.node for reservation in snapshot.reservations.values())
    logs, kappa = _log_prices(table, params).tolist(), math.log(params.pricing.kappa)
    counted, shared = _Counted.of(table), shared_devices(table)
    allocatable, used = table.allocatable.tolist(), table.used.tolist()
    matching = ((i, node) for i, node in enumerate(table.nodes) if node.name > page.after)
    rows = nsmallest(page.limit + 1, matching, key=lambda pair: pair[1].name)
    shown = rows[: page.limit]
    entries = tuple(
        api.NodeEntry(
            name=node.name,
            ready=_is_ready(node),
            unschedulable=node.unschedulable,
            leaving=_leaving(node, params),
            allocatable=counted.amounts(allocatable[i]),
            used=counted.amounts(used[i]),
            seats=reserved[node.name],
            relative_price=round(logs[i] / kappa, 6),
            log_price=round(logs[i], 6),
            agent=reports.agent(snapshot, node.name, freshness),
            domains=_domains(node, params.topology),
            gpu_model=wishes.model_of(node),
            gpu_devices=shared.get(i, {}),
        )
        for i, node in shown
    )
    more = shown[-1][1].name if len(rows) > len(shown) else ""
    return api.NodesResponse(generated_at=session.now, entries=entries, more=more)


def namespaces(session: Session, cycle: QueueOutcome | None, *, acting: bool) -> NamespacesResponse:
    """Return every namespace that has jobs of ours; waiting jobs are those of the last pass."""
    snapshot = session.snapshot
    entries = cycle.entries if cycle else ()
    waiting = Counter(e.job.namespace for e in entries if e.reason is not Reason.RELEASING)
    by_job = namespace_shares.by_job(snapshot)
    names = {key.partition("/")[0] for key in snapshot.jobs} | waiting.keys()
    shapes: dict[str, list[PodShape]] = {name: [] for name in names}
    running: Counter[str] = Counter()
    for key, held in by_job:
        name = key.partition("/")[0]
        running[name] += 1
        shapes[name] += held
    counted = goods(snapshot.node_table, session.parameters.job_size)
    listed = (
        _namespace(
            name, snapshot, shapes[name], counted, waiting=waiting[name], running=running[name]
        )
        for name in sorted(names)
    )
    return NamespacesResponse(
        generated_at=session.now,
        acting=acting,
        fair_share=session.parameters.fair_share.enabled,
        entries=tuple(listed),
    )


def _log_prices(table: NodeTable, params: CoreParameters) -> FloatVector:
    """Return ln(P/L) of the dearest resource of each node; 0 for a node that has none."""
    prices = scoring.log_prices(table, params.pricing)
    dearest: FloatVector = np.where(np.isfinite(prices), prices, 0.0).max(axis=1, initial=0.0)
    return dearest


def queue_entry(
    position: int | None,
    entry: QueueEntry,
    now: float,
    estimate: Estimate,
    details: JobDetails = _NO_DETAILS,
) -> api.QueueEntry:
    """Return a waiting job's entry of the queue."""
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
            m_unit=api.MILLI_GPUS if value.of_gpus else api.WORKERS,
            e_normalised=value.e_normalised,
            m_normalised=value.m_normalised,
        ),
        waited_seconds=max(0.0, now - job.created_at),
        members=len(job.members),
        min_available=job.min_available,
        reason=entry.reason.value,
        message="; ".join(text for text in (entry.message, entry.note) if text),
        weight=_weight(entry.weight),
        standing=_standing(entry.standing),
        max_wait_seconds=job.spec.max_wait_seconds,
        estimated_start=estimate.starts_at,
        earliest_start=estimate.earliest,
        latest_start=estimate.latest,
        estimate=estimate.why,
        workers=details.workers,
        admission=details.admission,
        requests=requested(job),
    )


def _weight(weight: Weight | None) -> api.Weight | None:
    if weight is None:
        return None
    return api.Weight(
        utility=weight.utility,
        size=weight.size,
        cpu_ratio=weight.cpu_ratio,
        memory_ratio=weight.memory_ratio,
        gpu_ratio=weight.gpu_ratio,
    )


def _standing(standing: Standing | None) -> StandingEntry | None:
    if standing is None:
        return None
    place, left = standing.place, standing.left
    return StandingEntry(
        group=place.rank.name.lower(),
        needs=left.seconds,
        source="" if left.source is None else left.source.value,
        weight=place.weight,
    )


def _namespace(
    name: str,
    snapshot: Snapshot,
    shapes: list[PodShape],
    counted: Goods,
    *,
    waiting: int,
    running: int,
) -> NamespaceEntry:
    entitled, problem = namespace_shares.entitlement(name, snapshot)
    table = snapshot.node_table
    total = namespace_shares.total(shapes, table)
    return NamespaceEntry(
        namespace=name,
        waiting=waiting,
        running=running,
        held=_held(table, total),
        share=round(counted.share(total), 6),
        weight=entitled.weight,
        guaranteed_share=entitled.guaranteed,
        limit=None if math.isinf(entitled.limit) else round(entitled.limit, 6),
        problem=problem,
    )


def _leaving(node: Node, params: CoreParameters) -> str:
    why = leaving.leaving(node, params.drain)
    return "" if why is None else why.text


def _domains(node: Node, topology: TopologyParameters) -> dict[str, str]:
    """Return the domains of a node by level; without the level of the nodes themselves."""
    return {
        level.name: node.labels[level.label]
        for level in topology.levels
        if level.label in node.labels and level.label != labels.HOSTNAME_LABEL
    }


def _is_ready(node: Node) -> bool:
    return not any(taint.key in _NOT_READY for taint in node.taints)


class _Counted(NamedTuple):
    """The columns of a table whose amounts are listed, each device once."""

    columns: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, table: NodeTable) -> Self:
        again = repeated(table.counted_with)
        return cls(tuple((i, name) for i, name in enumerate(table.resources) if name not in again))

    def amounts(self, row: Sequence[int]) -> dict[str, int]:
        """Return the amounts of a row by resource."""
        return {name: row[i] for i, name in self.columns if row[i]}


def _held(table: NodeTable, row: IntVector) -> dict[str, int]:
    """Return what is held by resource, by whatever name it was requested."""
    amounts = zip(table.resources, row.tolist(), strict=True)
    joint = {column for columns in table.counted_with.values() for column in columns}
    return {name: amount for name, amount in amounts if amount and name not in joint}
