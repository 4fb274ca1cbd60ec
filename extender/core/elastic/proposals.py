"""Workers that do not exist yet, seated by the planner: growth asks only for those that find room.

The rule ``scaling`` knows nodes and amounts. What else the job wishes, a topology or relations
between roles, and what its namespace may hold, the planner and ``sharing`` know.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec.structs import replace as changed

from extender.core.cluster.jobs import UNPLANNED_STATES, Job, Member, State, in_order
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import elastic_jobs, scaling
from extender.core.elastic.elastic_jobs import Crowd, Pace
from extender.core.elastic.inputs import Scene, scene
from extender.core.elastic.scaling_values import Addition, Candidate, Removal, Running, ScalingPlan
from extender.core.elastic.speeds import SpeedMemory
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.gang import Misfit, Placement
from extender.core.placement.planner import Refusal
from extender.core.queue import backfill, namespace_shares
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.state import QueueState
from extender.core.records import workers as records_workers
from extender.core.records.rescale import Cause, Proposal
from shared.model import JobKey, Uid


def seated(
    snapshot: Snapshot,
    wanted: Sequence[tuple[Crowd, int]],
    room: NodeTable,
    params: CoreParameters,
) -> Mapping[JobKey, int]:
    """Return how many workers more each job can have, the first job first.

    Args:
        snapshot: The cluster, for what namespaces hold.
        wanted: How many each should get at most.
        room: What is free, less what others are to have.
        params: Of the planner.
    """
    shares = namespace_shares.shares(snapshot, params)
    found: dict[JobKey, int] = {}
    for one, most in wanted:
        count, room = _seated(one, most, room, params, shares)
        if count:
            found[one.job.key] = count
    return found


def _seated(
    one: Crowd, most: int, room: NodeTable, params: CoreParameters, shares: Shares
) -> tuple[int, NodeTable]:
    """Return how many of the newcomers find seats, and the room with them."""
    for count in range(_allowed(one, most, shares), 0, -1):
        come = newcomers(one, count)
        result = planner.seats(one.job, come, room, params)
        if not isinstance(result, Misfit):
            seats = [(m.shape, room.index[result.nodes[m.pod.uid]]) for m in come]
            shares.take(one.job, seats)
            return count, result.room
    return 0, room


def _allowed(one: Crowd, most: int, shares: Shares) -> int:
    """Return how many of the newcomers the namespace may have."""
    come = newcomers(one, most)
    within = shares.within(replace(one.job, members=(*one.job.members, *come)))
    if isinstance(within, Refusal):
        return 0
    names = {m.pod.uid for m in come}
    return sum(m.pod.uid in names for m in within.members)


def newcomers(one: Crowd, count: int) -> tuple[Member, ...]:
    """Return so many workers as the owner would make them, ranked behind all others."""
    like = one.workers[0]
    first = _last_rank(one.job) + 1
    return tuple(
        replace(
            like,
            pod=changed(like.pod, uid=Uid(f"{like.pod.uid}/{i}"), name=f"{like.pod.name}/{i}"),
            index=first + i,
            state=State.GATED,
            node=None,
            shape=one.newcomer,
        )
        for i in range(count)
    )


def _last_rank(job: Job) -> int:
    return max(m.rank for m in job.members)


# === What DRS proposes for jobs without a slot plan (docs/policies/scaling.md).
#
# 1. Who waits for room is what a cycle of the queue says of this very snapshot.
# 2. The first job of those for which workers must leave, and would then fit, is the starter:
# all of
#    its victims shrink together, and until they have nobody else is a starter. While the queue
# keeps
#    room for a job whose maximum wait is over, it alone can be one.
# 3. If there is none, jobs lose workers that slow them, or grow into room that the queue leaves.
#
# One worker more at a time, as long as a job is being measured: then its speed is known soon.


_SOMEBODY: Final = JobKey("somebody")


def proposals(
    snapshot: Snapshot,
    queue: QueueState,
    known: SpeedMemory,
    reading: Reading,
    params: CoreParameters,
) -> tuple[Proposal, ...]:
    """Return which jobs should have more workers, or fewer; the same arguments, the same answer.

    Args:
        snapshot: The cluster.
        queue: What the last cycle remembered: the same cycle says here who waits for room.
        known: How fast jobs trained so far (``speeds.learned``).
        reading: Now.
        params: All of them: the seats are those of the planner.
    """
    seen = scene(snapshot, queue, known, reading, params) if params.rescaling.enabled else None
    return () if seen is None else _starting(seen) or _settling(seen)


def placed(job: Job, workers: int, room: NodeTable, params: CoreParameters) -> Placement | None:
    """Return the planner's seats for so many workers of a waiting job, and all its other pods."""
    members = in_order(job.having(*UNPLANNED_STATES))
    of_workers, others = elastic_jobs.split(members)
    result = planner.seats(job, [*others, *of_workers[:workers]], room, params)
    return None if isinstance(result, Misfit) else result


