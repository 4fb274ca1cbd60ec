"""Who decides: the interface between the cluster and a scheduler, live or of a baseline."""

from collections.abc import Sequence
from typing import Protocol

from simulator.cluster.actions import Action
from simulator.cluster.view import View


class Decider(Protocol):
    """A scheduler.

    It is asked when jobs came or completed (all of one moment at once), and when it wanted to be.
    """

    @property
    def oracle(self) -> bool:
        """Whether it is shown the truth about jobs (``JobView.truth``)."""
        ...

    def decide(self, view: View) -> Sequence[Action]:
        """Return what is to be done now, in this order.

        Raises:
            IllegalActionError: Of the caller, where one of the actions is impossible.
        """
        ...

    def wakes_at(self, now: float) -> float | None:
        """Return when to ask again if nothing happens before; None: no need to.

        Asked after each ``decide``; seconds from the start of the workload. ``now``: as soon as
        what was decided is done.
        """
        ...


def next_tick(now: float, every_seconds: float) -> float:
    """Return the next multiple of ``every_seconds`` after now: for those who look at intervals."""
    tick = (now // every_seconds + 1) * every_seconds
    return tick if tick > now else tick + every_seconds
