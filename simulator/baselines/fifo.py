"""FIFO: jobs start in the order of arrival, and the first that does not fit blocks the rest."""

from collections.abc import Mapping, Sequence

from simulator.models.slot_placement import Placement
from simulator.models.slot_room import SlotRoom
from simulator.models.slot_world import SlotWorkload, Unfinished


class Fifo:
    """Fixed widths, round-robin placement, run to completion.

    From the paper: the order, the fixed number of workers out of 1…30, round-robin placement.
    Assumed: servers ⌈width·b/B⌉, so that they are never the bottleneck; a job that would not fit
    into the empty cluster either is passed over, because it would block the queue for good.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Sect. V (FIFO, "default in Hadoop and Spark").
    """

    def __init__(self, workload: SlotWorkload) -> None:
        self._workload = workload
        self._running: dict[int, Placement] = {}

    def allocate(
        self, _slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Start from the head of the queue what fits."""
        if not changed:
            return self._running
        room = SlotRoom(self._workload.cluster)
        self._running = {
            state.index: self._running[state.index]
            for state in unfinished
            if state.index in self._running
        }
        for index, placement in self._running.items():
            room.take(self._workload.jobs[index], placement)
        for state in unfinished:
            if state.index in self._running:
                continue
            width = self._workload.widths[state.index]
            if room.most(state.job, width) == width:
                self._running[state.index] = room.spread(state.job, width)
            elif SlotRoom(self._workload.cluster).most(state.job, width) == width:
                break
        return self._running
