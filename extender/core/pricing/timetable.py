"""Which machines a job uses in which slots, and what that is worth: the outcome of a schedule."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntVector = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Seats:
    """Workers, or parameter servers, of one job: one entry for each machine and slot it uses.

    Attributes:
        slots: Slot of the entry, from 1; never falls.
        machines: Row of the machine in its pool; no machine twice in a slot.
        counts: How many there, at least 1.
    """

    slots: IntVector
    machines: IntVector
    counts: IntVector

    @property
    def total(self) -> int:
        """Worker-slots, or server-slots, of all entries."""
        return int(self.counts.sum())

    def at(self, slot: int) -> dict[int, int]:
        """Return machine → count in one slot."""
        there = self.slots == slot
        pairs = zip(self.machines[there].tolist(), self.counts[there].tolist(), strict=True)
        return dict(pairs)

    def by_slot(self) -> dict[int, int]:
        """Return slot → count on all machines, for the slots in use."""
        slots, first = np.unique(self.slots, return_index=True)
        sums = np.add.reduceat(self.counts, first) if slots.size else self.counts
        return dict(zip(slots.tolist(), sums.tolist(), strict=True))

    def before(self, slot: int) -> "Seats":
        """Return the entries of earlier slots."""
        return self._only(self.slots < slot)

    def since(self, slot: int) -> "Seats":
        """Return the entries of this slot and later ones."""
        return self._only(self.slots >= slot)

    def _only(self, wanted: NDArray[np.bool_]) -> "Seats":
        return Seats(self.slots[wanted], self.machines[wanted], self.counts[wanted])


@dataclass(frozen=True, eq=False)
class Schedule:
    """A schedule l of one job.

    Attributes:
        payoff: Utility minus bill, the right side of (20).
        utility: f(completion - arrival).
        bill: What its resources cost at the prices of the moment, over all slots.
        completion_slot: Last slot with a worker.
        workers: y, on worker machines.
        servers: z, on server machines; on worker machines where ``colocated``.
        colocated: Whether workers and servers share one worker machine in each slot, and use no
            network.
        unit: Worker-slots that one step of the search counted (``coarsening``); 1: exact.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Sect. III; co-location: PD-ORS.
    """

    payoff: float
    utility: float
    bill: float
    completion_slot: int
    workers: Seats
    servers: Seats
    colocated: bool = False
    unit: int = 1
