"""What-if: start, nodes and price of a job that is not submitted, and its effect on other jobs.

The queue decides twice and is forecast twice, without the job and with it, on one snapshot, with
one state and one clock reading. The difference is the effect of the job.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from extender.core.cluster import job_views, pod_shape
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import explanation, hypothetical_offers, lists
from extender.core.explain.explanation import ExplainSession
from extender.core.nodes.node_table import FloatVector, NodeTable
from extender.core.parameters.placement import NodePriceParameters
from extender.core.placement import scoring
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PriceLedger
from extender.core.queue import forecast, hypothetical
from extender.core.queue.decision import QUEUE, QueueOutcome
from extender.core.queue.forecast import UNKNOWN, Estimate
from extender.core.queue.hypothetical import HypotheticalJob
from extender.core.queue.state import QueueTrigger
from shared.model import JobKey, NodeName, PodShape
from shared.readapi import api
from shared.readapi.explanation import Bill, Place, Shift

NO_HISTORY: Final = History()
SAME_START_SECONDS: Final = 1.0
"""Closer starts are equal: both forecasts begin at one time and add the same durations."""
LEFT_TO_KUBE_SCHEDULER: Final = (
    "its pods have a requirement that only kube-scheduler checks: it chooses their nodes"
)


@dataclass(frozen=True)
class _Course:
    """A pass of the queue, its releases carried out, and the forecast from there on.

    Attributes:
        session: Inputs of the pass.
        cycle: Its result.
        then: The cluster with the releases carried out.
        estimates: Expected starts.
    """

    session: ExplainSession
    cycle: QueueOutcome
    then: Snapshot
    estimates: Mapping[JobKey, Estimate]

    @cached_property
    def queue(self) -> Mapping[JobKey, lists.Positioned]:
        """Entries of the queue with their positions, in order."""
        return {row[1].job.key: row for row in lists.with_positions(self.cycle.entries)}

    def position(self, key: JobKey) -> int | None:
        """Return the position of a job in the queue; None if it has none."""
        row = self.queue.get(key)
        return row[0] if row else None


def what_if(
    session: ExplainSession,
    job: HypotheticalJob,
    *,
    acting: bool,
    book: PriceLedger | None = None,
    history: History = NO_HISTORY,
) -> api.WhatIfResponse:
    """Return if the job would start now and where, otherwise when, and its effect on others.

    Args:
        session: The cluster, the last pass and the time; unchanged.
        job: The job.
        acting: Whether this replica is the leader.
        book: Promises to jobs with a utility; None if unknown.
        history: Of past jobs with a utility.

    Raises:
        InputError: No such job could be submitted (``hypothetical.with_job``).
    """
    now, scheduler = session.now, session.parameters.scheduler_name
    with_job = hypothetical.with_job(session.snapshot, job, scheduler, now)
    with_it = _course(replace(session, snapshot=with_job))
    without = _course(session)
    key = hypothetical.key_of(job, session.snapshot)
    position, entry = with_it.queue[key]
    starts_now = entry.reason is Reason.RELEASING
    estimate = with_it.estimates.get(key, UNKNOWN)
    if starts_now:
        estimate = forecast.at_once(now, forecast.FITS_NOW)
    places = _places(key, with_it) if starts_now else ()
    unmodelled = _unmodelled(key, with_it) if any(not place.node for place in places) else ()
    answer = api.WhatIfResponse(
        generated_at=now,
        acting=acting,
        job=key,
        pods=len(job.pods),
        starts_now=starts_now,
        entry=lists.queue_entry(position, entry, now, estimate),
        waiting=sum(i is not None for other, (i, _) in with_it.queue.items() if other != key),
        places=places,
        by_node=_by_node(key, with_it, places),
        bill=_bill(key, with_it, places),
        shifts=_shifts(key, without, with_it),
        obstacles=None if starts_now else _obstacles(key, with_it),
        notes=(*job.notes, *unmodelled),
    )
    return hypothetical_offers.with_admission(answer, with_it.session, book, history)


def _unmodelled(key: JobKey, course: _Course) -> tuple[str, ...]:
    """Return a note that kube-scheduler chooses the nodes, and why."""
    members = job_views.view(course.session.snapshot, key).members
    causes = sorted({cause for member in members for cause in member.shape.unmodelled})
    return (f"{LEFT_TO_KUBE_SCHEDULER} ({', '.join(causes)})",)


def _course(session: ExplainSession) -> _Course:
    session.check()
    cycle = QUEUE.decide(session, session.state, QueueTrigger())
    session.check()
    then = hypothetical.carried_out(session.snapshot, cycle)
    estimates = forecast.estimates(replace(session, snapshot=then), cycle)
    return _Course(session, cycle, then, estimates)


def _places(key: JobKey, course: _Course) -> tuple[Place, ...]:
    """Return the nodes of the pods, in the order in which they are bound."""
    gangs = (c for c in course.cycle.commands if isinstance(c, ReleaseGang) and c.job == key)
    job = course.queue[key][1].job
    roles = {member.pod.uid: member.role for member in job.members}
    return tuple(
        Place(pod=pod.pod.partition("/")[2], role=roles[pod.uid], node=pod.node or "")
        for gang in gangs
        for pod in gang.pods
    )


def _by_node(key: JobKey, course: _Course, places: tuple[Place, ...]) -> dict[str, dict[str, int]]:
    """Return what the pods take of each node, by resource."""
    pods = {pod.name: pod.shape for pod in course.session.snapshot.jobs[key]}
    taken: dict[str, Counter[str]] = {}
    for place in places:
        if place.node:
            taken.setdefault(place.node, Counter()).update(dict(pods[place.pod].requests))
    return {node: dict(amounts) for node, amounts in taken.items()}


def _bill(key: JobKey, course: _Course, places: tuple[Place, ...]) -> Bill | None:
    """Return the price of the placement, and the lowest one on an idle cluster."""
    snapshot, params = course.session.snapshot, course.session.parameters.pricing
    table = snapshot.node_table
    pods = {pod.name: pod_shape.with_devices(snapshot, pod) for pod in snapshot.jobs[key]}
    nodes = {place.pod: NodeName(place.node) for place in places if place.node}
    empty = _Bills(table.replaced(used=np.zeros_like(table.used), ports=table.ports), params)
    idle = sum(empty.least(pods[name]) for name in nodes or pods)
    if not math.isfinite(idle):
        return None
    if not nodes:
        return Bill(idle=round(idle, 6))
    present = _Bills(hypothetical.found_by(key, snapshot, course.cycle), params)
    now = sum(present.at(pods[name], node) for name, node in nodes.items())
    return Bill(idle=round(idle, 6), now=round(now, 6))


class _Bills:
    """Prices of a pod by node; computed once for each shape, because many pods share one."""

    def __init__(self, table: NodeTable, params: NodePriceParameters) -> None:
        self._table, self._params = table, params
        self._by_shape: dict[PodShape, FloatVector] = {}

    def at(self, shape: PodShape, node: NodeName) -> float:
        """Return the price on one node."""
        return float(self._all(shape)[self._table.index[node]])

    def least(self, shape: PodShape) -> float:
        """Return the lowest price; infinite if no node has what the pod requests."""
        return float(self._all(shape).min(initial=math.inf))

    def _all(self, shape: PodShape) -> FloatVector:
        if shape not in self._by_shape:
            self._by_shape[shape] = np.exp(scoring.log_bills(self._table, shape, self._params))
        return self._by_shape[shape]


def _shifts(key: JobKey, without: _Course, with_it: _Course) -> tuple[Shift, ...]:
    """Return the other waiting jobs that start later or earlier, or may, in order of the queue."""
    shifts = (_shift(other, without, with_it) for other in with_it.queue if other != key)
    return tuple(shift for shift in shifts if shift is not None)


def _shift(key: JobKey, without: _Course, with_it: _Course) -> Shift | None:
    before = without.estimates.get(key, UNKNOWN)
    after = with_it.estimates.get(key, UNKNOWN)
    later: float | None = None
    if before.starts_at is not None and after.starts_at is not None:
        later = after.starts_at - before.starts_at
        if abs(later) < SAME_START_SECONDS:
            return None
    elif before.starts_at == after.starts_at and not _moves_back(key, without, with_it):
        return None  # no start is known, and the position is not later
    return Shift(
        job=key,
        position_without=without.position(key),
        position_with=with_it.position(key),
        start_without=before.starts_at,
        start_with=after.starts_at,
        later_seconds=later,
        estimate_without=before.why,
        estimate_with=after.why,
    )


def _moves_back(key: JobKey, without: _Course, with_it: _Course) -> bool:
    """Return True if the job has a later position: it may start later, by an unknown time."""
    before, after = without.position(key), with_it.position(key)
    return before is not None and after is not None and after > before


def _obstacles(key: JobKey, course: _Course) -> api.ExplainResponse:
    """Explain the job as if it were submitted and that pass had been the last."""
    session = replace(course.session, snapshot=course.then, cycle=course.cycle)
    return explanation.job(session, key)
