"""Virtual time: the events to come, in a total order, and the clock that they move."""

import heapq
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import Final, NamedTuple


class Kind(IntEnum):
    """At one moment the room comes free first, then jobs come, then the scheduler looks."""

    END = 0
    """A job has done its work."""
    RESUME = 1
    """A job's pause is over."""
    ARRIVAL = 2
    """A job is submitted."""
    LOOK = 3
    """The scheduler decides."""


class Event(NamedTuple):
    """Something at ``at`` seconds from the start of the workload.

    ``version`` tells an end that was foreseen before the job's rate changed: it does not happen.
    """

    at: float
    kind: Kind
    sequence: int
    job: str = ""
    version: int = 0


class EventHeap:
    """Events to come."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._sequence = count()

    def __bool__(self) -> bool:
        return bool(self._events)

    def push(self, at: float, kind: Kind, job: str = "", version: int = 0) -> None:
        """Add an event."""
        heapq.heappush(self._events, Event(at, kind, next(self._sequence), job, version))

    def pop(self) -> Event:
        """Take the next event.

        Raises:
            IndexError: There is none.
        """
        return heapq.heappop(self._events)


EPOCH_SECONDS: Final = float(2**20)
"""Where a workload starts on the clock: stamps of 0 mean "never" to the core, and so near to 0
a stamp is exact to a nanosecond over years."""


@dataclass
class VirtualClock:
    """``shared.clock.Clock`` of the cluster model; both clocks read the same.

    Attributes:
        at: Seconds from the start of the workload.
    """

    at: float = 0.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return EPOCH_SECONDS + self.at

    def monotonic(self) -> float:
        """The same."""
        return EPOCH_SECONDS + self.at

    def advance(self, at: float) -> None:
        """Go to a later moment, in seconds from the start of the workload.

        Raises:
            ValueError: The moment has passed.
        """
        if at < self.at:
            raise ValueError(f"{at:g} s: the clock stands at {self.at:g} s and never goes back")
        self.at = at
