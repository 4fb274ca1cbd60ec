"""Protocol of a clock; the live clock is ``shared.system_clock``."""

from typing import Protocol


class Clock(Protocol):
    """Two clocks that are never mixed."""

    def now(self) -> float:
        """Seconds since the epoch, for stamps that people and other programs read."""
        ...

    def monotonic(self) -> float:
        """Seconds of the monotonic clock, for durations and deadlines."""
        ...
