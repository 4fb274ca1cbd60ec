"""A clock that only events move."""

from dataclasses import dataclass
from typing import Final

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
