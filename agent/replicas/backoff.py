"""How long to wait before a replica that failed is asked again."""

import random


class Backoff:
    """Exponential back-off; each wait is drawn between half a ceiling and the whole of it.

    A node's agent is one of hundreds, and the waits are counted in heartbeats: unlike a wait drawn
    from 0 on, this one never asks a replica that is down twice in a row.

    Args:
        first_seconds: The first ceiling; it doubles with each wait.
        most_seconds: Where that ends.
        rng: Source of the jitter.
    """

    def __init__(self, *, first_seconds: float, most_seconds: float, rng: random.Random) -> None:
        self._first_seconds = first_seconds
        self._most_seconds = most_seconds
        self._rng = rng
        self._ceiling_seconds = first_seconds

    def next_seconds(self) -> float:
        """Return how long to wait now."""
        ceiling = self._ceiling_seconds
        self._ceiling_seconds = min(2 * ceiling, self._most_seconds)
        return self._rng.uniform(ceiling / 2, ceiling)

    def reset(self) -> None:
        """Start again at the first ceiling: it worked."""
        self._ceiling_seconds = self._first_seconds
