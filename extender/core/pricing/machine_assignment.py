"""Machines of the pods of a job over the slots, such that no pod moves from slot to slot.

Pods stay where they are until they leave, and those with the highest index leave first. So a plan
can be carried out only if each worker has one machine for as long as it runs: worker i runs in the
slots that have more than i workers. Slots in a row with the same workers are assigned together.
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
    """Pods of one role, and the machines they may use; ``free`` shrinks as machines are assigned.

    Attributes:
        counts: Pods that run, by slot.
        demand: Requests of one pod.
        free: Free amounts, (R, T, M); the same array for both roles if the machines are common.
        usable: Machines they may run on.
        prices: Price of one pod, (T, M).
        preferred: The cheapest machines of each slot, taken first where a pod can stay on them.
        current: Machines of the pods that run already, by index; they stay while the job goes on.
    """

    counts: Counts
    demand: tuple[float, ...]
    free: FloatCube
    usable: BoolVector
    prices: FloatMatrix
    preferred: Allocation
    current: Sequence[int] = ()
    taken: dict[tuple[int, int], int] = field(default_factory=dict)

    def allocation(self) -> Allocation:
        """Return the machines that were assigned."""
        rows = sorted((slot, machine, n) for (slot, machine), n in self.taken.items() if n)
        if not rows:
            return Allocation(_NONE, _NONE, _NONE)
        slots, machines, counts = (
            np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
        )
        return Allocation(slots, machines, counts)


def assign_machines(roles: Sequence[RoleAssignment], now: int) -> bool:
    """Assign a machine to every pod of all roles; False if some pod gets none.

    Pods that run in slot ``now`` already come first, then the others role by role, those that stay
    longest first.
    """
    for role in roles:
        for index, machine in enumerate(role.current):
            end = _end(role.counts, now, index)
            if end and not _take(role, machine, now, end, 1):
                return False
    return all(_assign_new(role, now) for role in roles)


def _assign_new(role: RoleAssignment, now: int) -> bool:
    levels = sorted({0, *role.counts.values()})
    for low, high in itertools.pairwise(levels):
        for first, last in _stretches(role.counts, low):
            stay = min(max(len(role.current) - low, 0), high - low) if first == now else 0
            if not _place(role, first, last, high - low - stay):
                return False
    return True


def _stretches(counts: Counts, low: int) -> list[tuple[int, int]]:
    """Return the slots in a row, first and last, in which more than ``low`` run."""
    stretches: list[tuple[int, int]] = []
    for slot in sorted(slot for slot, count in counts.items() if count > low):
        if stretches and stretches[-1][1] == slot - 1:
            stretches[-1] = (stretches[-1][0], slot)
        else:
            stretches.append((slot, slot))
    return stretches


def _end(counts: Counts, now: int, index: int) -> int:
    """Return the last slot of the stretch from ``now`` on in which pod ``index`` runs; 0: none."""
    slot = now
    while counts.get(slot, 0) > index:
        slot += 1
    return slot - 1 if slot > now else 0


def _place(role: RoleAssignment, first: int, last: int, pods: int) -> bool:
    """Assign one machine to each of so many pods for all of the slots; False if some get none."""
    if not pods:
        return True
    room = _free_pods(role, first, last, pods)
    cost = role.prices[first - 1 : last].sum(axis=0)
    preferred = role.preferred.at(first)
    still_preferred = {m: preferred[m] - role.taken.get((first, m), 0) for m in preferred}
    # first the preferred machines, then all others with room, each time the cheapest first
    for machine in sorted(still_preferred, key=lambda m: (cost[m], m)):
        count = min(pods, int(room[machine]), max(0, still_preferred[machine]))
        if count:
            _take(role, machine, first, last, count)
            room[machine] -= count
            pods -= count
    for machine in np.lexsort((np.arange(len(cost)), cost)).tolist() if pods else ():
        count = min(pods, int(room[machine]))
        if count:
            _take(role, machine, first, last, count)
            pods -= count
        if not pods:
            break
    return pods == 0


def _free_pods(role: RoleAssignment, first: int, last: int, most: int) -> NDArray[np.int64]:
    """Return how many pods each machine has room for in all of the slots."""
    room = np.full(role.free.shape[2], float(most))
    for r, amount in enumerate(role.demand):
        if amount > 0:
            least = role.free[r, first - 1 : last].min(axis=0)
            np.minimum(room, least / amount + ROUNDING, out=room)
    room[~role.usable] = 0.0
    pods: NDArray[np.int64] = np.floor(np.maximum(room, 0.0)).astype(np.int64)
    return pods


def _take(role: RoleAssignment, machine: int, first: int, last: int, count: int) -> bool:
    """Take the room on a machine; False if there is not enough."""
    left = role.free[:, first - 1 : last, machine]
    demand = count * np.asarray(role.demand)[:, None]
    if ((demand > 0) & (left + ROUNDING < demand)).any():
        return False
    left -= demand
    for slot in range(first, last + 1):
        role.taken[slot, machine] = role.taken.get((slot, machine), 0) + count
    return True
