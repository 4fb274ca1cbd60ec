"""Trials: a scenario is a job with the nodes it may use; an offer is a change that was tried on it.

Scenarios are values. A change returns another scenario, and the planner that places jobs in every
pass decides whether the job would run in it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Final

from msgspec.structs import replace as changed

from extender.core.cluster import pod_shape
from extender.core.cluster.jobs import PLANNED_STATES, Job, Member, State, in_order
from extender.core.cluster.session import Session
from extender.core.cluster.slice_request import LevelRequest
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import hypothetical_nodes
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import allocation, planner
from extender.core.placement.allocation import GangPod, Group
from extender.core.placement.planner import Plan, Refusal
from extender.core.queue import slot_gate
from shared.model import Node, NodeName, PodShape, Uid
from shared.readapi.explanation import Change, Step, StepKind

MOST_PLACEMENTS: Final = 300
"""Placements tried for one explanation, where they are cheap."""
LEAST_PLACEMENTS: Final = 40
"""The same where pods and nodes are so many that each takes tens of milliseconds."""
_WORK: Final = 400_000_000
"""Pods x nodes that one explanation may examine: about a second and a half."""
MOST_NAMED: Final = 5
"""Names in a sentence; the steps hold all."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A job, the nodes it may use, and what else the queue would give the planner.

    Attributes:
        session: The cluster that both come from, the time and the parameters.
        job: As the planner would see it; its waiting members are ``GATED``.
        node_table: The nodes, with what is free for the job.
        targets: Nodes of the members that replace migrated ones.
        ahead: A job that is placed first; None if there is none.
    """

    session: Session
    job: Job
    node_table: NodeTable
    targets: Mapping[Uid, NodeName] = field(default_factory=dict)
    ahead: Job | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The cluster."""
        return self.session.snapshot

    @property
    def params(self) -> CoreParameters:
        """The parameters."""
        return self.session.parameters

    @property
    def waiting(self) -> tuple[Member, ...]:
        """The members that the planner would place."""
        return self.job.having(State.GATED)

    def plan(self) -> Plan | Refusal:
        """Return the planner's answer; the refusal of the job ahead if that one does not fit."""
        table = self.node_table
        if self.ahead is not None:
            first = planner.plan(self.ahead, table, self.params, 0.0, was_whole=False)
            if isinstance(first, Refusal):
                return first
            table = first.placement.node_table
        return planner.plan(
            self.job, table, self.params, 0.0, was_whole=False, targets=self.targets
        )

    @cached_property
    def fits(self) -> int:
        """How many waiting members could be placed together, whatever the gang needs."""
        planned = len(self.job.having(*PLANNED_STATES))
        smallest = self.with_gang_size(max(1, self.job.placed + planned + 1))
        plan = smallest.plan()
        return len(plan.release.pods) if isinstance(plan, Plan) else 0

    def with_members(self, job_members: Iterable[Member]) -> "Scenario":
        """Return the scenario with other members of the job."""
        return replace(self, job=replace(self.job, members=tuple(job_members)))

    def without_level(self, level: LevelRequest) -> "Scenario":
        """Return the scenario without a level that the job requires, of all its pods."""
        sets = [one.without(level) for one in self.job.spec.topology]
        spec = replace(self.job.spec, topology=tuple(one for one in sets if one is not None))
        return replace(self, job=replace(self.job, spec=spec))

    def with_shared_devices(self) -> "Scenario":
        """Return the scenario with pods of the job that may share devices."""
        spec = replace(self.job.spec, shares_devices=True)
        return replace(self, job=replace(self.job, spec=spec))

    def with_job_ahead(self, ahead: Job) -> "Scenario":
        """Return the scenario on all nodes, with another job placed first."""
        snapshot = self.snapshot
        parameters = self.session.parameters
        table = slot_gate.open_to(self.job, snapshot.node_table, snapshot, parameters)
        return replace(self, node_table=table, ahead=ahead)

    def with_least_members(self) -> "Scenario":
        """Return the scenario with no more waiting members than the gang needs."""
        needed = in_order(self.waiting)[: max(1, planner.missing(self.job))]
        uids = {member.pod.uid for member in needed}
        return self.with_members(
            m for m in self.job.members if m.state is not State.GATED or m.pod.uid in uids
        )

    def with_node_table(self, table: NodeTable) -> "Scenario":
        """Return the scenario on other nodes."""
        return replace(self, node_table=table)

    def with_more_nodes(self, like: Node, count: int) -> "Scenario":
        """Return the scenario with so many empty nodes more."""
        table = hypothetical_nodes.with_more(self.node_table, like, count)
        used, new = table.used.copy(), table.allocatable[-count:]
        used[-count:] += slot_gate.kept_from(self.job, new, self.session.parameters)
        return self.with_node_table(hypothetical_nodes.with_used(table, used))

    def with_gang_size(self, size: int) -> "Scenario":
        """Return the scenario with another gang size."""
        return replace(self, job=replace(self.job, min_available=size))

    def with_shapes(self, change: Callable[[PodShape], PodShape], role: str = "") -> "Scenario":
        """Return the scenario with other shapes of the waiting members, of one role if given.

        What claimed volumes add to a shape stays; equal shapes stay one object.
        """
        by_id: dict[int, PodShape] = {}

        def reshape(member: Member) -> Member:
            if member.state is not State.GATED or (role and member.role != role):
                return member
            key = id(member.pod.shape)
            if key not in by_id:
                by_id[key] = change(member.pod.shape)
            own = by_id[key]
            pod = changed(member.pod, shape=own)
            shape = pod_shape.shape(self.snapshot, pod) if pod.claims else own
            return Member(
                pod=pod,
                role=member.role,
                index=member.index,
                state=member.state,
                node=member.node,
                shape=shape,
            )

        return self.with_members(reshape(member) for member in self.job.members)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The waiting members by role and shape, as the planner groups them.

        One pod is repeated for all of its group: there may be ten thousand.
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
        needs = allocation.needs([pod for pod, _ in pods], self.node_table)
        groups: dict[tuple[str, PodShape], Group] = {}
        for pod, count in pods:  # equal shapes may be several objects
            alike = (pod,) * count
            before = groups.get((pod.role, pod.shape))
            group = Group(needs[pod.shape], pod.role, (*before.pods, *alike) if before else alike)
            groups[pod.role, pod.shape] = group
        return tuple(groups.values())

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles of the waiting members; an empty one where the kind has none."""
        return tuple(role for role, _ in groupby(sorted(m.role for m in self.waiting)))


class Trials:
    """Counts the placements that are tried, so that an explanation ends in time.

    Args:
        first: The unchanged scenario; the cost of placing it sets the limit.
    """

    def __init__(self, first: Scenario) -> None:
        size = max(1, len(first.waiting) * len(first.node_table.nodes))
        self.left = min(MOST_PLACEMENTS, max(LEAST_PLACEMENTS, _WORK // size))

    def runs(self, scenario: Scenario | None) -> bool:
        """Return True if the job would be placed; False if no trial is left."""
        if scenario is None or self.left <= 0:
            return False
        self.left -= 1
        return isinstance(scenario.plan(), Plan)

    def least(self, low: int, high: int, make: Callable[[int], Scenario | None]) -> int | None:
        """Return the smallest number from ``low`` to ``high`` with which the job runs.

        A larger number must never be worse. Bounds that need no placement narrow the search first,
        and mostly the first number that is left is the answer. None if not even ``high`` does.
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

    def needed(self, parts: list[int], make: Callable[[list[int]], Scenario | None]) -> list[int]:
        """Return the parts without which the job does not run, given that it runs with all."""
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


def _may_run(scenario: Scenario | None) -> bool:
    """Return False if too few members fit even when each group is alone; needs no placement."""
    if scenario is None:
        return False
    needed = max(1, planner.missing(scenario.job))
    fits = sum(min(len(g), int(g.need.slots.sum())) for g in scenario.groups)
    return fits >= needed


@dataclass(frozen=True)
class Offer:
    """Steps that together make the job run, and a sentence without its full stop."""

    steps: tuple[Step, ...]
    text: str

    @property
    def kind(self) -> StepKind:
        """The kind of its last step."""
        return self.steps[-1].kind

    def after(self, steps: Sequence[Step], texts: Sequence[str]) -> "Offer":
        """Return the offer with steps that come first."""
        return Offer((*steps, *self.steps), ", and then ".join((*texts, self.text)))

    def change(self) -> Change:
        """Return it as a value of the API."""
        return Change(kind=self.kind, says=self.text, steps=self.steps)


Way = Callable[[Scenario, Trials], Iterator[Offer]]
"""Yields offers of one kind."""


def first_names(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown = ", ".join(names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
