"""A job before the room of this moment, and the same with something changed: for trying out.

Everything is a value: a change gives another situation, and the planner that places jobs in every
cycle says whether the job would run in it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from msgspec.structs import replace as changed

from extender.core.cluster import pod_shape
from extender.core.cluster.job_spec import TopologyRequest
from extender.core.cluster.jobs import PLANNED_STATES, Job, Member, State, in_order
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import allocation, planner
from extender.core.placement.allocation import GangPod, Group
from extender.core.placement.planner import Plan, Refusal
from shared.model import NodeName, PodShape, Uid

MOST_PLACEMENTS = 300
"""Placements tried for one explanation, where they are cheap."""
LEAST_PLACEMENTS = 40
"""The same where pods and nodes are so many that each takes tens of milliseconds."""
_WORK = 400_000_000
"""Pods x nodes that one explanation may look at: about a second and a half."""


@dataclass(frozen=True, eq=False)
class Situation:
    """A job, its room, and what the cycle would give the planner besides.

    Attributes:
        snapshot: Where both come from.
        job: As the planner would see it; its waiting members are ``GATED``.
        room: What is free for it.
        params: Of the engine.
        targets: Where its members must go that take the place of migrated ones.
        ahead: A job that is given its seats before; None if there is none.
    """

    snapshot: Snapshot
    job: Job
    room: NodeTable
    params: CoreParameters
    targets: Mapping[Uid, NodeName] = field(default_factory=dict)
    ahead: Job | None = None

    @property
    def waiting(self) -> tuple[Member, ...]:
        """The members that the planner would seat."""
        return self.job.having(State.GATED)

    def plan(self) -> Plan | Refusal:
        """Return what the planner says now; as long as the job ahead does not fit, no."""
        room = self.room
        if self.ahead is not None:
            first = planner.plan(self.ahead, room, self.params, 0.0, was_whole=False)
            if isinstance(first, Refusal):
                return first
            room = first.placement.room
        return planner.plan(self.job, room, self.params, 0.0, was_whole=False, targets=self.targets)

    @cached_property
    def fits(self) -> int:
        """Return how many waiting members could be placed together, whatever the gang needs."""
        one_is_enough = self.asking_for(max(1, self.job.placed + self._planned + 1))
        plan = one_is_enough.plan()
        return len(plan.release.pods) if isinstance(plan, Plan) else 0

    def with_members(self, seen: Iterable[Member]) -> "Situation":
        """Return the situation with other members of the job."""
        return replace(self, job=replace(self.job, members=tuple(seen)))

    def wishing(self, *, topology: TopologyRequest | None) -> "Situation":
        """Return the situation with another request for the topology."""
        spec = replace(self.job.spec, topology=topology)
        return replace(self, job=replace(self.job, spec=spec))

    def behind(self, ahead: Job) -> "Situation":
        """Return the situation on the whole room, after another job has got its seats."""
        return replace(self, room=self.snapshot.room, ahead=ahead)

    def needed(self) -> "Situation":
        """Return the situation with no more waiting members than the gang needs."""
        some = in_order(self.waiting)[: max(1, planner.missing(self.job))]
        kept = {member.pod.uid for member in some}
        return self.with_members(
            m for m in self.job.members if m.state is not State.GATED or m.pod.uid in kept
        )

    def with_room(self, room: NodeTable) -> "Situation":
        """Return the situation on another room."""
        return replace(self, room=room)

    def asking_for(self, size: int) -> "Situation":
        """Return the situation with another gang size."""
        return replace(self, job=replace(self.job, min_available=size))

    def reshaped(self, change: Callable[[PodShape], PodShape], role: str = "") -> "Situation":
        """Return the situation with other shapes of the waiting members, of one role if named.

        What claimed volumes add to a shape stays; equal shapes stay one object.
        """
        known: dict[int, PodShape] = {}

        def reshape(member: Member) -> Member:
            if member.state is not State.GATED or (role and member.role != role):
                return member
            key = id(member.pod.shape)
            if key not in known:
                known[key] = change(member.pod.shape)
            own = known[key]
            pod = changed(member.pod, shape=own)
            seen = pod_shape.shape(self.snapshot, pod) if pod.claims else own
            return Member(pod, member.role, member.index, member.state, member.node, seen)

        return self.with_members(reshape(member) for member in self.job.members)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Return the waiting members by role and shape, as the planner groups them.

        One of them stands for all of its group: there may be ten thousand.
        """
        counts: Counter[tuple[str, int]] = Counter()
        first: dict[tuple[str, int], Member] = {}
        for member in self.waiting:
            key = (member.role, id(member.shape))
            counts[key] += 1
            first.setdefault(key, member)
        pods = [
            (GangPod(m.pod.uid, m.pod.name, m.role, m.rank, m.shape), counts[key])
            for key, m in sorted(first.items(), key=lambda item: (item[0][0] != "ps", item[0][0]))
        ]
        by_shape = allocation.needs([pod for pod, _ in pods], self.room)
        found: dict[tuple[str, PodShape], Group] = {}
        for pod, count in pods:  # equal shapes may be several objects
            alike = (pod,) * count
            known = found.get((pod.role, pod.shape))
            need = by_shape[pod.shape]
            group = Group(need, pod.role, (*known.pods, *alike) if known else alike)
            found[pod.role, pod.shape] = group
        return tuple(found.values())

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the waiting members; one empty one where the kind has none."""
        return tuple(role for role, _ in groupby(sorted(m.role for m in self.waiting)))

    @property
    def _planned(self) -> int:
        return len(self.job.having(*PLANNED_STATES))


class Trials:
    """Counts what is tried, so that an explanation ends in time.

    Args:
        first: The situation as it is; what it costs to place it sets the limit.
    """

    def __init__(self, first: Situation) -> None:
        size = max(1, len(first.waiting) * len(first.room.nodes))
        self.left = min(MOST_PLACEMENTS, max(LEAST_PLACEMENTS, _WORK // size))

    def runs(self, situation: Situation | None) -> bool:
        """Say whether the job would be placed; no if nothing may be tried any more."""
        if situation is None or self.left <= 0:
            return False
        self.left -= 1
        return isinstance(situation.plan(), Plan)

    def least(self, low: int, high: int, make: Callable[[int], Situation | None]) -> int | None:
        """Return the smallest number from ``low`` to ``high`` with which the job runs.

        The more, the better must hold. What can be said without placing narrows the search, and
        mostly the first number that is left is the answer. None if not even ``high`` does.
        """
        low = _first(low, high, lambda number: _may_run(make(number)))
        if low > high:
            return None
        if self.runs(make(low)):
            return low
        if not self.runs(make(high)):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self.runs(make(middle)):
                high = middle
            else:
                low = middle
        return high

    def needed(self, parts: list[int], make: Callable[[list[int]], Situation | None]) -> list[int]:
        """Return the parts that are needed of those with which the job runs, none twice."""
        kept = list(parts)
        for part in parts:
            without = [other for other in kept if other != part]
            if len(kept) > 1 and self.runs(make(without)):
                kept = without
        return kept


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number for which it holds, by bisection; ``high + 1`` if for none."""
    end = high + 1
    while low < end:
        middle = (low + end) // 2
        if holds(middle):
            end = middle
        else:
            low = middle + 1
    return low


def _may_run(situation: Situation | None) -> bool:
    """Say whether each role and shape alone would fit; if not, no placement is needed to say no."""
    if situation is None:
        return False
    needed = max(1, planner.missing(situation.job))
    fits = sum(min(len(g), int(g.need.slots.sum())) for g in situation.groups)
    return fits >= needed
