"""When and how long to wait before the same is tried again."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from shared.clock import Clock
from shared.kube.errors import ApiError, ConnectionLostError, ServerError, ThrottledError

T = TypeVar("T")

_TRANSIENT: Final = (ConnectionLostError, ServerError, ThrottledError)


def transient(error: Exception) -> bool:
    """Say whether the same request may succeed later without anybody changing anything."""
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
        """Start again at the first ceiling: it worked."""
        self._ceiling_seconds = self._first_seconds


async def persist(
    attempt: Callable[[], Awaitable[T]], *, backoff: Backoff, clock: Clock, deadline: float
) -> T:
    """Return what ``attempt`` returns, trying again after transient errors.

    The server's ``Retry-After`` counts where it is longer than the back-off.

    Args:
        attempt: A request that may be repeated: it reads, or it has a precondition.
        backoff: The waits between attempts.
        clock: For the deadline.
        deadline: ``clock.monotonic()`` after which no further attempt starts.

    Raises:
        ApiError: The last error, if it is not transient or the time is up.
    """
    while True:
        try:
            return await attempt()
        except ApiError as error:
            wait_seconds = max(backoff.next_seconds(), error.retry_after_seconds or 0.0)
            if not transient(error) or clock.monotonic() + wait_seconds > deadline:
                raise
            await asyncio.sleep(wait_seconds)
