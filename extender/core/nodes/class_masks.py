"""Masks of node classes: which nodes a shape of pods may use by its static features, cached.

One ``MaskCache`` belongs to one list of nodes and never changes its answers; when nodes change,
``renewed`` makes the next one and computes anew only the rows that changed.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from extender.core.nodes.feasibility import NodeFilter, named_nodes, weight
from extender.core.nodes.node_columns import NodeColumns
from extender.core.nodes.node_table import BoolVector, ClassMasks
from shared.model import Node, PodShape

MOST_SHAPES: Final = 512
"""Bound on cached shapes: one byte a node and shape, so 5 MB at 10,000 nodes."""

MOST_WEIGHT: Final = 65_536
"""Bound on the requirements and values of all cached shapes together: a changed node is held
against each of them, so some 10 ms a node, and their texts take a few MB."""

_FEW_CHANGES: Final = 16
"""Above this many changed nodes it is cheaper to look at the values of all nodes once more."""


@dataclass(frozen=True)
class _Entry:
    """What is kept of a shape."""

    filter: NodeFilter
    mask: BoolVector
    weight: int


class MaskCache(ClassMasks):
    """Static masks over one list of nodes.

    Args:
        nodes: In name order.
        most_shapes: How many masks are kept; the one used least recently goes first.
        most_weight: How many requirements and values the shapes that are kept have together.
        entries: Masks that are known already, least recently used first.
    """

    def __init__(
        self,
        nodes: tuple[Node, ...],
        *,
        most_shapes: int = MOST_SHAPES,
        most_weight: int = MOST_WEIGHT,
        entries: Mapping[PodShape, _Entry] | None = None,
    ) -> None:
        self._nodes = nodes
        self._columns = NodeColumns(nodes)
        self._most_shapes, self._most_weight = most_shapes, most_weight
        self._entries: OrderedDict[PodShape, _Entry] = OrderedDict(entries or {})
        self._weight = sum(entry.weight for entry in self._entries.values())

    @override
    def mask(self, shape: PodShape) -> BoolVector:
        """Return the mask over nodes in name order; it is read-only.

        The mask of a pinned shape is not kept: it is cheap, and each pod of a gang has its own.
        """
        key = _static(shape)
        if (entry := self._entries.get(key)) is not None:
            self._entries.move_to_end(key)
            return entry.mask
        node_filter = NodeFilter(key)
        mask = node_filter.mask(self._columns)
        mask.setflags(write=False)
        if named_nodes(key) is None:
            self._keep(key, _Entry(node_filter, mask, weight(key)))
        return mask

    def renewed(self, nodes: tuple[Node, ...]) -> Self:
        """Return the cache for a changed list of nodes, with every kept mask carried over."""
        rows = [self._columns.rows.get(node.name, -1) for node in nodes]
        changed = [
            (i, nodes[i]) for i, row in enumerate(rows) if row < 0 or self._differs(row, nodes[i])
        ]
        source = None if rows == list(range(len(self._nodes))) else np.array(rows, dtype=np.intp)
        entries: Mapping[PodShape, _Entry] = self._entries
        if len(changed) > _FEW_CHANGES:
            entries = {}  # each is computed anew when it is used
        elif changed or source is not None:
            entries = {key: _carried(e, source, changed) for key, e in entries.items()}
        return type(self)(
            nodes, most_shapes=self._most_shapes, most_weight=self._most_weight, entries=entries
        )

    def kept(self) -> Iterator[tuple[PodShape, BoolVector]]:
        """The cached masks, least recently used first."""
        return ((shape, entry.mask) for shape, entry in self._entries.items())

    def _keep(self, key: PodShape, entry: _Entry) -> None:
        self._entries[key] = entry
        self._weight += entry.weight
        while len(self._entries) > self._most_shapes or self._weight > self._most_weight:
            _, gone = self._entries.popitem(last=False)
            self._weight -= gone.weight

    def _differs(self, row: int, node: Node) -> bool:
        old = self._nodes[row]
        return old is not node and (old.labels, old.taints, old.unschedulable) != (
            node.labels,
            node.taints,
            node.unschedulable,
        )


def _carried(
    entry: _Entry, source: NDArray[np.intp] | None, changed: Iterable[tuple[int, Node]]
) -> _Entry:
    """The mask with row ``i`` from ``old[source[i]]``, and the changed rows computed anew."""
    old = entry.mask
    if source is None:
        mask = old.copy()
    else:
        mask = old[source] if len(old) else np.zeros(len(source), dtype=np.bool_)
    for row, node in changed:
        mask[row] = entry.filter.accepts(node)
    mask.setflags(write=False)
    return replace(entry, mask=mask)


def _static(shape: PodShape) -> PodShape:
    """The features a mask depends on, so that shapes that differ in requests share one mask."""
    return PodShape(
        node_selector=shape.node_selector, affinity=shape.affinity, tolerations=shape.tolerations
    )