def _starting(seen: Scene) -> tuple[Proposal, ...]:
    """Return who shrinks for the first job that then starts."""
    awaited = records_workers.starters(seen.snapshot, seen.reading.now)
    if not seen.waiting or not seen.waiting.keys().isdisjoint(awaited):
        return ()
    runs = [
        _running(seen, key, may_shrink=seen.may(key, one.least, Cause.STARVING, _SOMEBODY))
        for key, one in seen.crowds.items()
    ]
    plan = _decided(seen, runs, seen.waiting.values(), seen.room)
    return _removed(seen, [one for one in plan.removals if one.starts is not None])


def _settling(seen: Scene) -> tuple[Proposal, ...]:
    """Return who loses workers that slow it, and who grows."""
    runs = [
        _running(
            seen,
            key,
            paced=True,
            may_shrink=seen.may(key, one.least, Cause.SLOWS),
            may_grow=not one.surplus and seen.may(key, one.most, Cause.ROOM_LEFT),
        )
        for key, one in seen.crowds.items()
    ]
    head = seen.cycle.backfill_head
    room = seen.room if head is None else backfill.open_nodes(head, seen.room)
    first = list(seen.waiting.values())[:1] if seen.params.scaling.reserve else []
    plan = _decided(seen, runs, first, room)
    if plan.starts:  # whoever is to start has been seen to
        return ()
    return (*_removed(seen, plan.removals), *_added(seen, plan.additions, room))


def _running(
    seen: Scene, key: JobKey, *, may_shrink: bool, may_grow: bool = False, paced: bool = False
) -> Running:
    one = seen.crowds[key]
    return elastic_jobs.running(
        one,
        seen.weights[key],
        seen.paces[key] if paced else Pace(),
        may_shrink=may_shrink,
        may_grow=may_grow,
    )


def _decided(
    seen: Scene,
    runs: Sequence[Running],
    waiting: Iterable[tuple[Job, Candidate]],
    room: NodeTable,
) -> ScalingPlan:
    def place(key: JobKey, workers: int, free: NodeTable) -> Placement | None:
        if free is room:
            return None  # the queue has just said so
        return placed(seen.waiting[key][0], workers, free, seen.params)

    everybody = [*runs, seen.fixed] if seen.fixed else list(runs)
    candidates = [one for _, one in waiting]
    params = seen.params.scaling
    return scaling.decide(everybody, candidates, room, place, params, most_starts=1)


def _removed(seen: Scene, removals: Iterable[Removal]) -> tuple[Proposal, ...]:
    """Return one proposal a job: how many workers it keeps."""
    by_job: dict[JobKey, list[Removal]] = {}
    for one in removals:
        by_job.setdefault(one.job, []).append(one)
    return tuple(
        Proposal(
            job=key,
            to=seen.crowds[key].number - len(ones),
            cause=Cause(ones[0].why.value),
            starts=ones[0].starts,
            saved_seconds=_saved(ones),
        )
        for key, ones in by_job.items()
    )


def _added(seen: Scene, additions: Sequence[Addition], room: NodeTable) -> Iterable[Proposal]:
    """Yield one proposal a job: how many workers it gets of those that find room."""
    counts = Counter(one.job for one in additions)  # in the order in which they were first given
    wanted = [(seen.crowds[key], _step(seen, key, count)) for key, count in counts.items()]
    found = seated(seen.snapshot, wanted, room, seen.params)
    for key, count in found.items():
        ones = [one for one in additions if one.job == key][:count]
        to = seen.crowds[key].number + count
        yield Proposal(key, to, Cause(ones[0].why.value), saved_seconds=_saved(ones))


def _step(seen: Scene, key: JobKey, count: int) -> int:
    """Return how many workers a job may get at once: one while its speed is being measured."""
    pace = seen.paces[key]
    measuring = seen.params.scaling.marginal_gain and pace.speed is None and pace.left is not None
    return min(count, 1) if measuring else count


def _saved(changes: Sequence[Removal] | Sequence[Addition]) -> float | None:
    known = [one.saved_seconds for one in changes if one.saved_seconds is not None]
    return sum(known) if known else None
