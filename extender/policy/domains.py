"""The nodes by topology level: the rack, block or zone of each (docs/policies/topology.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from typing_extensions import override

from extender.policy.places import Places
from extender.policy.room import BoolVector, IntMatrix, IntVector, Room
from shared.model import Node


@dataclass(frozen=True)
class Level:
    """A level of the cluster's topology.

    Attributes:
        name: As people call it, ``rack``.
        label: The node label whose values are its domains.
    """

    name: str
    label: str


@dataclass(frozen=True)
class Domain:
    """One domain: a value of its level's label, below the values of the coarser levels.

    Attributes:
        levels: From the coarsest to its own.
        values: Of their labels; None where the nodes have no such label. The last is never None.
    """

    levels: tuple[Level, ...]
    values: tuple[str | None, ...]

    @property
    def name(self) -> str:
        """As messages have it: ``rack r1 (zone a, block b7)``."""
        *above, own = [
            f"{level.name} {value}"
            for level, value in zip(self.levels, self.values, strict=True)
            if value is not None
        ]
        return f"{own} ({', '.join(above)})" if above else own


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


def domains(room: Room, levels: Sequence[Level]) -> Domains:
    """Return the domains of the last of ``levels``, which go from the coarsest to the finest.

    Racks of one name in two blocks are two racks, if both levels are among ``levels``.
    """
    return _domains(_Nodes(room.nodes), tuple(levels))


class _Nodes:
    """A list of nodes, equal to itself alone: comparing thousands of nodes would cost more."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Nodes) and other.nodes is self.nodes

    @override
    def __hash__(self) -> int:
        return id(self.nodes)


@lru_cache(maxsize=8)
def _domains(nodes: _Nodes, levels: tuple[Level, ...]) -> Domains:
    keys = [level.label for level in levels]
    paths = [tuple(map(node.labels.get, keys)) for node in nodes.nodes]
    known = sorted({p for p in paths if p[-1] is not None}, key=lambda p: [v or "" for v in p])
    index = {path: i for i, path in enumerate(known)}
    of_node = np.array([index.get(path, -1) for path in paths], dtype=np.int64)
    of_node.setflags(write=False)
    return Domains(levels[-1], tuple(Domain(levels, path) for path in known), of_node)
