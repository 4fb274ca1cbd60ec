"""The room with other nodes: taints gone, nodes joined, something freed."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from msgspec.structs import replace as changed
from typing_extensions import override

from extender.core.nodes.feasibility import NodeFilter
from extender.core.nodes.node_columns import NodeColumns
from extender.core.nodes.node_table import BoolVector, ClassMasks, IntMatrix, NodeTable
from shared import labels
from shared.model import HostPort, Node, NodeName, PodShape

NEW = "new-node"
"""Name of nodes that are only thought of."""


def with_nodes(room: NodeTable, nodes: Mapping[int, Node]) -> NodeTable:
    """Return the room with other nodes at these indices, of the same size as before."""
    if not nodes:
        return room
    seen = list(room.nodes)
    for index, node in nodes.items():
        seen[index] = node
    return replace(room, nodes=tuple(seen), classes=_Masks(room.classes, tuple(seen), (*nodes,)))


def with_more(room: NodeTable, like: Node, count: int) -> NodeTable:
    """Return the room with this many more nodes like one, empty, behind the others."""
    added = tuple(_copy(like, i) for i in range(count))
    names = (*room.resources, *sorted(like.allocatable.keys() - set(room.resources)))
    row = np.array([like.allocatable.get(name, 0) for name in names], dtype=np.int64)
    old = len(room.nodes)
    nodes = (*room.nodes, *added)
    return replace(
        room,
        nodes=nodes,
        resources=names,
        allocatable=_grown(room.allocatable, count, row),
        used=_grown(room.used, count, np.zeros_like(row)),
        ports=(*room.ports, *(frozenset[HostPort]() for _ in added)),
        classes=_Masks(room.classes, nodes, tuple(range(old, old + count))),
        index={**room.index, **{node.name: old + i for i, node in enumerate(added)}},
    )


def with_used(room: NodeTable, used: IntMatrix) -> NodeTable:
    """Return the room with other amounts in use."""
    return room.replaced(used=used, ports=room.ports)


def _copy(like: Node, number: int) -> Node:
    name = NodeName(f"{NEW}-{number}")
    return changed(
        like,
        name=name,
        unschedulable=False,
        labels={**like.labels, labels.HOSTNAME_LABEL: name},
    )


def _grown(matrix: IntMatrix, rows: int, row: IntMatrix) -> IntMatrix:
    whole = np.zeros((len(matrix) + rows, len(row)), dtype=np.int64)
    whole[: len(matrix), : matrix.shape[1]] = matrix
    whole[len(matrix) :] = row
    return whole


def of_its_own(room: NodeTable, check: Callable[[], None] = lambda: None) -> NodeTable:
    """Return the room with masks that nobody else asks, so that another thread may use it.

    ``check`` is called before each look at the nodes, which every placement begins with; what it
    raises ends the work.
    """
    rows = tuple(range(len(room.nodes)))
    return replace(room, classes=_Masks(None, room.nodes, rows, check))


class _Masks(ClassMasks):
    """The masks of a room of which some rows are others than in the base, or new."""

    def __init__(
        self,
        base: ClassMasks | None,
        nodes: tuple[Node, ...],
        rows: tuple[int, ...],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._base, self._nodes, self._rows, self._check = base, nodes, rows, check
        self._seen = NodeColumns(tuple(nodes[row] for row in rows))
        self._known: dict[tuple[object, ...], BoolVector] = {}

    @override
    def mask(self, shape: PodShape) -> BoolVector:
        self._check()
        key = (shape.node_selector, shape.affinity, shape.tolerations)
        if key not in self._known:
            mask = np.zeros(len(self._nodes), dtype=np.bool_)
            if self._base is not None:
                old = self._base.mask(shape)
                mask[: len(old)] = old
            mask[list(self._rows)] = NodeFilter(shape).mask(self._seen)
            self._known[key] = mask
        return self._known[key]
