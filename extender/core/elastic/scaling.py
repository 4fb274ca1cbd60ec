"""Jobs that start, shrink for a start, or grow: the rule DRS (docs/policies/scaling.md).

The rule knows neither how a plan is carried out nor how long that takes. A start that needs workers
of other jobs to leave first names them.
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
    """Return the changes to make now.

    1. If the first waiting job is more important than every running one, it starts; if it does not
       fit, less important jobs give up workers, down to their least.
    2. If that is not so, or was not enough: the first waiting job that fits starts.
    3. If none fits: the first that starves starts, and all others give up workers for it.
    4. Again from 1, until no job starts. If none did, running jobs grow.

    The order of ``running`` and ``waiting`` does not matter.

    Args:
        running: Jobs that run and may change.
        waiting: Jobs that could start if they had room.
        room: What is free; the workers and servers of ``running`` are taken in it.
        place: Places a waiting job; the planner that places every other gang.
        params: See ``ScalingParameters``.
        most_starts: Most starts in one plan; None: no limit.

    Source:
        DRS, algorithm 5, corrected: as printed it shrinks even after a start, and tries no other
        job when the first cannot start.
    """
    draft = Draft(room, {job.elastic.job: job for job in running})
    left = sorted(waiting, key=lambda job: job.elastic.rank)
    most_important = max((job.elastic.weight.utility for job in running), default=None)
    starts: list[Start] = []
    removals: list[Removal] = []
    while len(starts) != most_starts and (
        next_start := _next_start(left, draft, most_important, place, params)
    ):
        candidate, start, shrunk = next_start
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


_NextStart = tuple[Candidate, Start, Shrunk | None]


def _next_start(
    waiting: Sequence[Candidate],
    draft: Draft,
    most_important: int | None,
    place: Place,
    params: ScalingParameters,
) -> _NextStart | None:
    """Return the next job that starts, and the workers that leave for it; None if none can."""
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
) -> _NextStart:
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
    """Return the jobs that may lose workers, the least important first.

    These are all that run: a job that is more important than all of them may take from each, and
    so may a starving one.
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
    predicted = [job for job in jobs if draft.running[job].seconds_left() is not None]
    unpredicted = [job for job in jobs if job not in set(predicted)]
    gained, draft = growing.by_gain(draft, predicted, params.least_pauses)
    others, _ = growing.in_turns(draft, unpredicted)
    return ScalingPlan(removals=removals, additions=gained + others)
