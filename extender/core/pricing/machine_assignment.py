"""Which worker sits where over the slots, so that nobody has to move from slot to slot.

Pods stay where they are until they leave, and those with the highest index leave first. So a plan
can be followed only if each worker has one machine for as long as it runs: worker i runs in the
slots that have more than i workers. Slots in a row with the same workers are looked at together.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extender.core.pricing.slots import Allocation, FloatCube, FloatMatrix
from extender.core.pricing.training_job import ROUNDING

BoolVector = NDArray[np.bool_]
Counts = Mapping[int, int]
"""Slot → pods."""
_NONE: Final = np.zeros(0, dtype=np.int64)


@dataclass(eq=False)
class RoleAssignment:
    """Pods of one kind, and the machines they may use. ``free`` is changed as they sit down.

    Attributes:
        counts: How many run in which slot.
        demand: What one asks for.
        free: What is left, (R, T, M); the same array for both kinds if the machines are common.
        usable: On which machines they may run.
        prices: What one costs, (T, M).
        likes: The cheapest allocation; its machines come first where possible.
        here: Machines of those that run already, by index: they stay in the run that goes on.
    """

    counts: Counts
    demand: tuple[float, ...]
    free: FloatCube
    usable: BoolVector
    prices: FloatMatrix
    likes: Allocation
    here: Sequence[int] = ()
    taken: dict[tuple[int, int], int] = field(default_factory=dict)

    def allocation(self) -> Allocation:
        """Return where they sit."""
        rows = sorted((slot, machine, n) for (slot, machine), n in self.taken.items() if n)
        if not rows:
            return Allocation(_NONE, _NONE, _NONE)
        slots, machines, counts = (
            np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
        )
        return Allocation(slots, machines, counts)


def assign_machines(kinds: Sequence[RoleAssignment], now: int) -> bool:
    """Place all pods of all kinds; return True if that could be done.

    Those that run in slot ``now`` already are placed first, then kind by kind, those that stay
    longest first.
    """
    for kind in kinds:
        for index, machine in enumerate(kind.here):
            end = _end(kind.counts, now, index)
            if end and not _take(kind, machine, now, end, 1):
                return False
    return all(_newcomers(kind, now) for kind in kinds)


def _newcomers(kind: RoleAssignment, now: int) -> bool:
    levels = sorted({0, *kind.counts.values()})
    for low, high in itertools.pairwise(levels):
        for first, last in _stretches(kind.counts, low):
            stay = min(max(len(kind.here) - low, 0), high - low) if first == now else 0
            if not _place(kind, first, last, high - low - stay):
                return False
    return True


def _stretches(counts: Counts, low: int) -> list[tuple[int, int]]:
    """Return the slots in a row, first and last, in which more than ``low`` run."""
    found: list[tuple[int, int]] = []
    for slot in sorted(slot for slot, count in counts.items() if count > low):
        if found and found[-1][1] == slot - 1:
            found[-1] = (found[-1][0], slot)
        else:
            found.append((slot, slot))
    return found


def _end(counts: Counts, now: int, index: int) -> int:
    """Return the last slot of the stretch from ``now`` on in which pod ``index`` runs; 0: none."""
    slot = now
    while counts.get(slot, 0) > index:
        slot += 1
    return slot - 1 if slot > now else 0


def _place(kind: RoleAssignment, first: int, last: int, wanted: int) -> bool:
    """Place so many pods from slot to slot, each on one machine."""
    if not wanted:
        return True
    room = _rooms(kind, first, last, wanted)
    cost = kind.prices[first - 1 : last].sum(axis=0)
    likes = kind.likes.at(first)
    liked = {m: likes[m] - kind.taken.get((first, m), 0) for m in likes}
    # first as many as liked, then whoever has room, the cheapest first
    for machine in sorted(liked, key=lambda m: (cost[m], m)):
        count = min(wanted, int(room[machine]), max(0, liked[machine]))
        if count:
            _take(kind, machine, first, last, count)
            room[machine] -= count
            wanted -= count
    for machine in np.lexsort((np.arange(len(cost)), cost)).tolist() if wanted else ():
        count = min(wanted, int(room[machine]))
        if count:
            _take(kind, machine, first, last, count)
            wanted -= count
        if not wanted:
            break
    return wanted == 0


def _rooms(kind: RoleAssignment, first: int, last: int, most: int) -> NDArray[np.int64]:
    """Return how many pods each machine has room for in all of the slots."""
    room = np.full(kind.free.shape[2], float(most))
    for r, amount in enumerate(kind.demand):
        if amount > 0:
            least = kind.free[r, first - 1 : last].min(axis=0)
            np.minimum(room, least / amount + ROUNDING, out=room)
    room[~kind.usable] = 0.0
    found: NDArray[np.int64] = np.floor(np.maximum(room, 0.0)).astype(np.int64)
    return found


def _take(kind: RoleAssignment, machine: int, first: int, last: int, count: int) -> bool:
    """Take the room; say whether it was there."""
    left = kind.free[:, first - 1 : last, machine]
    asked = count * np.asarray(kind.demand)[:, None]
    if ((asked > 0) & (left + ROUNDING < asked)).any():
        return False
    left -= asked
    for slot in range(first, last + 1):
        kind.taken[slot, machine] = kind.taken.get((slot, machine), 0) + count
    return True
