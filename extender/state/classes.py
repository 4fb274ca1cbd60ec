"""Masks of node classes: which nodes a shape of pods may use by its static features, cached.

One ``MaskCache`` belongs to one list of nodes and never changes its answers; when nodes change,
``renewed`` makes the next one and computes anew only the rows that changed.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from extender.policy.feasibility import accepts, named_nodes
from extender.policy.room import BoolVector, ClassMasks
from shared.model import Node, NodeName, PodShape

MOST_SHAPES: Final = 512
"""Bound on cached shapes: one byte a node and shape, so 5 MB at 10,000 nodes."""


class MaskCache(ClassMasks):
    """Static masks over one list of nodes.

    Args:
        nodes: In name order.
        most_shapes: How many masks are kept; the one asked for least recently goes first.
        masks: What is known already, least recently asked for first.
    """

    def __init__(
        self,
        nodes: tuple[Node, ...],
        *,
        most_shapes: int = MOST_SHAPES,
        masks: Mapping[PodShape, BoolVector] | None = None,
    ) -> None:
        self._nodes = nodes
        self._rows: Mapping[NodeName, int] = {node.name: i for i, node in enumerate(nodes)}
        self._most_shapes = most_shapes
        self._masks: OrderedDict[PodShape, BoolVector] = OrderedDict(masks or {})

    @override
    def mask(self, shape: PodShape) -> BoolVector:
        """Return the mask over nodes in name order; it is read-only.

        The mask of a pinned shape is not kept: it is cheap, and each pod of a gang has its own.
        """
        key = _static(shape)
        if (known := self._masks.get(key)) is not None:
            self._masks.move_to_end(key)
            return known
        if (names := named_nodes(key)) is not None:
            return self._computed(key, [self._rows[n] for n in names if n in self._rows])
        mask = self._masks[key] = self._computed(key, range(len(self._nodes)))
        if len(self._masks) > self._most_shapes:
            self._masks.popitem(last=False)
        return mask

    def renewed(self, nodes: tuple[Node, ...]) -> Self:
        """Return the cache for a changed list of nodes, with every kept mask carried over."""
        rows = [self._rows.get(node.name, -1) for node in nodes]
        changed = [
            (i, nodes[i]) for i, row in enumerate(rows) if row < 0 or self._differs(row, nodes[i])
        ]
        source = None if rows == list(range(len(self._nodes))) else np.array(rows, dtype=np.intp)
        masks: Mapping[PodShape, BoolVector] = self._masks
        if changed or source is not None:
            masks = {shape: _carried(shape, m, source, changed) for shape, m in masks.items()}
        return type(self)(nodes, most_shapes=self._most_shapes, masks=masks)

    def kept(self) -> Iterator[tuple[PodShape, BoolVector]]:
        """The cached masks, least recently used first."""
        return iter(self._masks.items())

    def _differs(self, row: int, node: Node) -> bool:
        old = self._nodes[row]
        return old is not node and (old.labels, old.taints, old.unschedulable) != (
            node.labels,
            node.taints,
            node.unschedulable,
        )

    def _computed(self, shape: PodShape, rows: Iterable[int]) -> BoolVector:
        mask = np.zeros(len(self._nodes), dtype=np.bool_)
        for row in rows:
            mask[row] = accepts(shape, self._nodes[row])
        mask.setflags(write=False)
        return mask


def _carried(
    shape: PodShape,
    old: BoolVector,
    source: NDArray[np.intp] | None,
    changed: Iterable[tuple[int, Node]],
) -> BoolVector:
    """The mask with row ``i`` from ``old[source[i]]``, and the changed rows asked anew."""
    if source is None:
        mask = old.copy()
    else:
        mask = old[source] if len(old) else np.zeros(len(source), dtype=np.bool_)
    for row, node in changed:
        mask[row] = accepts(shape, node)
    mask.setflags(write=False)
    return mask


def _static(shape: PodShape) -> PodShape:
    """The features a mask depends on, so that shapes that differ in requests share one mask."""
    return PodShape(
        node_selector=shape.node_selector, affinity=shape.affinity, tolerations=shape.tolerations
    )
