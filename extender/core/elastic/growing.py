"""Running jobs get workers more from what is left, or lose those that slow them.

A part of the rule ``scaling`` (docs/policies/scaling.md).
"""

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from extender.core.elastic.scaling_values import (
    Addition,
    Draft,
    Elastic,
    Removal,
    Running,
    Why,
    Worker,
)
from extender.core.nodes.goods import dominant_share
from extender.core.nodes.node_table import NodeTable
from shared.model import JobKey, NodeName, Uid


class _Step(NamedTuple):
    """One worker more for a job; in the order in which steps are made, the best first."""

    loss: float
    """Minus the gain."""
    order: int
    """Of the job, the most important first."""
    node: NodeName
    saved_seconds: float


def in_turns(draft: Draft, jobs: Sequence[JobKey]) -> tuple[tuple[Addition, ...], Draft]:
    """Give every job one worker after the other until nothing fits or all have their most.

    Args:
        draft: The cluster; what must stay free is taken in its room.
        jobs: Jobs that may grow, the most important first.

    Source:
        DRS, algorithm 4, corrected: as printed a worker is added at most once a node, and one job
        that does not fit stops all others.
    """
    additions: list[Addition] = []
    growing = list(jobs)
    while growing:
        still = []
        for job in growing:
            node = spot(draft.running[job], draft.node_table)
            if node is None:  # room only shrinks, so it will not fit later either
                continue
            draft = draft.with_one(job, _newcomer(draft.running[job], node))
            additions.append(Addition(job, node, Why.ROOM_LEFT))
            still.append(job)
        growing = still
    return tuple(additions), draft


def by_gain(
    draft: Draft, jobs: Sequence[JobKey], pauses: float
) -> tuple[tuple[Addition, ...], Draft]:
    """Give one worker after the other to the job that gains most from the room it takes.

    The gain is the time it saves, divided by the dominant share of a worker. It must save more than
    so many pauses: a job that is past its best number of workers saves none.

    Args:
        draft: As in ``in_turns``.
        jobs: Jobs that may grow, the most important first: it wins between equal gains.
        pauses: How many pauses a change must save.

    Source:
        Optimus (EuroSys 2018), Sect. 4.1; the pauses are ours.
    """
    additions: list[Addition] = []
    heap = [s for i, job in enumerate(jobs) if (s := _step(draft, job, i, pauses)) is not None]
    heapify(heap)
    while heap:
        order = heappop(heap).order
        job = jobs[order]
        step = _step(draft, job, order, pauses)  # its node may have been taken
        if step is None:
            continue
        if heap and heap[0] < step:  # room only shrinks, so no gain has grown
            heappush(heap, step)
            continue
        draft = draft.with_one(job, _newcomer(draft.running[job], step.node))
        additions.append(Addition(job, step.node, Why.SAVES_TIME, step.saved_seconds))
        if (after := _step(draft, job, order, pauses)) is not None:
            heappush(heap, after)
    return tuple(additions), draft


def slowing(
    draft: Draft, jobs: Sequence[JobKey], pauses: float
) -> tuple[tuple[Removal, ...], Draft]:
    """Take away the workers without which a job ends earlier by more than so many pauses."""
    removals: list[Removal] = []
    for job in jobs:
        while removal := _slowest(draft.running[job], pauses):
            worker, saved = removal
            removals.append(Removal(job, worker, Why.SLOWS, saved_seconds=saved))
            draft = draft.without(job, worker)
    return tuple(removals), draft


def spot(running: Running, room: NodeTable) -> NodeName | None:
    """Return the node for one worker more; None if the job has its most, or no node has room.

    A node of its servers first, then the node with most of its workers, then the one with least
    room left (best fit), then the first name.
    """
    if len(running.workers) >= running.elastic.most:
        return None
    fits = room.feasible(running.elastic.worker)
    capacity = np.maximum(room.allocatable.sum(axis=0), 1)
    left = (room.free / capacity).sum(axis=1)
    workers = Counter(worker.node for worker in running.workers)
    for own in (running.servers, workers):
        rows = [room.index[name] for name in own if name in room.index]
        ranked = [(-workers[room.nodes[i].name], float(left[i]), i) for i in rows if fits[i]]
        if ranked:
            return room.nodes[min(ranked)[2]].name
    if not fits.any():
        return None
    return room.nodes[int(np.where(fits, left, np.inf).argmin())].name  # nodes are in name order


def _newcomer(running: Running, node: NodeName) -> Worker:
    """Return a worker that does not exist yet, under a name no pod has."""
    return Worker(Uid(f"{running.elastic.job}#{len(running.workers)}"), node)


def _step(draft: Draft, job: JobKey, order: int, pauses: float) -> _Step | None:
    running = draft.running[job]
    before = running.seconds_left()
    node = spot(running, draft.node_table)
    if node is None or before is None:
        return None
    after = running.with_one(_newcomer(running, node)).seconds_left()
    saved = 0.0 if after is None else before - after
    if not saved > pauses * running.elastic.pause_seconds:
        return None
    return _Step(-saved / share_of_worker(running.elastic, draft.node_table), order, node, saved)


def share_of_worker(job: Elastic, room: NodeTable) -> float:
    """Return the largest share of the cluster that a worker takes of any resource."""
    return max(1e-9, dominant_share(room.demand(job.worker), room.allocatable.sum(axis=0)))


def _slowest(running: Running, pauses: float) -> tuple[Worker, float] | None:
    """Return the worker whose removal saves most time, and how much; None: none saves enough."""
    before = running.seconds_left()
    if before is None or len(running.workers) <= running.elastic.least:
        return None
    ranked = []
    for worker in running.may_go:
        after = running.without(worker.uid).seconds_left()
        saved = 0.0 if after is None else before - after
        if saved > pauses * running.elastic.pause_seconds:
            ranked.append((-saved, worker.node, worker.uid, worker))
    if not ranked:
        return None
    saved, *_, worker = min(ranked, key=lambda entry: entry[:3])
    return worker, -saved
