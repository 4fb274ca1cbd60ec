"""The nodes by topology level, and how well each domain suits a gang (docs/policies/topology.md).

A domain is the rack, block or zone of a node.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import cast

import numpy as np

from extender.core.nodes.node_table import (
    BoolVector,
    FloatVector,
    IntMatrix,
    IntVector,
    NodeList,
    NodeTable,
)
from extender.core.parameters.placement import Level
from extender.core.placement.allocation import GangAllocation, Group, Need, Preference
from shared.model import NodeName


@dataclass(frozen=True)
class Domain:
    """One domain: a value of its level's label, below the values of the coarser levels.

    Attributes:
        levels: From the coarsest to its own.
        places: Label and value of each level; None where the nodes have no such label. The last is
            never None.
    """

    levels: tuple[Level, ...]
    places: tuple[tuple[str, str] | None, ...]

    @property
    def name(self) -> str:
        """As messages have it: ``rack r1 (zone a, block b7)``."""
        *above, own = [
            f"{level.name} {place[1]}"
            for level, place in zip(self.levels, self.places, strict=True)
            if place is not None
        ]
        return f"{own} ({', '.join(above)})" if above else own


@dataclass(frozen=True, eq=False)
class Places:
    """The places of the nodes, in the order of their names.

    Attributes:
        index: Place index by name: ``node`` or ``key=value``.
        of_node: Place index of every node; a node without the label is a place of its own.
        count: How many places there are.
        are_nodes: Whether every place is one node, in the same order.
    """

    index: Mapping[str, int]
    of_node: IntVector
    count: int
    are_nodes: bool

    def sums(self, by_node: IntMatrix) -> IntMatrix:
        """Return the columns of ``by_node`` summed by place."""
        if self.are_nodes:
            return by_node
        summed = np.zeros((len(by_node), self.count), dtype=np.int64)
        for row, sums in zip(by_node, summed, strict=True):
            np.add.at(sums, self.of_node, row)
        return summed

    def best(self, by_node: FloatVector, usable: BoolVector) -> FloatVector:
        """Return the largest value of each place's usable nodes; -inf where there is none."""
        values = np.where(usable, by_node, -np.inf)
        if self.are_nodes:
            return values
        best = np.full(self.count, -np.inf)
        np.maximum.at(best, self.of_node, values)
        return best


@dataclass(frozen=True, eq=False)
class Domains:
    """The domains of one level, in the order of their values.

    Attributes:
        level: Which level.
        all: The domains.
        of_node: Index of every node's domain; -1 for a node without the label.
    """

    level: Level
    all: tuple[Domain, ...]
    of_node: IntVector

    def within(self, index: int) -> BoolVector:
        """Return the mask of a domain's nodes."""
        mask: BoolVector = self.of_node == index
        return mask

    def sums(self, by_node: IntMatrix) -> IntMatrix:
        """Return the columns of ``by_node`` summed by domain; nodes without one are left out."""
        own = self.of_node[self._labelled]
        summed = np.zeros((len(by_node), len(self.all)), dtype=np.int64)
        for row, sums in zip(by_node, summed, strict=True):
            np.add.at(sums, own, row[self._labelled])
        return summed

    @cached_property
    def places(self) -> Places:
        """The domains as places; a node without the label is a place of its own."""
        alone = int(np.count_nonzero(~self._labelled))
        of_node = self.of_node.copy()
        of_node[~self._labelled] = len(self.all) + np.arange(alone)
        return Places({}, of_node, len(self.all) + alone, are_nodes=False)

    @cached_property
    def _labelled(self) -> BoolVector:
        mask: BoolVector = self.of_node >= 0
        return mask


def domains(table: NodeTable, levels: Sequence[Level]) -> Domains:
    """Return the domains of the last of ``levels``, which go from the coarsest to the finest.

    Racks of one name in two blocks are two racks, if both levels are among ``levels``.
    """
    return _domains(NodeList(table.nodes), tuple(levels))


@lru_cache(maxsize=8)
def _domains(nodes: NodeList, levels: tuple[Level, ...]) -> Domains:
    path_levels = _path(levels)
    paths = [tuple(level.on(node.labels) for level in path_levels) for node in nodes.nodes]
    found = sorted({p for p in paths if p[-1] is not None}, key=_in_order)
    index = {path: i for i, path in enumerate(found)}
    of_node = np.array([index.get(path, -1) for path in paths], dtype=np.int64)
    of_node.setflags(write=False)
    return Domains(levels[-1], tuple(Domain(path_levels, path) for path in found), of_node)


