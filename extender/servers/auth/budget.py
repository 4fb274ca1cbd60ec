"""How often somebody may ask: so many times at once, and after that so many a second."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from extender.servers.auth.remembered import Remembered

MOST_KNOWN: Final = 10_000
"""Of whom it is remembered what they have spent; the ones that asked longest ago are forgotten."""
ROUNDING_SECONDS: Final = 1e-6
"""Sums of times are not exact; so little more is no wait."""

Who = TypeVar("Who", bound=Hashable)


@dataclass
class Budget(Generic[Who]):
    """A purse for each, which is filled again steadily.

    Attributes:
        at_once: Questions that a full purse pays.
        per_second: How fast it is filled again.
    """

    at_once: int
    per_second: float
    _full_at: Remembered[Who, float] = field(default_factory=lambda: Remembered(MOST_KNOWN))

    def wait_seconds(self, who: Who, monotonic: float) -> float:
        """Return how long somebody has to wait for his next question; 0: he may ask."""
        full_at = self._full_at.get(who, monotonic)
        if full_at is None:
            return 0.0
        left_seconds = full_at - monotonic - (self.at_once - 1) / self.per_second
        return left_seconds if left_seconds > ROUNDING_SECONDS else 0.0

    def spend(self, who: Who, monotonic: float) -> None:
        """Take one question out of somebody's purse."""
        full_at = max(self._full_at.get(who, monotonic) or 0.0, monotonic) + 1 / self.per_second
        self._full_at.put(who, full_at, full_at)
