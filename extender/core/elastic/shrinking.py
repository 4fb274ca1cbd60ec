"""Workers of others leave so that a waiting job fits: all it needs, or none.

A part of the rule ``scaling`` (docs/policies/scaling.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from extender.core.elastic.scaling_values import Candidate, Draft, Running, Worker
from extender.core.nodes.node_table import IntVector, NodeTable
from extender.core.placement.placement import Placement
from shared.model import JobKey


@dataclass(frozen=True)
class StarterPlacement:
    """Places of all servers and so many workers of the starter."""

    workers: int
    placement: Placement


Fit = Callable[[NodeTable], StarterPlacement | None]
"""Place the job that is to start, with as many workers as it may have and as fit."""
Release = tuple[JobKey, Worker]


@dataclass(frozen=True)
class Shrunk:
    """The workers that leave, in order; the starter's nodes then; the cluster without them."""

    releases: tuple[Release, ...]
    places: StarterPlacement
    draft: Draft


def shrink(starter: Candidate, victims: Sequence[JobKey], draft: Draft, fit: Fit) -> Shrunk | None:
    """Return the workers that must leave for the starter to fit; None if no number is enough.

    In turns, the first victim first, each gives up one worker as long as it has more than its
    least, until the starter fits. If the choice is free, it is the worker on the node on which the
    starter lacks least. In the end those come back, last first, that were not needed after all.

    Args:
        starter: The job that is to start.
        victims: Jobs that may lose workers, the least important first.
        draft: The cluster.
        fit: Places the starter.

    Source:
        DRS, algorithm 3, corrected: as printed it takes from any job, counts nodes for workers,
        gives a worker's room to every node, and leaves failure open. In turns instead of job after
        job: N. Prima Yoriko 2022 (ITB). That some come back is ours.
    """
    if _never_enough(starter, victims, draft):
        return None
    releases: list[Release] = []
    after = draft
    while True:
        before = len(releases)
        for job in victims:
            if (worker := _next(after.running[job], after.node_table, starter)) is None:
                continue
            after = after.without(job, worker)
            releases.append((job, worker))
            if _has_slots(starter, starter.elastic.least, after.node_table) and (
                places := fit(after.node_table)
            ):
                return _spared(starter, Shrunk(tuple(releases), places, after), fit)
        if len(releases) == before:
            return None


def kept_free(candidate: Candidate, room: NodeTable) -> NodeTable:
    """Return the room with those pods of a waiting job in it that already have room.

    Servers first, each pod on the node that lacks least for the whole job.
    """
    job = candidate.elastic
    lack = _lack(_needs(candidate, candidate.wanted, room), room)
    servers = [job.server] * job.servers if job.server is not None else []
    for shape in (*servers, *[job.worker] * candidate.wanted):
        fitting = np.flatnonzero(room.feasible(shape)).tolist()
        if fitting:
            room = room.with_pods([(shape, min(fitting, key=lambda node: (lack[node], node)))])
    return room


def _never_enough(starter: Candidate, victims: Sequence[JobKey], draft: Draft) -> bool:
    """Return True if all that is free or could be is less than the starter's least."""
    room, job = draft.node_table, starter.elastic
    sums = np.maximum(room.free, 0).sum(axis=0)
    spare = 0
    for key in victims:
        running = draft.running[key]
        count = len(running.workers) - running.elastic.least
        sums += max(0, count) * room.demand(running.elastic.worker)
        spare += max(0, count)
    return spare == 0 or bool((_needs(starter, job.least, room) > sums).any())


def _has_slots(starter: Candidate, workers: int, room: NodeTable) -> bool:
    """Return True if so many of the starter's workers fit on the nodes, nothing else considered.

    A placement costs a thousand times as much, and most attempts fail here already.
    """
    worker = starter.elastic.worker
    demand = room.demand(worker)
    asked = demand > 0
    slots = np.maximum(room.free[:, asked] // demand[asked], 0).min(axis=1, initial=workers)
    return int(slots[room.classes.mask(worker)].sum()) >= workers


def _next(running: Running, room: NodeTable, starter: Candidate) -> Worker | None:
    """Return the worker that this job gives up next; None if it has none that could help."""
    if len(running.workers) <= running.elastic.least:
        return None
    if not running.any_worker:
        return running.workers[0]
    usable = room.classes.mask(starter.elastic.worker)
    places = [(w, room.index[w.node]) for w in running.workers if w.node in room.index]
    useful = [(w, node) for w, node in places if usable[node]]
    lack = _lack(_needs(starter, starter.wanted, room), room)
    ranked = sorted(useful, key=lambda pair: (lack[pair[1]], pair[0].node, pair[0].uid))
    return ranked[0][0] if ranked else None


def _needs(starter: Candidate, workers: int, room: NodeTable) -> IntVector:
    """Return what the starter asks for in all with so many workers, by column."""
    job = starter.elastic
    needed = workers * room.demand(job.worker)
    return needed if job.server is None else needed + job.servers * room.demand(job.server)


def _lack(needed: IntVector, room: NodeTable) -> list[float]:
    """Return for each node what it lacks of ``needed``, as a sum of shares of the cluster."""
    capacity = np.maximum(room.allocatable.sum(axis=0), 1)
    missing = np.maximum(needed - room.free, 0)
    return [float(share) for share in (missing / capacity).sum(axis=1)]


def _spared(starter: Candidate, shrunk: Shrunk, fit: Fit) -> Shrunk:
    """Return the same without releases that the starter does not need, the last first.

    A job that gives up its workers in an order gets one back only with all that left after it.
    """
    best = shrunk
    kept: set[JobKey] = set()  # jobs of which a worker that left later is needed
    kept.add(shrunk.releases[-1][0])  # without the last release it did not fit
    for i in range(len(shrunk.releases) - 2, -1, -1):
        job, worker = shrunk.releases[i]
        if job in kept and not shrunk.draft.running[job].any_worker:
            continue
        draft = best.draft.with_back(job, worker)
        count = best.places.workers
        places = fit(draft.node_table) if _has_slots(starter, count, draft.node_table) else None
        if places is None or places.workers < count:
            kept.add(job)
            continue
        left = tuple(release for release in best.releases if release != (job, worker))
        best = Shrunk(left, places, draft)
    return best
