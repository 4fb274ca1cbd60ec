"""What buckets are mapped to: nodes, or the nodes with one value of a label (zone, rack)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from extender.policy.pricing import FloatVector
from extender.policy.room import BoolVector, IntMatrix, IntVector, Room
from shared.model import NodeName


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a room, in the order of their names.

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


def places(room: Room, topology_key: str) -> Places:
    """Return the places that the values of a node label make; the nodes for an empty key."""
    if not topology_key:
        nodes = len(room.nodes)
        by_name = cast("Mapping[str, int]", room.index)  # a node's name is the place's
        return Places(by_name, np.arange(nodes), nodes, are_nodes=True)
    names = [
        place_name(node.name, node.labels.get(topology_key), topology_key) for node in room.nodes
    ]
    index = {name: i for i, name in enumerate(sorted(set(names)))}
    of_node = np.array([index[name] for name in names], dtype=np.int64)
    return Places(index, of_node, len(index), are_nodes=False)


def place_name(node: NodeName, value: str | None, topology_key: str) -> str:
    """Return the name of a node's place by its value of the label."""
    return node if value is None else f"{topology_key}={value}"
