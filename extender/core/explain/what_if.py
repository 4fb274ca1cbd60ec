"""What would become of a job if it were submitted now: the same cycle and the same play, twice.

Once without the job and once with it, on one snapshot, with one memory and one clock reading. What
differs is what the job does to the others.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from extender.core.cluster import job_views
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import explanation, hypothetical_offers, positions
from extender.core.explain.explanation import Asked
from extender.core.explain.lists import queue_entry
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
from shared import api
from shared.explanation import Bill, Place, Shift
from shared.model import JobKey, NodeName, PodShape

NO_HISTORY: Final = History()
SAME_START_SECONDS: Final = 1.0
"""Starts nearer than this are one: both plays begin at one moment, and add the same durations."""
LEFT_TO_KUBE_SCHEDULER: Final = (
    "its pods ask for something that kube-scheduler alone judges: it chooses their node"
)


@dataclass(frozen=True)
class _Course:
    """How things go on: a cycle now, its releases carried out, and when the others start."""

    snapshot: Snapshot
    cycle: QueueOutcome
    then: Snapshot
    estimates: Mapping[JobKey, Estimate]

    @cached_property
    def placed(self) -> Mapping[JobKey, positions.Placed]:
        """Entries of the queue with their places, in order."""
        return {one[1].job.key: one for one in positions.placed(self.cycle.entries)}

    def position(self, key: JobKey) -> int | None:
        """Return the place of a job in the queue; None if it has none."""
        found = self.placed.get(key)
        return found[0] if found else None


def what_if(
    asked: Asked,
    supposed: HypotheticalJob,
    *,
    acting: bool,
    book: PriceLedger | None = None,
    history: History = NO_HISTORY,
) -> api.WhatIfResponse:
    """Return whether the job would start now and where, otherwise when, and what that changes.

    Args:
        asked: The cluster, the last cycle and now; nothing of it is changed.
        supposed: The job.
        acting: Whether the replica that answers is the one that decides.
        book: What is promised to jobs with a utility; None if that is not known.
        history: What past ones taught.

    Raises:
        InputError: The job cannot be supposed (``supposing.with_job``).
    """
    now, name = asked.reading.now, asked.params.scheduler_name
    with_it = _course(asked, hypothetical.with_job(asked.snapshot, supposed, name, now))
    without = _course(asked, asked.snapshot)
    key = hypothetical.key_of(supposed, asked.snapshot)
    at, entry = with_it.placed[key]
    starts_now = entry.reason is Reason.RELEASING
    estimate = with_it.estimates.get(key, UNKNOWN)
    if starts_now:
        estimate = Estimate(now, forecast.FITS_NOW)
    places = _places(key, with_it) if starts_now else ()
    unmodelled = _unmodelled(key, with_it) if any(not one.node for one in places) else ()
    answer = api.WhatIfResponse(
        generated_at=now,
        acting=acting,
        job=key,
        pods=len(supposed.pods),
        starts_now=starts_now,
        entry=queue_entry(at, entry, now, estimate),
        waiting=sum(at is not None for other, (at, _) in with_it.placed.items() if other != key),
        places=places,
        bill=_bill(key, with_it, places, asked),
        shifts=_shifts(key, without, with_it),
        obstacles=None if starts_now else _obstacles(asked, key, with_it),
        notes=(*supposed.notes, *unmodelled),
    )
    return hypothetical_offers.offered(answer, asked, with_it.snapshot, book, history)


def _unmodelled(key: JobKey, course: _Course) -> tuple[str, ...]:
    """Return that kube-scheduler chooses the nodes, and for what the pods ask."""
    seen = job_views.view(course.snapshot, key)
    words = sorted({word for member in seen.members for word in member.shape.unmodelled})
    return (f"{LEFT_TO_KUBE_SCHEDULER} ({', '.join(words)})",)


def _course(asked: Asked, snapshot: Snapshot) -> _Course:
    asked.check()
    session = Session(snapshot, asked.reading, asked.params)
    cycle = QUEUE.decide(session, asked.memory, QueueTrigger())
    asked.check()
    then = hypothetical.carried_out(snapshot, cycle)
    estimates = forecast.estimates(replace(session, snapshot=then), cycle)
    return _Course(snapshot, cycle, then, estimates)


def _places(key: JobKey, course: _Course) -> tuple[Place, ...]:
    """Return where the pods go, in the order in which they are bound."""
    gangs = (c for c in course.cycle.commands if isinstance(c, ReleaseGang) and c.job == key)
    job = course.placed[key][1].job
    roles = {member.pod.uid: member.role for member in job.members}
    return tuple(
        Place(pod=one.pod.partition("/")[2], role=roles[one.uid], node=one.node or "")
        for gang in gangs
        for one in gang.pods
    )


def _bill(key: JobKey, course: _Course, places: tuple[Place, ...], asked: Asked) -> Bill | None:
    """Return what the placement costs beside the same on an idle cluster."""
    room, params = course.snapshot.room, asked.params.pricing
    pods = {pod.name: pod.shape for pod in course.snapshot.jobs[key]}
    seated = {one.pod: NodeName(one.node) for one in places if one.node}
    empty = _Bills(room.replaced(used=np.zeros_like(room.used), ports=room.ports), params)
    idle = sum(empty.least(pods[name]) for name in seated or pods)
    if not math.isfinite(idle):
        return None
    if not seated:
        return Bill(idle=round(idle, 6))
    found = _Bills(hypothetical.found_by(key, course.snapshot, course.cycle), params)
    now = sum(found.at(pods[name], node) for name, node in seated.items())
    return Bill(idle=round(idle, 6), now=round(now, 6))


class _Bills:
    """What nodes charge for a pod; pods of one shape are many, and are asked about once."""

    def __init__(self, room: NodeTable, params: NodePriceParameters) -> None:
        self._room, self._params = room, params
        self._known: dict[PodShape, FloatVector] = {}

    def at(self, shape: PodShape, node: NodeName) -> float:
        """Return the bill of one node."""
        return float(self._all(shape)[self._room.index[node]])

    def least(self, shape: PodShape) -> float:
        """Return the lowest bill; infinite if no node has what the pod asks for."""
        return float(self._all(shape).min(initial=math.inf))

    def _all(self, shape: PodShape) -> FloatVector:
        if shape not in self._known:
            self._known[shape] = np.exp(scoring.log_bills(self._room, shape, self._params))
        return self._known[shape]


def _shifts(key: JobKey, without: _Course, with_it: _Course) -> tuple[Shift, ...]:
    """Return the other waiting jobs that start later or earlier, or may, in order of the queue."""
    found = (_shift(other, without, with_it) for other in with_it.placed if other != key)
    return tuple(one for one in found if one is not None)


def _shift(key: JobKey, without: _Course, with_it: _Course) -> Shift | None:
    before = without.estimates.get(key, UNKNOWN)
    after = with_it.estimates.get(key, UNKNOWN)
    later: float | None = None
    if before.starts_at is not None and after.starts_at is not None:
        later = after.starts_at - before.starts_at
        if abs(later) < SAME_START_SECONDS:
            return None
    elif before.starts_at == after.starts_at and not _moves_back(key, without, with_it):
        return None  # no start is known, and the job waits where it waited
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
    """Whether the job has a later place: it may start later, by a time that is not known."""
    before, after = without.position(key), with_it.position(key)
    return before is not None and after is not None and after > before


def _obstacles(asked: Asked, key: JobKey, course: _Course) -> api.ExplainResponse:
    """Explain it as if it were there and that cycle had been the last."""
    return explanation.job(replace(asked, snapshot=course.then, cycle=course.cycle), key)
