"""The columns of devices as arrays: the rows that changed are computed anew, the others kept."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from extender.core.nodes.device_columns import Layout
from extender.core.nodes.node_table import ALWAYS, BoolVector, IntMatrix, NodeTable
from extender.store.device_rows import Row
from shared.model import Node, NodeName

MOST_SINGLE: Final = 500
"""Rows that are changed one by one; of more all are put in order anew, which takes 2 ms."""

RowOf = Callable[[Node], Row]
"""Computes the row of a node."""


class DeviceArrays:
    """Of one layout; begins with no rows."""

    def __init__(self) -> None:
        self._nodes: tuple[Node, ...] | None = None
        self._rows: dict[NodeName, Row] = {}
        self._allocatable: IntMatrix = np.zeros((0, 0), dtype=np.int64)
        self._used: IntMatrix = np.zeros((0, 0), dtype=np.int64)
        self._offering: Mapping[str, BoolVector] = {}
        self._joined: tuple[IntMatrix, tuple[str, ...], IntMatrix] | None = None

    def joined(
        self, table: NodeTable, layout: Layout, dirty: Collection[NodeName], row: RowOf
    ) -> NodeTable:
        """Return the table with the columns of the layout.

        Args:
            table: The nodes, with what pods and placeholders take of what nodes offer themselves.
            layout: The columns.
            dirty: Nodes whose row may differ from the one before.
            row: Computes one.
        """
        self._update(table, layout, dirty, row)
        return self._with_columns(table, layout)

    def _update(
        self, table: NodeTable, layout: Layout, dirty: Collection[NodeName], row: RowOf
    ) -> None:
        if self._nodes is not table.nodes or len(dirty) > MOST_SINGLE:
            for name in dirty:
                self._rows.pop(name, None)
            self._lay_out(table, layout, row)
            return
        for name in dirty:
            if (index := table.index.get(name)) is not None:
                before = self._rows[name]
                self._rows[name] = after = row(table.nodes[index])
                self._used[index] = after[1]
                if after[0] != before[0]:
                    self._allocatable[index], self._joined = after[0], None

    def _lay_out(self, table: NodeTable, layout: Layout, row: RowOf) -> None:
        """Put the rows in the order of a new list of nodes."""
        for node in table.nodes:
            if node.name not in self._rows:
                self._rows[node.name] = row(node)
        rows = [self._rows[node.name] for node in table.nodes]
        different = {id(one): one for one in rows}  # most nodes share one
        place = {key: at for at, key in enumerate(different)}
        places = np.fromiter((place[id(one)] for one in rows), dtype=np.intp, count=len(rows))
        size = (len(different), len(layout.members))
        amounts = np.array([*different.values()], dtype=np.int64).reshape(size[0], 2, size[1])
        self._allocatable, self._used = amounts[places, 0], amounts[places, 1]
        self._nodes, self._joined = table.nodes, None
        self._offering = {
            member: np.array([bool(n.allocatable.get(member)) for n in table.nodes], np.bool_)
            for members in layout.members.values()
            for member in members
            if member in table.resources
        }

    def _with_columns(self, table: NodeTable, layout: Layout) -> NodeTable:
        own = {name: i for i, name in enumerate(table.resources)}
        others = sorted({*table.resources, *layout.members}.difference(ALWAYS))
        resources = (*ALWAYS, *others)
        places = [resources.index(column) for column in layout.members]
        kept = [resources.index(name) for name in table.resources]
        used = np.zeros((len(table.nodes), len(resources)), dtype=np.int64)
        used[:, kept] = table.used
        used[:, places] = self._used
        for place, members in zip(places, layout.members.values(), strict=True):
            for member in members:
                if member in own and member in self._offering:
                    used[:, place] += np.where(
                        self._offering[member], table.used[:, own[member]], 0
                    )
        used.setflags(write=False)
        return replace(
            table,
            resources=resources,
            allocatable=self._all_allocatable(table, resources, kept, places),
            used=used,
            counted_with=layout.counted_with,
        )

    def _all_allocatable(
        self, table: NodeTable, resources: tuple[str, ...], kept: list[int], places: list[int]
    ) -> IntMatrix:
        """Return the same matrix as before while neither part of it has changed."""
        if self._joined is not None:
            source, names, matrix = self._joined
            if source is table.allocatable and names == resources:
                return matrix
        matrix = np.zeros((len(table.nodes), len(resources)), dtype=np.int64)
        matrix[:, kept] = table.allocatable
        matrix[:, places] = self._allocatable
        matrix.setflags(write=False)
        self._joined = (table.allocatable, resources, matrix)
        return matrix
