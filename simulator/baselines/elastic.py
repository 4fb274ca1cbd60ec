"""Jobs in an order, each as wide as it can be with what those before it left, anew in each slot."""

from collections.abc import Iterable, Mapping, Sequence

from extender.policy.slots import SlotCluster
from simulator.models.slot_outlook import best_worth
from simulator.models.slot_placement import Placement
from simulator.models.slot_room import SlotRoom
from simulator.models.slot_share import dominant
from simulator.models.slot_world import SlotWorkload, Unfinished


class ShortestRemaining:
    """The job with the least remaining worker-slots first; whom it displaces pauses.

    A textbook rule made elastic; ours, for comparison. Not of the paper.
    """

    def __init__(self, workload: SlotWorkload) -> None:
        self._cluster = workload.cluster

    def allocate(
        self, _slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Serve by remaining work, then by arrival; the order changes without an event too."""
        del changed
        order = sorted(unfinished, key=lambda state: (state.remaining, state.index))
        return widest(order, self._cluster)


class DensityGreedy:
    """The job with the most utility for what it still needs first; whom it displaces pauses.

    Utility: of the best completion that is still possible. What it needs: remaining worker-slots
    times the dominant share of one worker with its part of a server. It plans nothing, promises
    nothing and drops nobody; the reference that stands beside every result.

    Source:
        Not of the paper: the density order of the knapsack problem, made preemptive and elastic.
    """

    def __init__(self, workload: SlotWorkload) -> None:
        self._cluster = workload.cluster
        self._share = [dominant(job, workload.cluster) for job in workload.jobs]

    def allocate(
        self, slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Serve by density, then by arrival."""
        del changed

        def density(state: Unfinished) -> float:
            worth = best_worth(state.job, slot, state.remaining)
            return worth / (state.remaining * self._share[state.index])

        order = sorted(unfinished, key=lambda state: (-density(state), state.index))
        return widest(order, self._cluster)


def widest(order: Iterable[Unfinished], cluster: SlotCluster) -> Mapping[int, Placement]:
    """Return placements in an empty slot: each job gets all workers it can still use."""
    return fill(SlotRoom(cluster), order)


def fill(room: SlotRoom, order: Iterable[Unfinished]) -> Mapping[int, Placement]:
    """Return placements in what is left of a slot, each server filled before the next."""
    placements = {}
    for state in order:
        width = room.most(state.job, state.most_workers)
        if width:
            placements[state.index] = room.pack(state.job, width)
    return placements
