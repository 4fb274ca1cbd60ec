"""RRH: the risk-reward heuristic, value against the delay it costs the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.models.slot_outlook import decay, done_after
from simulator.models.slot_placement import Placement
from simulator.models.slot_room import SlotRoom
from simulator.models.slot_world import SlotWorkload, Unfinished

BALANCE: Final = 0.5
"""β, weight of the own value against the cost of the others' delay; assumed."""
THRESHOLD: Final = 0.0
"""Value minus cost above which a job is admitted; assumed."""


@dataclass(frozen=True)
class _Outlook:
    """What a job is worth if it runs now, and what each slot of delay costs it."""

    state: Unfinished
    slots: int
    worth: float
    decay: float


class Rrh:
    """Admit if the job's value exceeds what its run costs the others, run by falling reward.

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
        """Admit who arrived, then order everybody anew, if a job has come or gone."""
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
    """Return RRH that admits everybody and only orders and pauses. Not of the paper."""
    return Rrh(workload, admits_all=True)


def _order(view: _Outlook, total: float) -> tuple[float, int]:
    """Sort by falling reward, then by arrival."""
    cost = view.slots * (total - view.decay)
    return -(BALANCE * view.worth - (1.0 - BALANCE) * cost) / view.slots, view.state.index
