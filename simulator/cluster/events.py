"""What is going to happen, in a total order: by time, then by kind, then as it was put in."""

import heapq
from enum import IntEnum
from itertools import count
from typing import NamedTuple


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
