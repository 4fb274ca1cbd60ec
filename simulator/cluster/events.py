"""Virtual time: a heap of events in a total order (time, kind, insertion), and their clock."""

import heapq
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import Final, NamedTuple


class Kind(IntEnum):
    """Order within one moment: first nodes come free, then jobs arrive, then the scheduler runs."""

    END = 0
    """A job has completed its work."""
    RESUME = 1
    """A job's pause is over."""
    ARRIVAL = 2
    """A job is submitted."""
    DECIDE = 3
    """The scheduler decides."""


class Event(NamedTuple):
    """An event at ``at`` seconds from the start of the workload.

    An event with an old ``version`` is void: the job's rate changed after its end was predicted.
    """

    at: float
    kind: Kind
    sequence: int
    job: str = ""
    version: int = 0


class EventHeap:
    """Future events."""

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
"""Start of a workload on the clock: the core reads a stamp of 0 as "never", and so near to 0 a
stamp is exact to a nanosecond over years."""


@dataclass
class VirtualClock:
    """``shared.clock.Clock`` of the cluster model; both clocks show the same time.

    Attributes:
        at: Seconds from the start of the workload.
    """

    at: float = 0.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return EPOCH_SECONDS + self.at

    def monotonic(self) -> float:
        """The same as ``now``."""
        return EPOCH_SECONDS + self.at

    def advance(self, at: float) -> None:
        """Advance to a moment, in seconds from the start of the workload.

        Raises:
            ValueError: The moment has passed.
        """
        if at < self.at:
            raise ValueError(f"{at:g} s is in the past: the clock shows {self.at:g} s")
        self.at = at
