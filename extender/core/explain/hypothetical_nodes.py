"""Node tables with hypothetical nodes: without taints, added, or with other amounts in use."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from msgspec.structs import replace as changed
from typing_extensions import override

from extender.core.nodes.feasibility import NodeFilter
from extender.core.nodes.node_columns import NodeColumns
from extender.core.nodes.node_table import BoolVector, ClassMasks, IntMatrix, NodeTable
from shared import labels
from shared.model import HostPort, Node, NodeName, PodShape

NEW: Final = "new-node"
"""Prefix of the names of added nodes."""


def with_nodes(table: NodeTable, nodes: Mapping[int, Node]) -> NodeTable:
    """Return the table with other nodes at these indices, of the same capacity as before."""
    if not nodes:
        return table
    changed_nodes = list(table.nodes)
    for index, node in nodes.items():
        changed_nodes[index] = node
    whole = tuple(changed_nodes)
    return replace(table, nodes=whole, classes=_Masks(table.classes, whole, (*nodes,)))


def with_more(table: NodeTable, like: Node, count: int) -> NodeTable:
    """Return the table with so many empty nodes like the given one after the others."""
    added = tuple(_copy(like, i) for i in range(count))
    names = (*table.resources, *sorted(like.allocatable.keys() - set(table.resources)))
    has = capacity(table, like)
    row = np.array([has.get(name, 0) for name in names], dtype=np.int64)
    old = len(table.nodes)
    nodes = (*table.nodes, *added)
    return replace(
        table,
        nodes=nodes,
        resources=names,
        allocatable=_grown(table.allocatable, count, row),
        used=_grown(table.used, count, np.zeros_like(row)),
        ports=(*table.ports, *(frozenset[HostPort]() for _ in added)),
        classes=_Masks(table.classes, nodes, tuple(range(old, old + count))),
        index={**table.index, **{node.name: old + i for i, node in enumerate(added)}},
    )


def capacity(table: NodeTable, node: Node) -> dict[str, int]:
    """Return what a node offers, and the devices of drivers that it has."""
    index = table.index.get(node.name)
    row = () if index is None else table.allocatable[index].tolist()
    published = {n: amount for n, amount in zip(table.resources, row, strict=False) if amount}
    return published | {name: amount for name, amount in node.allocatable.items() if amount}


def with_used(table: NodeTable, used: IntMatrix) -> NodeTable:
    """Return the table with other amounts in use."""
    return table.replaced(used=used, ports=table.ports)


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


def isolated(table: NodeTable, check: Callable[[], None] = lambda: None) -> NodeTable:
    """Return the table with masks of its own, so that another thread may use it.

    ``check`` is called at the beginning of every placement; an exception that it raises ends the
    work.
    """
    rows = tuple(range(len(table.nodes)))
    return replace(table, classes=_Masks(None, table.nodes, rows, check))


class _Masks(ClassMasks):
    """Masks of a table of which some rows differ from those of the base, or are new."""

    def __init__(
        self,
        base: ClassMasks | None,
        nodes: tuple[Node, ...],
        rows: tuple[int, ...],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._base, self._nodes, self._rows, self._check = base, nodes, rows, check
        self._columns = NodeColumns(tuple(nodes[row] for row in rows))
        self._by_demands: dict[tuple[object, ...], BoolVector] = {}

    @override
    def mask(self, shape: PodShape) -> BoolVector:
        self._check()
        key = (shape.node_selector, shape.affinity, shape.tolerations)
        if key not in self._by_demands:
            mask = np.zeros(len(self._nodes), dtype=np.bool_)
            if self._base is not None:
                old = self._base.mask(shape)
                mask[: len(old)] = old
            mask[list(self._rows)] = NodeFilter(shape).mask(self._columns)
            self._by_demands[key] = mask
        return self._by_demands[key]
