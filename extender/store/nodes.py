"""Nodes and what is taken on them, as arrays that every event changes in place.

``node_table`` puts rows in order of name and columns in a fixed order, so that the same cluster
gives the same arrays whatever happened before. Pods on nodes that are not there (yet) are
remembered and counted when the node appears.

Where CPU requests are changed in place, a node counts the larger of what its pods were given and
what they request now: a reservation is not given away because a request is low for a while, and
none is planned that kube-scheduler, which knows only the present requests, would refuse.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NewType

import numpy as np

from extender.core.nodes.class_masks import MaskCache
from extender.core.nodes.node_table import ALWAYS, IntMatrix, NodeTable
from extender.store.devices import DeviceIndex
from shared.model import CPU, HostPort, Node, NodeName, PodClaim, PodShape, Uid

Positions = NewType("Positions", tuple[np.ndarray, ...])
"""Where rows and columns lie; good until one of those rows is dropped."""

_FIRST_ROWS: Final = 64
_FIRST_COLUMNS: Final = 8


class Amounts:
    """Integers by named row and column, in one array that grows in place with headroom.

    Rows keep their place while they live; a new one takes a freed place. Columns only grow.
    """

    def __init__(self) -> None:
        self._array: IntMatrix = np.zeros((_FIRST_ROWS, _FIRST_COLUMNS), dtype=np.int64)
        self._row: dict[str, int] = {}
        self._column: dict[str, int] = {}
        self._free: list[int] = []

    def add_row(self, row: str) -> None:
        """Add a row of zeros."""
        place = self._free.pop() if self._free else len(self._row)
        self._row[row] = place
        self._grow(rows=place + 1)

    def drop_row(self, row: str) -> None:
        """Take a row away."""
        place = self._row.pop(row)
        self._array[place] = 0
        self._free.append(place)

    def clear_row(self, row: str) -> None:
        """Set a row to zero."""
        self._array[self._row[row]] = 0

    def add(self, row: str, amounts: Iterable[tuple[str, int]], sign: int = 1) -> None:
        """Add ``sign`` times the named amounts to a row."""
        place = self._row[row]
        for name, amount in amounts:
            column = self._place_of(name)
            self._array[place, column] += sign * amount

    def positions(self, rows: Sequence[str], columns: Sequence[str]) -> Positions:
        """Return where these rows and columns lie; unknown columns are added."""
        return Positions(
            np.ix_(
                np.array([self._row[row] for row in rows], dtype=np.intp),
                np.array([self._place_of(column) for column in columns], dtype=np.intp),
            )
        )

    def picked(self, positions: Positions) -> IntMatrix:
        """Return a read-only copy of these rows and columns, in their order."""
        matrix: IntMatrix = self._array[positions]
        matrix.setflags(write=False)
        return matrix

    def _place_of(self, column: str) -> int:
        place = self._column.setdefault(column, len(self._column))
        self._grow(columns=place + 1)
        return place

    def _grow(self, *, rows: int = 0, columns: int = 0) -> None:
        held_rows, held_columns = self._array.shape
        if rows <= held_rows and columns <= held_columns:
            return
        size = (
            held_rows if rows <= held_rows else 2 * rows,
            held_columns if columns <= held_columns else 2 * columns,
        )
        grown: IntMatrix = np.zeros(size, dtype=np.int64)
        grown[:held_rows, :held_columns] = self._array
        self._array = grown


_CPU_COLUMN: Final = ALWAYS.index(CPU)


@dataclass(frozen=True)
class _Layout:
    """What stays the same until a node changes."""

    nodes: tuple[Node, ...]
    resources: tuple[str, ...]
    allocatable: IntMatrix
    index: Mapping[NodeName, int]
    used: Positions


class NodeIndex:
    """The nodes, and the pods that take room on them.

    Attributes:
        devices: Devices of drivers, which are columns of the table as well.
    """

    def __init__(self) -> None:
        self.devices = DeviceIndex()
        self._nodes: dict[str, Node] = {}
        self._occupants: dict[NodeName, dict[Uid, PodShape]] = {}
        self._borrowers: dict[Uid, int] = {}
        self._borrowed: Counter[NodeName] = Counter()
        self._allocatable = Amounts()
        self._used = Amounts()
        self._ports: dict[NodeName, Counter[HostPort]] = {}
        self._classes = MaskCache(())
        self._layout: _Layout | None = None
        self._port_sets: tuple[frozenset[HostPort], ...] | None = None
        self._table: NodeTable | None = None

    def get(self, key: str) -> Node | None:
        """The node of that name."""
        return self._nodes.get(key)

    def all(self) -> Iterable[Node]:
        """Every node."""
        return self._nodes.values()

    def put(self, node: Node) -> None:
        """Add or change a node."""
        if node.name not in self._nodes:
            self._allocatable.add_row(node.name)
            self._used.add_row(node.name)
            for shape in self._occupants.get(node.name, {}).values():
                self._used.add(node.name, shape.requests)
        self._nodes[node.name] = node
        self.devices.put_node(node)
        self._allocatable.clear_row(node.name)
        self._allocatable.add(node.name, node.allocatable.items())
        self._layout = self._port_sets = self._table = None

    def remove(self, node: Node) -> None:
        """Take a node away; its pods stay remembered."""
        del self._nodes[node.name]
        self.devices.remove_node(node.name)
        self._allocatable.drop_row(node.name)
        self._used.drop_row(node.name)
        self._layout = self._port_sets = self._table = None

    def occupy(
        self,
        node: NodeName,
        uid: Uid,
        shape: PodShape,
        *,
        borrowed_milli: int = 0,
        claims: tuple[PodClaim, ...] = (),
        namespace: str = "",
    ) -> None:
        """A pod that was not there takes room; of CPU it has ``borrowed_milli`` more now.

        ``claims`` are those for devices, from templates of its namespace.
        """
        self._occupants.setdefault(node, {})[uid] = shape
        self.devices.hold(node, uid, shape, claims, namespace)
        self._count(node, shape, 1)
        if borrowed_milli:
            self._borrowers[uid] = borrowed_milli
            self._borrow(node, borrowed_milli)

    def vacate(self, node: NodeName, uid: Uid) -> None:
        """A pod leaves."""
        occupants = self._occupants[node]
        shape = occupants.pop(uid)
        self.devices.release(node, uid)
        self._count(node, shape, -1)
        self._borrow(node, -self._borrowers.pop(uid, 0))
        if not occupants:
            del self._occupants[node]

    def node_table(self) -> NodeTable:
        """Return the table as it is now, read-only; the same object until something changes."""
        if self._table is None:
            self._table = self._measured()
        return self.devices.on_nodes(self._table)

    def _measured(self) -> NodeTable:
        layout = self._layout = self._layout or self._lay_out()
        if self._port_sets is None:
            taken = self._ports
            self._port_sets = tuple(frozenset(taken.get(n.name, ())) for n in layout.nodes)
        return NodeTable(
            nodes=layout.nodes,
            resources=layout.resources,
            allocatable=layout.allocatable,
            used=self._taken(layout),
            ports=self._port_sets,
            classes=self._classes,
            index=layout.index,
        )

    def _taken(self, layout: _Layout) -> IntMatrix:
        used = self._used.picked(layout.used)
        more = {n: milli for n, milli in self._borrowed.items() if milli > 0 and n in layout.index}
        if more:
            used = used.copy()
            for node, milli in more.items():
                used[layout.index[node], _CPU_COLUMN] += milli
            used.setflags(write=False)
        return used

    def _borrow(self, node: NodeName, milli: int) -> None:
        """Keep the sum of what a node's pods have more than they were given, or less."""
        if milli:
            self._borrowed[node] += milli
            if not self._borrowed[node]:
                del self._borrowed[node]

    def _lay_out(self) -> _Layout:
        nodes = tuple(node for _, node in sorted(self._nodes.items()))
        offered = {name for node in nodes for name, amount in node.allocatable.items() if amount}
        resources = (*ALWAYS, *sorted(offered.difference(ALWAYS)))
        names = [node.name for node in nodes]
        self._classes = self._classes.renewed(nodes)
        return _Layout(
            nodes=nodes,
            resources=resources,
            allocatable=self._allocatable.picked(self._allocatable.positions(names, resources)),
            index=MappingProxyType({name: i for i, name in enumerate(names)}),
            used=self._used.positions(names, resources),
        )

    def _count(self, node: NodeName, shape: PodShape, sign: int) -> None:
        self._table = None
        if node in self._nodes:
            self._used.add(node, shape.requests, sign)
        if shape.host_ports:
            held = self._ports.pop(node, Counter())
            held.update(dict.fromkeys(shape.host_ports, sign))
            if left := +held:
                self._ports[node] = left
            self._port_sets = None
