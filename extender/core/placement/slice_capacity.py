"""How many slices of alike pods domains hold, layer by layer (docs/policies/topology.md).

A domain holds as many whole slices as the slices of the next layer inside it make. A smaller slice,
the last one of a role, may find place in what these leave.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from extender.core.nodes.node_table import BoolVector, IntVector
from extender.core.placement.slice_parts import OfLayer

Cells = tuple[IntVector, int]
"""By node the part of the cluster that it is in, -1 for none; and how many parts there are."""


class Capacity:
    """Of the domains of a layer.

    Args:
        slots: For how many pods each node has room.
        layers: From this layer on.
        cells: The parts in which its slices lie; its domains by default.

    Attributes:
        size: How many pods make a slice.
        rooms: By domain the room for pods, in whole slices of the next layer.
    """

    def __init__(
        self, slots: IntVector, layers: Sequence[OfLayer], cells: Cells | None = None
    ) -> None:
        (self.size, domains), *finer = layers
        self._of_node, count = cells or (domains.of_node, len(domains.all))
        self.rooms: IntVector = np.zeros(count, dtype=np.int64)
        self._inner: Capacity | None = None
        inside = self._of_node >= 0
        if not finer:
            np.add.at(self.rooms, self._of_node[inside], slots[inside])
            return
        ids, parents = _within(self._of_node, finer[0][1].of_node)
        self._parents = parents
        self._inner = Capacity(slots, finer, (ids, len(parents)))
        np.add.at(self.rooms, parents, self._inner.whole * self._inner.size)

    @cached_property
    def whole(self) -> IntVector:
        """By domain how many whole slices it holds."""
        found: IntVector = self.rooms // self.size
        return found

    def slices_held(self, sizes: Iterable[int]) -> int:
        """Return how many slices of so many pods each all domains hold."""
        sizes = list(sizes)
        if self._inner is None:
            return _held_alone(self.rooms, sizes)
        smaller = [size for size in sizes if size < self.size]
        full = min(len(sizes) - len(smaller), int(self.whole.sum()))
        spare = int(self.whole.sum()) - full
        beside = bool(smaller) and not spare and bool(self._leaves(smaller[0]).any())
        return full + min(len(smaller), spare + beside)

    def pods_held(self, sizes: Sequence[int]) -> IntVector:
        """Return how many pods of slices, the largest first, each domain would take alone."""
        if self._inner is not None:
            taken = self._taken(sizes)
            held: IntVector = np.array(sizes, dtype=np.int64) @ taken
            return held
        left = self.rooms.copy()
        for size, count in sorted(Counter(sizes).items(), reverse=True):
            left -= np.minimum(left // size, count) * size
        alone: IntVector = self.rooms - left
        return alone

    def taken_by(self, domain: int, sizes: Sequence[int]) -> list[bool]:
        """Return which slices, the largest first, a domain would take alone."""
        if self._inner is not None:
            return [bool(one) for one in self._taken(sizes)[:, domain]]
        room, taken = int(self.rooms[domain]), list[bool]()
        for size in sizes:
            taken.append(size <= room)
            room -= size if size <= room else 0
        return taken

    def _taken(self, sizes: Sequence[int]) -> IntVector:
        """Return by slice and domain whether the domain takes it: whole ones, then smaller ones."""
        full = sum(size == self.size for size in sizes)
        used = np.minimum(self.whole, full)
        rows = [(number < used) for number in range(full)]
        spare, beside = self.whole - used, True
        for size in sizes[full:]:
            fits = (spare > 0) | (self._leaves(size) if beside else False)
            rows.append(fits)
            spare, beside = np.maximum(spare - 1, 0), False
        return np.array(rows, dtype=np.int64).reshape(len(sizes), len(self.whole))

    def _leaves(self, rest: int) -> BoolVector:
        """Return which domains hold a smaller slice beside all whole ones that they hold."""
        left = self.rooms - self.whole * self.size
        if self._inner is None:
            found: BoolVector = left >= rest
            return found
        whole, over = divmod(rest, self._inner.size)
        need = whole * self._inner.size
        if not over:
            return left >= need
        beside = np.zeros(len(self.rooms), dtype=np.bool_)
        beside[self._parents[self._inner._leaves(over)]] = True  # noqa: SLF001 - of this class
        return (left >= need + self._inner.size) | ((left >= need) & beside)


def _within(outer: IntVector, inner: IntVector) -> tuple[IntVector, IntVector]:
    """Return the parts that lie in one outer and one inner part, by node, and their outer parts."""
    inside = (outer >= 0) & (inner >= 0)
    step = int(inner.max(initial=0)) + 1
    found, places = np.unique(outer[inside] * step + inner[inside], return_inverse=True)
    ids: IntVector = np.full(len(outer), -1, dtype=np.int64)
    ids[inside] = places
    parents: IntVector = found // step
    return ids, parents


def _held_alone(rooms: IntVector, sizes: Sequence[int]) -> int:
    """Return how many slices fit where nothing divides them again."""
    left, total = rooms.copy(), 0
    for size, count in sorted(Counter(sizes).items(), reverse=True):
        each = left // size
        order = np.argsort(-each, kind="stable")
        taken = np.diff(np.minimum(each[order].cumsum(), count), prepend=0)
        left[order] -= taken * size
        total += int(taken.sum())
    return total
