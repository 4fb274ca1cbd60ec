"""How many pods of each class fit on each node, kept up to date as pods come and go."""

from collections.abc import Sequence
from copy import copy
from typing import Final, NamedTuple

import numpy as np

from extender.core.nodes.node_table import BoolMatrix, BoolVector, IntMatrix, IntVector

MANY: Final = 2**31
"""How many pods fit that request nothing."""

_AT_ONCE: Final = 64
"""Nodes whose slots are computed for all classes together."""


class PodClass(NamedTuple):
    """What pods request, by column of the node table, and the nodes that they may use."""

    request: IntVector
    allowed: BoolVector


class Room:
    """Free amounts of nodes, and what fits. Mutable; it belongs to one projection.

    Attributes:
        free: Nodes x resources.
        totals: By class: how many pods fit in all.
    """

    def __init__(self, free: IntMatrix, classes: Sequence[PodClass]) -> None:
        self.free = free.copy()
        count, nodes = len(classes), len(free)
        self._requests: IntMatrix = np.array(
            [one.request for one in classes], dtype=np.int64
        ).reshape(count, free.shape[1])
        self._allowed: BoolMatrix = np.array(
            [one.allowed for one in classes], dtype=np.bool_
        ).reshape(count, nodes)
        self._slots: IntMatrix
        self.totals: list[int]
        self.fill()

    def beside(self, free: IntMatrix) -> "Room":
        """Return the room of the same classes where no more is free than here and there."""
        other = copy(self)
        other.free = np.minimum(self.free, free)
        other.fill()
        return other

    def fill(self) -> None:
        """Compute all slots."""
        rows = slice(None)
        every = [self.slots(number, self.free, rows) for number in range(len(self._requests))]
        self._slots = np.array(every, dtype=np.int64).reshape(self._allowed.shape)
        self.totals = self._slots.sum(axis=1).tolist()

    def request(self, number: int) -> IntVector:
        """Return what a pod of a class takes, by resource."""
        amounts: IntVector = self._requests[number]
        return amounts

    def nodes_for(self, number: int, count: int) -> IntVector:
        """Return a node for each of so many pods, which must fit: the fewest nodes.

        A single pod goes where the fewest others would fit.
        """
        slots = self._slots[number]
        usable = np.flatnonzero(slots)
        if count == 1:
            return usable[[int(np.argmin(slots[usable]))]]
        return fewest_nodes(slots, count)

    def change(self, rows: IntVector, amounts: IntMatrix | IntVector) -> None:
        """Add amounts to what is free on nodes, which may repeat; negative ones are taken."""
        np.add.at(self.free, rows, amounts)
        self.refresh(np.unique(rows))

    def refresh(self, changed: IntVector) -> None:
        """Compute the slots of nodes on which another amount is free."""
        totals = np.array(self.totals, dtype=np.int64) - self._slots[:, changed].sum(axis=1)
        if changed.size <= _AT_ONCE:
            self._slots[:, changed] = self._all_slots(changed)
        else:
            for number in range(len(self._slots)):
                self._slots[number, changed] = self.slots(number, self.free[changed], changed)
        self.totals = (totals + self._slots[:, changed].sum(axis=1)).tolist()

    def slots(self, number: int, free: IntMatrix, rows: IntVector | slice) -> IntVector:
        """Return how many pods of a class fit on nodes of which so much is free."""
        request, allowed = self._requests[number], self._allowed[number, rows]
        asked = np.flatnonzero(request)
        if not asked.size:
            return np.where(allowed, MANY, 0)
        fitting = (free[:, asked] // request[asked]).min(axis=1)
        found: IntVector = np.where(allowed, np.maximum(fitting, 0), 0)
        return found

    def _all_slots(self, rows: IntVector) -> IntMatrix:
        """Return ``slots`` of every class on a few nodes."""
        asked = self._requests[:, None, :] > 0
        fitting = self.free[None, rows, :] // np.maximum(self._requests, 1)[:, None, :]
        least = np.where(asked, fitting, MANY).min(axis=2)
        found: IntMatrix = np.where(self._allowed[:, rows], np.maximum(least, 0), 0)
        return found


def fewest_nodes(slots: IntVector, count: int) -> IntVector:
    """Return a node for each of so many pods, which must fit: those that hold most first."""
    usable = np.flatnonzero(slots)
    order = usable[np.argsort(-slots[usable], kind="stable")]
    until = int(np.searchsorted(np.cumsum(slots[order]), count)) + 1
    chosen = order[:until]
    return np.repeat(chosen, slots[chosen])[:count]
