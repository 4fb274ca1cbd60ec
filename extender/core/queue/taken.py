"""What runs take of the nodes, in the order in which they end: what a reservation is found by."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from extender.core.nodes.node_table import FloatVector, IntMatrix, IntVector


class Taken(NamedTuple):
    """What pods take: indices of nodes, which may repeat, and amounts by resource."""

    rows: IntVector
    amounts: IntMatrix


class Ends(NamedTuple):
    """Pods in the order of their ends, with the ends, in seconds since the epoch."""

    taken: Taken
    at: FloatVector


def joined(parts: Sequence[Taken]) -> Taken:
    """Return what several take; at least one."""
    return Taken(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.amounts for part in parts]),
    )


class TakenUntil:
    """Pods with the known ends of their runs, by number of the run."""

    def __init__(self, columns: int) -> None:
        self._parts = [Taken(np.zeros(0, np.int64), np.zeros((0, columns), np.int64))]
        self._at: list[FloatVector] = [np.zeros(0)]
        self._numbers: list[IntVector] = [np.zeros(0, np.int64)]
        self._gone: list[int] = []

    def add(self, number: int, taken: Taken, ends_at: float) -> None:
        """Add a run whose end is known."""
        count = len(taken.rows)
        self._parts.append(taken)
        self._at.append(np.full(count, ends_at))
        self._numbers.append(np.full(count, number, dtype=np.int64))

    def drop(self, number: int) -> None:
        """Take a run away."""
        self._gone.append(number)

    def by_end(self, now: float) -> Ends:
        """Return the pods in the order of their ends, none before ``now``."""
        every, at = joined(self._parts), np.concatenate(self._at)
        numbers = np.concatenate(self._numbers)
        stays = ~np.isin(numbers, self._gone)
        order = np.argsort(at, kind="stable")
        order = order[stays[order]]
        kept = Taken(every.rows[order], every.amounts[order])
        self._parts, self._at, self._numbers = [kept], [at[order]], [numbers[order]]
        self._gone.clear()
        return Ends(kept, np.maximum(at[order], now))
