"""Which errors are worth a retry, and how long to wait before it."""

import random
from typing import Final

from shared.kube.errors import ConnectionLostError, ServerError, ThrottledError

_TRANSIENT: Final = (ConnectionLostError, ServerError, ThrottledError)


def transient(error: Exception) -> bool:
    """Return True if the same request may succeed later although nothing was changed."""
    return isinstance(error, _TRANSIENT)


class Backoff:
    """Exponential back-off with full jitter: uniform between 0 and a ceiling that doubles.

    Args:
        first_seconds: The first ceiling.
        most_seconds: The ceiling never grows beyond this.
        rng: Source of the jitter.

    Source:
        https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    def __init__(
        self, *, first_seconds: float = 0.8, most_seconds: float = 30.0, rng: random.Random
    ) -> None:
        self._first_seconds = first_seconds
        self._most_seconds = most_seconds
        self._rng = rng
        self._ceiling_seconds = first_seconds

    def next_seconds(self) -> float:
        """Return how long to wait now; the next ceiling is twice as high."""
        ceiling = self._ceiling_seconds
        self._ceiling_seconds = min(ceiling * 2, self._most_seconds)
        return self._rng.uniform(0.0, ceiling)

    def reset(self) -> None:
        """Start again at the first ceiling, after a success."""
        self._ceiling_seconds = self._first_seconds