def _path(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Return the levels whose values tell the domains of the last one apart."""
    own = levels[-1]
    if own.unique:
        return (own,)
    return (*(level for level in levels[:-1] if not level.unique), own)


def _in_order(path: tuple[tuple[str, str] | None, ...]) -> list[tuple[str, str]]:
    """Return a key by values; nodes without a label come first."""
    return [("", "") if place is None else place[::-1] for place in path]


_DIGITS = 9
"""Numbers nearer than this are equal, so that names decide and not the order of additions."""


@dataclass(frozen=True, eq=False)
class DomainFit:
    """Of each domain, in the order of their names.

    Attributes:
        holds: How many of the pods it holds; for pods of several shapes at most so many.
        holds_all: Whether it may hold all of them; for pods of one shape it does.
        left_over: What stays free of it with them, as a part of the whole cluster: mean over the
            requested resources, without the pod count.
        wish: The highest weighted sum of its usable nodes.
        members: How many members of the job it has.
    """

    holds: IntVector
    holds_all: BoolVector
    left_over: FloatVector
    wish: FloatVector
    members: IntVector

    def best_fits(self) -> list[int]:
        """Return the domains that may hold all pods: those with most members, then least left."""
        keys = (-self.wish, self.left_over, -self.members)
        return [int(i) for i in np.lexsort(keys) if self.holds_all[i]]

    def fullest_first(self) -> list[int]:
        """Return the domains that hold any: those with most members, then that hold most."""
        keys = (-self.wish, -self.holds, -self.members)
        return [int(i) for i in np.lexsort(keys) if self.holds[i]]

    def roomiest(self) -> list[int]:
        """Return the domain that holds most pods, of these where most is left; none if none is."""
        keys = (-self.wish, -self.left_over, ~self.holds_all, -self.holds)
        return [int(i) for i in np.lexsort(keys)[:1]]


def domain_fit(
    candidates: Domains, groups: Sequence[Group], allocation: GangAllocation, preference: Preference
) -> DomainFit:
    """Compare the domains as the allocation leaves them."""
    pods: Counter[Need] = Counter()
    for group in groups:
        pods[group.need] += len(group)
    counts = np.array(list(pods.values()), dtype=np.int64)[:, None]
    slots = candidates.sums(np.array([allocation.slots(need) for need in pods], dtype=np.int64))
    enough, left_over = _amounts(candidates, pods, allocation)
    usable = np.any([allocation.slots(need) > 0 for need in pods], axis=0)
    wish = candidates.places.best(preference.total(groups), usable)[: len(candidates.all)]
    return DomainFit(
        holds=np.minimum(slots, counts).sum(axis=0),
        holds_all=np.all(slots >= counts, axis=0) & enough,
        left_over=left_over,
        wish=wish,
        members=candidates.sums(allocation.members[None, :])[0],
    )


def _amounts(
    candidates: Domains, pods: Counter[Need], allocation: GangAllocation
) -> tuple[BoolVector, FloatVector]:
    """Return where the pods request no more than is free in total, and what they would leave."""
    demand = np.sum([need.request * count for need, count in pods.items()], axis=0)
    requested = np.flatnonzero(demand)
    usable = np.any([need.mask for need in pods], axis=0)
    by_node: IntMatrix = np.where(usable, np.maximum(allocation.free[:, requested].T, 0), 0)
    left = candidates.sums(by_node) - demand[requested][:, None]
    enough: BoolVector = np.all(left >= 0, axis=0)
    counted = allocation.node_table.goods[requested]
    capacity = np.maximum(allocation.node_table.allocatable[:, requested].sum(axis=0), 1)[:, None]
    shares = (left / capacity)[counted]
    return enough, shares.mean(axis=0).round(_DIGITS) if len(shares) else np.zeros(
        len(candidates.all)
    )


def places(table: NodeTable, topology_key: str) -> Places:
    """Return the places that the values of a node label make; the nodes for an empty key."""
    if not topology_key:
        nodes = len(table.nodes)
        by_name = cast("Mapping[str, int]", table.index)  # a node's name is the place's
        return Places(by_name, np.arange(nodes), nodes, are_nodes=True)
    names = [
        place_name(node.name, node.labels.get(topology_key), topology_key) for node in table.nodes
    ]
    index = {name: i for i, name in enumerate(sorted(set(names)))}
    of_node = np.array([index[name] for name in names], dtype=np.int64)
    return Places(index, of_node, len(index), are_nodes=False)


def place_name(node: NodeName, value: str | None, topology_key: str) -> str:
    """Return the name of a node's place by its value of the label."""
    return node if value is None else f"{topology_key}={value}"
