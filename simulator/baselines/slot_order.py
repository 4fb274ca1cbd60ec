"""Policies of the slot world that serve jobs in an order: FIFO, RRH, and two elastic rules."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.pricing.slots import SlotCluster
from simulator.models.slot_placement import Placement, SlotRoom, dominant
from simulator.models.slot_world import SlotWorkload, Unfinished, best_worth, decay, done_after


class Fifo:
    """Start in order of arrival, at fixed widths; the first job that does not fit blocks the rest.

    From the paper: the order, the fixed number of workers out of 1…30, round-robin placement.
    Assumed: servers ⌈width·b/B⌉, so that they are never the bottleneck; a job that does not fit
    even into the empty cluster is skipped, because it would block the queue for good.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Sect. V (FIFO, "default in Hadoop and Spark").
    """

    def __init__(self, workload: SlotWorkload) -> None:
        self._workload = workload
        self._running: dict[int, Placement] = {}

    def allocate(
        self, _slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Start jobs from the head of the queue while they fit."""
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


BALANCE: Final = 0.5
"""β, weight of a job's own value against the cost of the others' delay; assumed."""
THRESHOLD: Final = 0.0
"""Value minus cost above which a job is admitted; assumed."""


@dataclass(frozen=True)
class _Outlook:
    """Utility of a job if it runs now, and its loss per slot of delay."""

    state: Unfinished
    slots: int
    worth: float
    decay: float


class Rrh:
    """Risk-reward heuristic: admit a job whose value exceeds its cost to others, run by reward.

    From the papers: PV = yield (discount 0), cost = RPT·Σ of the others' decay, reward =
    (β·PV - (1-β)·cost) / RPT, admission if PV - cost exceeds a threshold, pausing and resuming at
    the same fixed width out of 1…30, round-robin placement. Assumed: β, the threshold, that the
    others are the admitted and unfinished ones, decay = -f' at the completion that is predicted if
    the job runs from now on.

    Source:
        Irwin, Grit, Chase, "Balancing Risk and Reward in a Market-based Task Service", HPDC 2004;
        as the paper uses it: Bao, Peng, Wu, Li, INFOCOM 2018, Sect. V.
    """

    def __init__(self, workload: SlotWorkload, *, admits_all: bool = False) -> None:
        self._workload = workload
        self._admits_all = admits_all
        self._met: set[int] = set()
        self._admitted: set[int] = set()
        self._running: Mapping[int, Placement] = {}

    def allocate(
        self, slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Admit arrivals, then order all jobs anew, if a job arrived or completed."""
        if not changed:
            return self._running
        views = [self._view(slot, s) for s in unfinished if s.index in self._admitted]
        total = sum(view.decay for view in views)
        for state in unfinished:
            if state.index in self._met:
                continue
            self._met.add(state.index)
            view = self._view(slot, state)
            if self._admits_all or view.worth - view.slots * total > THRESHOLD:
                self._admitted.add(state.index)
                views.append(view)
                total += view.decay
        self._running = self._placed(sorted(views, key=lambda view: _order(view, total)))
        return self._running

    def _view(self, slot: int, state: Unfinished) -> _Outlook:
        width = self._workload.widths[state.index]
        after = done_after(state.job, slot, state.remaining, width)
        slots = after + state.job.arrival - slot + 1
        utility = state.job.utility
        return _Outlook(state, slots, utility.of(after), decay(utility, after))

    def _placed(self, order: Sequence[_Outlook]) -> Mapping[int, Placement]:
        room = SlotRoom(self._workload.cluster)
        placements = {}
        for view in order:
            width = self._workload.widths[view.state.index]
            if room.most(view.state.job, width) == width:
                placements[view.state.index] = room.spread(view.state.job, width)
        return placements


def without_admission(workload: SlotWorkload) -> Rrh:
    """Return RRH that admits all jobs and only orders and pauses. Not of the paper."""
    return Rrh(workload, admits_all=True)


def _order(view: _Outlook, total: float) -> tuple[float, int]:
    """Sort by falling reward, then by arrival."""
    cost = view.slots * (total - view.decay)
    return -(BALANCE * view.worth - (1.0 - BALANCE) * cost) / view.slots, view.state.index


class ShortestRemaining:
    """The job with the fewest remaining worker-slots first; displaced jobs pause.

    A textbook rule made elastic, for comparison. Not of the paper.
    """

    def __init__(self, workload: SlotWorkload) -> None:
        self._cluster = workload.cluster

    def allocate(
        self, _slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Serve by remaining work, then by arrival; the order changes without events, too."""
        del changed
        order = sorted(unfinished, key=lambda state: (state.remaining, state.index))
        return widest(order, self._cluster)


class DensityGreedy:
    """The job with the most utility for what it still needs first; displaced jobs pause.

    Utility: of the best completion that is still possible. Need: remaining worker-slots times the
    dominant share of one worker with its part of a server. It neither plans ahead nor drops jobs;
    every result is compared with it.

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
