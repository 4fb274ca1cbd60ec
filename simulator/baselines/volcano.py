"""Volcano's built-in order: priority class, then creation; gangs whole, nothing reserved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.baselines.seats import Seats
from simulator.baselines.spread import start_all
from simulator.cluster.actions import Action
from simulator.cluster.view import View


@dataclass
class Volcano:
    """Of all that wait the highest class, then the oldest; one that does not fit is passed over.

    Source:
        volcano-sh/volcano, plugins ``priority``, ``gang`` and ``nodeorder`` (least requested) with
        action ``allocate``: what its default configuration does with jobs of one queue.
    """

    oracle: Final = False

    def decide(self, view: View) -> Sequence[Action]:
        """Start what fits."""
        order = sorted(
            view.waiting,
            key=lambda j: (-j.asked.class_value, j.asked.submitted_at, j.asked.number),
        )
        return start_all(Seats(view.snapshot.room), order)

    def wakes_at(self, now: float) -> float | None:
        """Nothing changes but when jobs come and go."""
        _ = now
        return None
