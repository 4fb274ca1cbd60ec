"""Threads for work that takes long, so that the event loop and kube-scheduler never wait for it.

They are apart from the threads that write files and measure. A thread finishes one piece of work
before it begins the next, so the work that waits for it can be bounded.

::

    ShuntyardError
    └── WorkCancelledError      a piece of work ended before it was finished
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from aiohttp import hdrs, web

from shared.clock import Clock
from shared.errors import ShuntyardError

MOST_WAITING: Final = 64
"""Pieces of work that may wait for a thread; callers of further ones get 429."""
RETRY_AFTER_SECONDS: Final = 1
ANSWER_SECONDS: Final = 20.0
"""Longest work on one answer; less than a replica waits for the answer of another one (30 s)."""

T = TypeVar("T")


@dataclass
class Spent:
    """Processor time of the work that one task gave to threads.

    Attributes:
        seconds: So far; other work of the process is not in it.
    """

    seconds: float = 0.0


_SPENT: Final[ContextVar[Spent | None]] = ContextVar("spent", default=None)


@contextmanager
def spending() -> Iterator[Spent]:
    """Count the processor time of all work that this task gives to threads meanwhile."""
    spent = Spent()
    token = _SPENT.set(spent)
    try:
        yield spent
    finally:
        _SPENT.reset(token)


class WorkCancelledError(ShuntyardError):
    """The work ended early: its time was over, or no caller waits for it any more."""


class CancellationToken:
    """True until a piece of work must end; the work itself checks it again and again.

    Args:
        seconds: How long the work may take.
        clock: Monotonic seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._until = math.inf
        self._cancelled = False

    def start(self) -> None:
        """Count the time from now on."""
        self._until = self._clock() + self._seconds

    def cancel(self) -> None:
        """End the work at its next check. Thread-safe."""
        self._cancelled = True

    def check(self) -> None:
        """Return if the work may go on.

        Raises:
            WorkCancelledError: It must end.
        """
        if self._cancelled:
            raise WorkCancelledError("no caller waits for it")
        if self._clock() >= self._until:
            raise WorkCancelledError("its time is over")


class Threads:
    """A thread pool with a bounded queue.

    Args:
        name: Part of the threads' names.
        at_once: Number of threads.
        most_waiting: Pieces of work that may wait for a thread.
    """

    def __init__(self, name: str, at_once: int = 1, most_waiting: int = MOST_WAITING) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix=f"shuntyard-{name}")
        self._most = at_once + most_waiting
        self._inside: set[Future[Any]] = set()

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread; if the caller is cancelled before it begins, it never does.

        Raises:
            HTTPTooManyRequests: Too much work waits already.
        """
        if len(self._inside) >= self._most:
            raise too_busy("the threads that compute answers")
        future: Future[T] = self._pool.submit(_counted(work, _SPENT.get()))
        self._inside.add(future)
        future.add_done_callback(self._inside.discard)
        return await asyncio.wrap_future(future)

    async def run_cancellable(
        self, work: Callable[[Callable[[], None]], T], seconds: float = ANSWER_SECONDS
    ) -> T:
        """Run work that calls its argument again and again and ends by the error that it raises.

        Raises:
            HTTPUnprocessableEntity: It took longer than ``seconds``.
            HTTPTooManyRequests: Too much work waits already.
        """
        token = CancellationToken(seconds)

        def started() -> T:
            token.start()
            return work(token.check)

        try:
            return await self.run(started)
        except asyncio.CancelledError:
            token.cancel()
            raise
        except WorkCancelledError as error:
            raise _too_long(seconds) from error

    def close(self) -> None:
        """Begin no more work; what a thread works on comes to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _counted(work: Callable[[], T], spent: Spent | None) -> Callable[[], T]:
    """Return the work, which adds its processor time to what its task spends."""
    if spent is None:
        return work

    def counted() -> T:
        began = time.thread_time()
        try:
            return work()
        finally:
            spent.seconds += time.thread_time() - began

    return counted


@dataclass
class DutyCycle:
    """One turn at a time; before each a pause as long as the turn before took.

    Work that takes long shares the interpreter with deciding and with answering kube-scheduler, so
    a caller that repeats it without end gets half a core.
    """

    _next_at: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def turn(self, clock: Clock) -> AsyncIterator[None]:
        """Wait for a turn and hold it; its length is measured by ``clock``."""
        async with self._lock:
            await asyncio.sleep(max(0.0, self._next_at - clock.monotonic()))
            began = clock.monotonic()
            try:
                yield
            finally:
                ended = clock.monotonic()
                self._next_at = ended + (ended - began)


def too_busy(place: str) -> web.HTTPTooManyRequests:
    """Return the refusal of a request for which there is no room; ``place`` is what is full."""
    text = f"too many requests wait for {place}: try again in a while"
    return web.HTTPTooManyRequests(text=text, headers={hdrs.RETRY_AFTER: str(RETRY_AFTER_SECONDS)})


def _too_long(seconds: float) -> web.HTTPUnprocessableEntity:
    text = f"the answer takes longer than {seconds:g} s of work: ask about fewer or simpler pods"
    return web.HTTPUnprocessableEntity(text=text)
