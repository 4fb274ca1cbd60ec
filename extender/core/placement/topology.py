"""The cluster's topology: what a job requests, and the areas in which its gang is tried.

Inside each area the rules of ``gang`` apply (docs/policies/topology.md).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from extender.core.cluster.job_spec import TopologyRequest
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
    """A gang's request for a level of the topology.

    Attributes:
        level: Index of the level.
        required: Whether one domain must hold all pods; otherwise as few as possible should.
        inside: Index of the finer level of which as few domains as possible should hold them in the
            required one; None: no matter.
        anchors: Nodes in the domains of members of which the domain is known, but not the node.
    """

    level: int
    required: bool
    anchors: tuple[int, ...] = ()
    inside: int | None = None


def wanted(job: Job, table: NodeTable, params: TopologyParameters) -> Wanted | None:
    """Return by what the members are to be placed that have no node yet; None for nothing.

    Raises:
        InputError: The annotation names no level.
    """
    request = job.spec.topology
    if request is None:
        return None
    level = _index(request, params)
    anchors: tuple[int, ...] = ()
    if request.required and (loose := job.having(State.LOOSE)):
        level_domains = domains(table, params.levels[: level + 1])
        anchors = tuple(i for m in loose if (i := _anchor(m, table, level_domains)) is not None)
    inside = None if request.inside is None else _index(request.inside, params)
    return Wanted(level, request.required, anchors, inside)


def problem(job: Job, params: TopologyParameters) -> Problem | None:
    """Return what is wrong with the levels that the job names; None if nothing is."""
    request = job.spec.topology
    try:
        if request is not None:
            _check(request, params)
    except InputError as error:
        return Problem.of(error)
    return None


def _check(request: TopologyRequest, params: TopologyParameters) -> None:
    """Check that the levels exist, and that a preferred one is finer than the required one.

    Raises:
        InputError: Otherwise.
    """
    level, wish = _index(request, params), request.inside
    if wish is not None and _index(wish, params) <= level:
        expected = f"a level finer than {request.text}, which {request.key} requires"
        raise InputError(f"annotation {wish.key}", wish.text, expected)


def _index(request: TopologyRequest, params: TopologyParameters) -> int:
    """Return the index of the level that a request names.

    Raises:
        InputError: There is none.
    """
    return params.level(request.text, f"annotation {request.key}")


def absent(job: Job, table: NodeTable, params: TopologyParameters) -> str | None:
    """Return that no node has the level that the job requires, and what helps; None if some has.

    None also where there are no nodes at all: the level is not what is missing.
    """
    request, required_domains = job.spec.topology, required(job, table, params)
    if request is None or required_domains is None or required_domains.all or not table.nodes:
        return None
    level = required_domains.level
    existing = [other for other in params.levels if any(other.on(n.labels) for n in table.nodes)]
    others = " or ".join(f"{other.name} ({other.label})" for other in existing)
    instead = f", or require a level that nodes have: {others}" if others else ""
    return (
        f"{level.name} is the label {' or '.join(level.labels)} (annotation {request.key}); "
        f"label the nodes with it{instead}"
    )


def required(job: Job, table: NodeTable, params: TopologyParameters) -> Domains | None:
    """Return the domains of which one must hold the whole job; None if it requests none."""
    request = job.spec.topology
    if request is None or not request.required or problem(job, params):
        return None
    return domains(table, params.levels[: _index(request, params) + 1])


def home(job: Job, leaving: Collection[Uid], table: NodeTable, job_domains: Domains) -> BoolVector:
    """Return the nodes to which members may go so that one domain still holds the whole job.

    Those of the domain of the members that stay; where none stays, all nodes with the label.

    Args:
        job: A job.
        leaving: The members that move.
        table: The nodes.
        job_domains: The domains of which one must hold the job.
    """
    staying = [m for m in job.having(State.BOUND, State.RESERVED) if m.pod.uid not in leaving]
    nodes = [table.index[m.node] for m in staying if m.node is not None and m.node in table.index]
    mask: BoolVector = job_domains.of_node >= 0
    for node in nodes:
        mask = mask & (job_domains.of_node == job_domains.of_node[node])
    return mask


def _anchor(member: Member, table: NodeTable, job_domains: Domains) -> int | None:
    """Return a node of the one domain that a released pod may still go to; None if of several."""
    allowed = np.flatnonzero(table.classes.mask(member.pod.shape))
    reachable = np.unique(job_domains.of_node[allowed])
    return int(allowed[0]) if len(reachable) == 1 and reachable[0] >= 0 else None


@dataclass(frozen=True, eq=False)
class Area:
    """A part of the nodes in which a gang is tried.

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
    """The areas in which one gang is tried.

    Attributes:
        wanted: What it requests.
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
        """Yield the parts of the nodes in which to try the gang, the best first.

        1. The domains of the level that can hold all pods. If the level is required, that is all;
           inside it the gang is spread over as few domains of a finer level as possible.
        2. If the level is preferred: those of the level above, and so on to the coarsest; in each
           the gang is spread over as few domains of its own level as possible.
        3. If the level is preferred: all nodes, likewise.
        """
        own = self.of_level(self.wanted.level)
        if self.wanted.required:
            over = None if self.wanted.inside is None else self.of_level(self.wanted.inside)
            for area in self._holding(own):
                yield replace(area, over=over)
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
        own, allocation = self.of_level(self.wanted.level), self.allocation(None)
        level, home = own.level, self._home(own, allocation)
        if -1 in home or len(home) > 1:
            return _failed(f"its other members are not in one {level.name}{_named(own, home)}")
        fit = domain_fit(own, self.groups, allocation, self.preference)
        best = [*home] or fit.roomiest()
        if not best:
            return _failed(f"no node has the label {level.label}, which makes a {level.name}")
        inside = self.allocation(own.within(best[0]))
        fewest_nodes(inside, self.groups, self.preference)
        total = sum(len(group) for group in self.groups)
        held = f"{len(inside.nodes)} of {total} pods fit in {own.all[best[0]].name}"
        if home:
            return _failed(f"{held}, where its other members are")
        alike = len({group.need for group in self.groups}) == 1
        most = f"and no other {level.name} holds more" if alike else f"the roomiest {level.name}"
        return _failed(f"{held}, {most}")

    def _holding(self, level_domains: Domains) -> list[Area]:
        """Return the domains that may hold all pods, best first: at most ``most_tries``.

        Where members are placed, only their domain. The roomiest is always tried.
        """
        allocation = self.allocation(None)
        fit = domain_fit(level_domains, self.groups, allocation, self.preference)
        best = fit.best_fits()
        if home := self._home(level_domains, allocation):
            best = [index for index in best if home == {index}]
        most = self.params.most_tries
        if len(best) > most:
            best = list(dict.fromkeys([*best[: most - 1], *fit.roomiest()]))
        return [Area(level_domains.within(index), level_domains.all[index]) for index in best]

    def _home(self, level_domains: Domains, allocation: GangAllocation) -> set[int]:
        """Return the domains of members that have a place; -1 for nodes without the label."""
        nodes = [*np.flatnonzero(allocation.members).tolist(), *self.wanted.anchors]
        return set(level_domains.of_node[nodes].tolist()) if nodes else set()

    def _spread(self, area: Area, own: Domains) -> Iterator[Area]:
        """Yield the area; before it, for a gang in buckets, the domains that a spread uses."""
        if self.in_buckets:
            allocation = self.allocation(area.within)
            fewest_domains(allocation, self.groups, self.preference, own)
            used = np.unique(own.of_node[list(allocation.nodes.values())])
            yield Area(np.isin(own.of_node, used), area.domain, near=own)
        yield Area(area.within, area.domain, over=own, near=own)


def _named(level_domains: Domains, home: set[int]) -> str:
    names = [level_domains.all[index].name for index in sorted(home) if index >= 0]
    names += [f"nodes without the label {level_domains.level.label}"] if -1 in home else []
    return f": {', '.join(names)}"


def _failed(detail: str) -> Unschedulable:
    return Unschedulable(Reason.TOPOLOGY_PLACEMENT_FAILED, detail)
