"""What time it is: a protocol; the live clock is ``shared.system_clock``."""

from typing import Protocol


class Clock(Protocol):
    """Two clocks that are never mixed."""

    def now(self) -> float:
        """Seconds since the epoch, for stamps that people and other programs read."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back, for durations and deadlines."""
        ...
