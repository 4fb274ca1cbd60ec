"""The cluster's topology: what a job asks of it, and where its gang is tried, in which order.

Inside each area the rules of ``gang`` apply (docs/policies/topology.md).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.reasons import Reason
from extender.core.kinds.base import Problem
from extender.core.nodes.node_table import BoolVector, NodeTable
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement.allocation import GangAllocation, Group, Preference
from extender.core.placement.domains import Domain, Domains, domain_fit, domains
from extender.core.placement.placement import Unschedulable
from extender.core.placement.rules import fewest_domains, fewest_nodes
from shared.errors import InputError
from shared.model import Uid


@dataclass(frozen=True)
class Wanted:
    """What a gang asks of the topology.

    Attributes:
        level: Index of the level.
        required: Whether one domain must hold all pods; otherwise as few as possible should.
        anchors: Nodes in the domains of members of which the domain is known, but not the node.
    """

    level: int
    required: bool
    anchors: tuple[int, ...] = ()


def wanted(job: Job, room: NodeTable, params: TopologyParameters) -> Wanted | None:
    """Return by what the members are to be placed that have no node yet; None for nothing.

    Raises:
        InputError: The annotation names no level.
    """
    request = job.spec.topology
    if request is None:
        return None
    level = params.level(request.text, f"annotation {request.key}")
    anchors: tuple[int, ...] = ()
    if request.required and (loose := job.having(State.LOOSE)):
        found = domains(room, params.levels[: level + 1])
        anchors = tuple(i for m in loose if (i := _anchor(m, room, found)) is not None)
    return Wanted(level, request.required, anchors)


def problem(job: Job, params: TopologyParameters) -> Problem | None:
    """Return what is wrong with the level that the job names; None if nothing is."""
    request = job.spec.topology
    try:
        if request is not None:
            params.level(request.text, f"annotation {request.key}")
    except InputError as error:
        return Problem.of(error)
    return None


def absent(job: Job, room: NodeTable, params: TopologyParameters) -> str | None:
    """Return that no node has the level that the job requires, and what helps; None if some has.

    None also where there are no nodes at all: the level is not what is missing.
    """
    request, found = job.spec.topology, required(job, room, params)
    if request is None or found is None or found.all or not room.nodes:
        return None
    level = found.level
    there = [one for one in params.levels if any(one.label in n.labels for n in room.nodes)]
    known = " or ".join(f"{one.name} ({one.label})" for one in there)
    instead = f", or require a level that nodes have: {known}" if known else ""
    return (
        f"{level.name} is the label {level.label} (annotation {request.key}); "
        f"label the nodes with it{instead}"
    )


def required(job: Job, room: NodeTable, params: TopologyParameters) -> Domains | None:
    """Return the domains of which one must hold the whole job; None if it asks for none."""
    request = job.spec.topology
    if request is None or not request.required or problem(job, params):
        return None
    return domains(room, params.levels[: params.level(request.text, request.key) + 1])


def home(job: Job, leaving: Collection[Uid], room: NodeTable, found: Domains) -> BoolVector:
    """Return the nodes to which members may go so that one domain still holds the whole job.

    Those of the domain of the members that stay; where none stays, all nodes with the label.

    Args:
        job: A job.
        leaving: The members that move.
        room: The nodes.
        found: The domains of which one must hold the job.
    """
    staying = [m for m in job.having(State.BOUND, State.RESERVED) if m.pod.uid not in leaving]
    nodes = [room.index[m.node] for m in staying if m.node is not None and m.node in room.index]
    mask: BoolVector = found.of_node >= 0
    for node in nodes:
        mask = mask & (found.of_node == found.of_node[node])
    return mask


def _anchor(member: Member, room: NodeTable, found: Domains) -> int | None:
    """Return a node of the one domain that a released pod may still go to; None if of several."""
    allowed = np.flatnonzero(room.classes.mask(member.pod.shape))
    here = np.unique(found.of_node[allowed])
    return int(allowed[0]) if len(here) == 1 and here[0] >= 0 else None


@dataclass(frozen=True, eq=False)
class Area:
    """A part of the room in which a gang is tried.

    Attributes:
        within: Its nodes; None for all.
        domain: The domain that it is; None if it is none.
        over: The domains over which the gang is spread in it, as few as possible; None: no matter.
        near: Of a preferred level: its domains. Spares may lie outside the area, those of the pod's
            own domain come first.
    """

    within: BoolVector | None = None
    domain: Domain | None = None
    over: Domains | None = None
    near: Domains | None = None


EVERYWHERE: Final = Area()


@dataclass(frozen=True, eq=False)
class Search:
    """Where one gang may go on one room.

    Attributes:
        wanted: What it asks for.
        params: See ``TopologyParameters``.
        groups: Its pods.
        allocation: Makes an empty allocation of these nodes.
        preference: Which of equal domains.
        in_buckets: Whether its pods go in buckets.
    """

    wanted: Wanted
    params: TopologyParameters
    groups: Sequence[Group]
    allocation: Callable[[BoolVector | None], GangAllocation]
    preference: Preference
    in_buckets: bool

    def areas(self) -> Iterator[Area]:
        """Yield the parts of the room in which to try the gang, the best first.

        1. The domains of the level that can hold all pods.
        2. If the level is preferred: those of the level above, and so on to the coarsest; in each
           the gang is spread over as few domains of its own level as possible.
        3. If the level is preferred: the whole room, likewise.
        """
        own = self.of_level(self.wanted.level)
        if self.wanted.required:
            yield from self._holding(own)
            return
        for area in self._holding(own):
            yield Area(area.within, area.domain, near=own)
        for level in reversed(range(self.wanted.level)):
            for area in self._holding(self.of_level(level)):
                yield from self._spread(area, own)
        yield from self._spread(EVERYWHERE, own)

    def of_level(self, level: int) -> Domains:
        """Return the domains of a level."""
        return domains(self.allocation(None).node_table, self.params.levels[: level + 1])

    def refusal(self) -> Unschedulable:
        """Return why no domain of the level holds the gang: how many of its pods the best holds."""
        found, allocation = self.of_level(self.wanted.level), self.allocation(None)
        level, home = found.level, self._home(found, allocation)
        if -1 in home or len(home) > 1:
            return _failed(f"its other members are not in one {level.name}{_named(found, home)}")
        fit = domain_fit(found, self.groups, allocation, self.preference)
        best = [*home] or fit.roomiest()
        if not best:
            return _failed(f"no node has the label {level.label}, which makes a {level.name}")
        inside = self.allocation(found.within(best[0]))
        fewest_nodes(inside, self.groups, self.preference)
        total = sum(len(group) for group in self.groups)
        held = f"{len(inside.nodes)} of {total} pods fit in {found.all[best[0]].name}"
        if home:
            return _failed(f"{held}, where its other members are")
        alike = len({group.need for group in self.groups}) == 1
        most = f"and no other {level.name} holds more" if alike else f"the roomiest {level.name}"
        return _failed(f"{held}, {most}")

    def _holding(self, found: Domains) -> list[Area]:
        """Return the domains that may hold all pods, best first: at most ``most_tries``.

        Where members are placed, only their domain. The roomiest is always tried.
        """
        allocation = self.allocation(None)
        fit = domain_fit(found, self.groups, allocation, self.preference)
        best = fit.best_fits()
        if home := self._home(found, allocation):
            best = [index for index in best if home == {index}]
        most = self.params.most_tries
        if len(best) > most:
            best = list(dict.fromkeys([*best[: most - 1], *fit.roomiest()]))
        return [Area(found.within(index), found.all[index]) for index in best]

    def _home(self, found: Domains, allocation: GangAllocation) -> set[int]:
        """Return the domains of members that have a place; -1 for nodes without the label."""
        nodes = [*np.flatnonzero(allocation.members).tolist(), *self.wanted.anchors]
        return set(found.of_node[nodes].tolist()) if nodes else set()

    def _spread(self, area: Area, own: Domains) -> Iterator[Area]:
        """Yield the area; before it, for a gang in buckets, the domains that a spread uses."""
        if self.in_buckets:
            allocation = self.allocation(area.within)
            fewest_domains(allocation, self.groups, self.preference, own)
            used = np.unique(own.of_node[list(allocation.nodes.values())])
            yield Area(np.isin(own.of_node, used), area.domain, near=own)
        yield Area(area.within, area.domain, over=own, near=own)


def _named(found: Domains, home: set[int]) -> str:
    names = [found.all[index].name for index in sorted(home) if index >= 0]
    names += [f"nodes without the label {found.level.label}"] if -1 in home else []
    return f": {', '.join(names)}"


def _failed(detail: str) -> Unschedulable:
    return Unschedulable(Reason.TOPOLOGY_PLACEMENT_FAILED, detail)
