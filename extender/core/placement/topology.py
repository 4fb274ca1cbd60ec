"""The cluster's topology: what the pods of a job request of its levels, and where they may move.

A job has one set of pods, or several that request different things (docs/policies/topology.md).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from extender.core.cluster import spread_speeds
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.slice_request import LevelRequest
from extender.core.cluster.topology_request import PodSet, TopologyRequest
from extender.core.kinds.base import Problem
from extender.core.nodes.node_table import BoolVector, NodeTable
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement.allocation import Placed
from extender.core.placement.domains import Domains, domains
from extender.core.placement.slice_parts import Layer, WantedSlices, slice_numbers
from shared.errors import InputError
from shared.model import NodeName, Uid

_PLACED: Final = (State.BOUND, State.RESERVED)


@dataclass(frozen=True)
class Wanted:
    """The request of one set of pods, with the indices of its levels.

    Attributes:
        level: Index of the level.
        required: Whether one domain must hold all pods; otherwise as few as possible should.
        anchors: Nodes in the domains of members of which the domain is known, but not the node.
        inside: Index of the finer level of which as few domains as possible should hold them in the
            required one; None: no matter.
        slices: The slices of which each must be in one domain; None for none.
        equal: The domains over which the set is spread take equal parts, or it waits.
        roles: Roles of the pods; empty: all of the job.
    """

    level: int
    required: bool
    anchors: tuple[int, ...] = ()
    inside: int | None = None
    slices: WantedSlices | None = None
    equal: bool = False
    roles: frozenset[str] = field(default_factory=frozenset)

    def has(self, role: str) -> bool:
        """Return True if pods of the role are in the set."""
        return not self.roles or role in self.roles


def wanted(job: Job, pod_set: PodSet, table: NodeTable, params: TopologyParameters) -> Wanted:
    """Return by what the members of a set are to be placed that have no node yet.

    Raises:
        InputError: An annotation names no level.
    """
    request, slices = pod_set.request, None
    loose = [m for m in job.having(State.LOOSE) if pod_set.has(m.role)]
    if request.slices:
        layers = tuple(Layer(_index(one.level, params), one.size) for one in request.slices)
        finest = domains(table, params.levels[: layers[-1].level + 1]) if loose else None
        found = _anchors(loose, table, finest)
        names = [Placed(m.role, m.rank, table.nodes[node].name) for m, node in found]
        slices = WantedSlices(layers, tuple(names))
    wish = slices.layers[0].level if slices is not None else 0
    level = wish if request.preferred is None else _index(request.preferred, params)
    spread = Wanted(level, False, slices=slices, equal=request.equal, roles=pod_set.roles)
    if request.required is None:
        return spread
    level = _index(request.required, params)
    found = _anchors(loose, table, domains(table, params.levels[: level + 1]) if loose else None)
    anchors = tuple(node for _, node in found)
    inside = None if request.preferred is None else _index(request.preferred, params)
    return replace(spread, level=level, required=True, anchors=anchors, inside=inside)


def problem(job: Job, params: TopologyParameters) -> Problem | None:
    """Return what is wrong with the levels that the job names; None if nothing is."""
    try:
        for pod_set in job.spec.topology:
            _check(pod_set.request, params)
        for stated in job.spec.spread_speeds:
            params.level(stated.level, spread_speeds.FIELD)
    except InputError as error:
        return Problem.of(error)
    return None


def _check(request: TopologyRequest, params: TopologyParameters) -> None:
    """Check that the levels exist, and that each is finer than the one around it.

    Slices may be of the very level that holds the set.

    Raises:
        InputError: Otherwise.
    """
    above, wish = request.required, request.preferred
    if above is not None:
        _index(above, params)
    if wish is not None:
        level = _index(wish, params)
        if above is not None and level <= _index(above, params):
            expected = f"a level finer than {above.text}, which {above.key} requires"
            raise InputError(f"annotation {wish.key}", wish.text, expected)
        above = wish
    for number, one in enumerate(request.slices):
        level = _index(one.level, params)
        if above is not None and level < _index(above, params) + bool(number):
            same = "" if number else f"{above.text}, which {above.key} names, or "
            finer = f"a level finer than {above.text}" if number else "a finer level"
            raise InputError(f"annotation {one.level.key}", one.level.text, f"{same}{finer}")
        above = one.level


def _index(request: LevelRequest, params: TopologyParameters) -> int:
    """Return the index of the level that a request names.

    Raises:
        InputError: There is none.
    """
    return params.level(request.text, f"annotation {request.key}")


def absent_level(job: Job, table: NodeTable, params: TopologyParameters) -> LevelRequest | None:
    """Return a level that the job requires and no node has; None if there is none.

    None also where there are no nodes at all: the level is not what is missing.
    """
    if not table.nodes or problem(job, params):
        return None
    for request in (one for pod_set in job.spec.topology for one in pod_set.request.keys):
        level = params.levels[_index(request, params)]
        if not any(level.on(node.labels) for node in table.nodes):
            return request
    return None


def absent(job: Job, table: NodeTable, params: TopologyParameters) -> str | None:
    """Return that no node has a level that the job requires, and what helps; None if some has."""
    request = absent_level(job, table, params)
    if request is None:
        return None
    level = params.levels[_index(request, params)]
    existing = [one for one in params.levels if any(one.on(n.labels) for n in table.nodes)]
    others = " or ".join(f"{other.name} ({other.label})" for other in existing)
    instead = f", or require a level that nodes have: {others}" if others else ""
    return (
        f"{level.name} is the label {' or '.join(level.labels)} (annotation {request.key}); "
        f"label the nodes with it{instead}"
    )


def nodes_beside(
    job: Job,
    member: Member,
    leaving: Collection[Uid],
    table: NodeTable,
    params: TopologyParameters,
) -> BoolVector | None:
    """Return the nodes to which a member may go so that the job is as it requires; None: all.

    Those in the domain of the members that stay, of its set and of its slice; where none stays, all
    nodes with the label.

    Args:
        job: A job.
        member: The member that moves.
        leaving: All members that move.
        table: The nodes.
        params: The levels.
    """
    mask: BoolVector | None = None
    for pod_set, level_domains, size in _confining(job, member.role, table, params):
        staying = [
            m
            for m in job.having(*_PLACED)
            if pod_set.has(m.role) and m.pod.uid not in leaving and m.node in table.index
        ]
        if size:
            staying = _of_one_slice(member, staying, pod_set, job, size)
        allowed: BoolVector = level_domains.of_node >= 0
        nodes = {one.node for one in staying if one.node is not None}
        for home in {int(level_domains.of_node[table.index[node]]) for node in nodes}:
            allowed = allowed & (level_domains.of_node == home)
        mask = allowed if mask is None else mask & allowed
    return mask


def confined_apart(job: Job, members: Iterable[Member]) -> list[Member]:
    """Return the members for which ``nodes_beside`` may differ: of a role without slices, one."""
    sliced = [one for one in job.spec.topology if one.request.slices]
    found: dict[str, Member] = {}
    for member in members:
        has_slice = any(one.has(member.role) for one in sliced)
        found[member.pod.uid if has_slice else f"role {member.role}"] = member
    return list(found.values())


def keeps(
    job: Job, targets: Mapping[Uid, NodeName], table: NodeTable, params: TopologyParameters
) -> bool:
    """Return True if the job is as it requires once members are on their targets, all of nodes."""
    placed = {m.pod.uid: m.node for m in job.having(*_PLACED) if m.node in table.index}
    nodes = {**placed, **targets}
    members = [m for m in job.members if m.pod.uid in nodes]
    for role in {m.role for m in members if m.pod.uid in targets}:
        for pod_set, level_domains, size in _confining(job, role, table, params):
            own = [m for m in members if pod_set.has(m.role)]
            numbers = slice_numbers([(m.role, m.rank) for m in own], size) if size else None
            parts: dict[object, set[int]] = {}
            for at, one in enumerate(own):
                node = nodes[one.pod.uid]
                home = -1 if node is None else int(level_domains.of_node[table.index[node]])
                key = (one.role, at) if size and numbers is None else numbers and numbers[at]
                parts.setdefault(key, set()).add(home)
            if any(len(found) > 1 or -1 in found for found in parts.values()):
                return False
    return True


def finest(job: Job, role: str, table: NodeTable, params: TopologyParameters) -> Domains | None:
    """Return the finest domains of which one must hold a pod with others; None for none."""
    found = [level_domains for _, level_domains, _ in _confining(job, role, table, params)]
    return found[-1] if found else None


def _confining(
    job: Job, role: str, table: NodeTable, params: TopologyParameters
) -> Iterator[tuple[PodSet, Domains, int]]:
    """Yield what holds pods of the role together: their set, the domains, the size of slices.

    The size is 0 for the whole set; the finest come last.
    """
    if problem(job, params):
        return
    for pod_set in job.spec.topology:
        if not pod_set.has(role):
            continue
        for level, size in pod_set.request.confining:
            of_level = domains(table, params.levels[: _index(level, params) + 1])
            yield pod_set, of_level, size


def _of_one_slice(
    member: Member, staying: Sequence[Member], pod_set: PodSet, job: Job, size: int
) -> list[Member]:
    """Return those that stay of the member's slice; without indices those on its node."""
    own = [m for m in job.members if pod_set.has(m.role) and m.state in {*_PLACED, member.state}]
    numbers = slice_numbers([(m.role, m.rank) for m in own], size)
    if numbers is None:
        return [m for m in staying if m.node == member.node]
    of_uid = {m.pod.uid: number for m, number in zip(own, numbers, strict=True)}
    return [m for m in staying if of_uid.get(m.pod.uid) == of_uid.get(member.pod.uid)]


def _anchors(
    loose: Iterable[Member], table: NodeTable, level_domains: Domains | None
) -> list[tuple[Member, int]]:
    """Return a node for each released pod that may still go to nodes of one domain alone."""
    if level_domains is None:
        return []
    found = []
    for member in loose:
        allowed = np.flatnonzero(table.classes.mask(member.pod.shape))
        reachable = np.unique(level_domains.of_node[allowed])
        if len(reachable) == 1 and reachable[0] >= 0:
            found.append((member, int(allowed[0])))
    return found
