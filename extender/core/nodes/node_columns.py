"""Labels and taints of a list of nodes as arrays, so that a filter checks values instead of nodes.

A label key is one column: the distinct values, and for each node the index of its value. A filter
checks each distinct value, and the column yields the nodes that have it. Columns are made when they
are first used; a key that no node has costs nothing, however many such keys pods name.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extender.core.nodes.node_table import BoolVector
from shared.model import Node, Taint

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


_INT64: Final = range(-(2**63), 2**63)


_MOST_DIGITS: Final = 63
"""A label value is no longer, and Python refuses to read integers of thousands of digits."""


def int64(text: str | None) -> int | None:
    """Go ``strconv.ParseInt(text, 10, 64)``; None where it gives an error."""
    if text is None or len(text) > _MOST_DIGITS or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


HARD_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep a pod off a node; the others are preferences."""


class LabelColumn:
    """The values of one label key.

    Args:
        values: The value of each node, None where the node lacks the label.
    """

    def __init__(self, values: Iterable[str | None]) -> None:
        self.position: dict[str, int] = {}
        """Each distinct value and its code."""
        codes = [
            -1 if value is None else self.position.setdefault(value, len(self.position))
            for value in values
        ]
        self._codes: NDArray[np.intp] = np.array(codes, dtype=np.intp)

    def present(self) -> BoolVector:
        """Return the nodes that have the label."""
        mask: BoolVector = self._codes >= 0
        return mask

    def one_of(self, values: frozenset[str]) -> BoolVector:
        """Return the nodes whose value is among these; looks at the fewer of both."""
        if len(values) < len(self.position):
            codes = [self.position[value] for value in values if value in self.position]
        else:
            codes = [code for value, code in self.position.items() if value in values]
        matches = np.zeros(len(self.position) + 1, dtype=np.bool_)
        matches[codes] = True
        return self._by_node(matches)

    def compared(self, bound: int, *, greater: bool) -> BoolVector:
        """Return the nodes whose value is an integer of 64 bits above (below) the bound."""
        numbers, valid = self._integers
        return self._by_node(valid & ((numbers > bound) if greater else (numbers < bound)))

    @cached_property
    def _integers(self) -> tuple[NDArray[np.int64], BoolVector]:
        """Return the distinct values as integers, and which of them are some; the last: missing."""
        read = [*map(int64, self.position), None]
        numbers = np.array([number or 0 for number in read], dtype=np.int64)
        return numbers, np.array([number is not None for number in read], dtype=np.bool_)

    def _by_node(self, by_value: BoolVector) -> BoolVector:
        """Return a mask over nodes; the last entry of ``by_value`` is for nodes without the label.

        That is what code -1 picks.
        """
        mask: BoolVector = by_value[self._codes]
        return mask


class NodeColumns:
    """Label columns and taints of one list of nodes.

    Args:
        nodes: In the order of the masks.
    """

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes
        self._columns: dict[str, LabelColumn] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def column(self, key: str) -> LabelColumn:
        """Return the column of a label key."""
        if key not in self._keys:
            return self._empty
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn(node.labels.get(key) for node in self.nodes)
        return column

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Return the row of each node, by name."""
        return {node.name: row for row, node in enumerate(self.nodes)}

    @cached_property
    def unschedulable(self) -> BoolVector:
        """Return the cordoned nodes."""
        return np.array([node.unschedulable for node in self.nodes], dtype=np.bool_)

    @cached_property
    def taints(self) -> tuple[tuple[tuple[Taint, ...], ...], NDArray[np.intp]]:
        """Return the distinct sets of hard taints, and which of them each node has."""
        position: dict[tuple[Taint, ...], int] = {}
        codes = [
            position.setdefault(
                tuple(taint for taint in node.taints if taint.effect in HARD_EFFECTS), len(position)
            )
            for node in self.nodes
        ]
        return tuple(position), np.array(codes, dtype=np.intp)

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(key for node in self.nodes for key in node.labels)

    @cached_property
    def _empty(self) -> LabelColumn:
        return LabelColumn(None for _ in self.nodes)
