"""Workers that do not exist yet, seated by the planner: growth asks only for those that find room.

The rule ``scaling`` knows nodes and amounts. What else the job wishes, a topology or relations
between roles, and what its namespace may hold, the planner and ``sharing`` know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from extender.engine import planning, sharing
from extender.engine.jobs import Job, Member, State
from extender.engine.parameters import EngineParameters
from extender.engine.planning import Refusal
from extender.engine.scaling.elastic_jobs import Crowd
from extender.engine.sharing import Shares
from extender.engine.snapshot import Snapshot
from extender.policy.gang import Misfit
from extender.policy.room import Room
from shared.model import JobKey, Uid


def seated(
    snapshot: Snapshot,
    wanted: Sequence[tuple[Crowd, int]],
    room: Room,
    params: EngineParameters,
) -> Mapping[JobKey, int]:
    """Return how many workers more each job can have, the first job first.

    Args:
        snapshot: The cluster, for what namespaces hold.
        wanted: How many each should get at most.
        room: What is free, less what others are to have.
        params: Of the planner.
    """
    shares = sharing.shares(snapshot, params)
    found: dict[JobKey, int] = {}
    for one, most in wanted:
        count, room = _seated(one, most, room, params, shares)
        if count:
            found[one.job.key] = count
    return found


def _seated(
    one: Crowd, most: int, room: Room, params: EngineParameters, shares: Shares
) -> tuple[int, Room]:
    """Return how many of the newcomers find seats, and the room with them."""
    for count in range(_allowed(one, most, shares), 0, -1):
        come = newcomers(one, count)
        result = planning.seats(one.job, come, room, params)
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
