"""Who starts, who shrinks for it, and who grows (docs/policies/scaling.md).

Pure decisions: what is done with them, and how long that takes, is another's concern. A start that
needs workers of others to leave first names them.
"""

from collections.abc import Sequence
from functools import partial

from extender.core.elastic import growing
from extender.core.elastic.scaling_values import (
    Candidate,
    Draft,
    Place,
    Removal,
    Running,
    ScalingPlan,
    Start,
    Why,
)
from extender.core.elastic.shrinking import Shrunk, StarterPlacement, kept_free, shrink
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.elastic import ScalingParameters
from shared.model import JobKey


def decide(
    running: Sequence[Running],
    waiting: Sequence[Candidate],
    room: NodeTable,
    place: Place,
    params: ScalingParameters,
    *,
    most_starts: int | None = None,
) -> ScalingPlan:
    """Return what is to be done now.

    1. If the first waiting job is more important than every running one, it starts; if it does not
       fit, less important jobs give up workers, down to their least.
    2. If that is not so, or was not enough: the first waiting job that fits starts.
    3. If none fits: the first that starves starts, and all others give up workers for it.
    4. Again from 1, until nobody starts. If nobody did, running jobs grow.

    The order of ``running`` and ``waiting`` does not matter.

    Args:
        running: Jobs that run and may change.
        waiting: Jobs that could start if they had room.
        room: What is free; the workers and servers of ``running`` are taken in it.
        place: Where a waiting job would go, the function that places every other gang.
        params: See ``ScalingParameters``.
        most_starts: Who follows after so many starts is not looked for; None: all are.

    Source:
        DRS, algorithm 5, corrected: as printed it shrinks even after a start, and tries no other
        job when the first cannot start.
    """
    draft = Draft(room, {one.elastic.job: one for one in running})
    left = sorted(waiting, key=lambda one: one.elastic.rank)
    most_important = max((one.elastic.weight.utility for one in running), default=None)
    starts: list[Start] = []
    removals: list[Removal] = []
    while len(starts) != most_starts and (
        found := _next_start(left, draft, most_important, place, params)
    ):
        candidate, start, shrunk = found
        left.remove(candidate)
        draft = Draft(
            start.placement.node_table, draft.running if shrunk is None else shrunk.draft.running
        )
        utility = candidate.elastic.weight.utility
        most_important = utility if most_important is None else max(most_important, utility)
        starts.append(start)
        for job, worker in () if shrunk is None else shrunk.releases:
            removals.append(Removal(job, worker, start.why, start.job))
    if starts:
        return ScalingPlan(tuple(starts), tuple(removals))
    return _grow(draft, left, params)


_Found = tuple[Candidate, Start, Shrunk | None]


def _next_start(
    waiting: Sequence[Candidate],
    draft: Draft,
    most_important: int | None,
    place: Place,
    params: ScalingParameters,
) -> _Found | None:
    """Return the next job that starts, and who leaves for it; None if nobody can."""
    fit = partial(_reservations, place, params)
    outranks = bool(waiting) and (
        most_important is None or waiting[0].elastic.weight.utility > most_important
    )
    for i, candidate in enumerate(waiting):
        if places := fit(candidate, draft.node_table):
            return _started(candidate, places, Why.FITS, None)
        if (
            i == 0
            and outranks
            and (shrunk := shrink(candidate, _victims(draft), draft, partial(fit, candidate)))
        ):
            return _started(candidate, shrunk.places, Why.MORE_IMPORTANT, shrunk)
    for candidate in waiting:
        if params.starvation_seconds is None:
            break
        if candidate.waited_seconds >= params.starvation_seconds and (
            shrunk := shrink(candidate, _victims(draft), draft, partial(fit, candidate))
        ):
            return _started(candidate, shrunk.places, Why.STARVING, shrunk)
    return None


def _started(
    candidate: Candidate, places: StarterPlacement, why: Why, shrunk: Shrunk | None
) -> _Found:
    return candidate, Start(candidate.elastic.job, places.workers, places.placement, why), shrunk


def _reservations(
    place: Place, params: ScalingParameters, candidate: Candidate, room: NodeTable
) -> StarterPlacement | None:
    least = candidate.elastic.least if params.start_with_fewer else candidate.wanted
    for workers in range(candidate.wanted, least - 1, -1):
        if placement := place(candidate.elastic.job, workers, room):
            return StarterPlacement(workers, placement)
    return None


def _victims(draft: Draft) -> list[JobKey]:
    """Return who may lose workers, the least important first.

    All that run: whoever is more important than the most important of them may take from each, and
    so may the starving.
    """
    return [one.elastic.job for one in reversed(draft.in_order())]


def _grow(draft: Draft, waiting: Sequence[Candidate], params: ScalingParameters) -> ScalingPlan:
    jobs = [one.elastic.job for one in draft.in_order()]
    removals: tuple[Removal, ...] = ()
    if params.marginal_gain:
        removals, draft = growing.slowing(draft, jobs, params.least_pauses)
    if params.reserve and waiting:
        draft = Draft(kept_free(waiting[0], draft.node_table), draft.running)
    if not params.marginal_gain:
        return ScalingPlan(additions=growing.in_turns(draft, jobs)[0])
    known = [job for job in jobs if draft.running[job].seconds_left() is not None]
    unknown = [job for job in jobs if job not in set(known)]
    gained, draft = growing.by_gain(draft, known, params.least_pauses)
    others, _ = growing.in_turns(draft, unknown)
    return ScalingPlan(removals=removals, additions=gained + others)
