"""Threads of the read API: what takes long is worked out there, and kube-scheduler never waits.

They are apart from those that write files and measure. A thread begins nothing new before it has
ended what it does, so what may wait for one is bounded.
"""

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from aiohttp import hdrs, web

from extender.servers.readapi.errors import GivenUpError

MOST_WAITING: Final = 64
"""Pieces of work that may wait for a thread; the callers of further ones are told to come again."""
AGAIN_SECONDS: Final = 1
"""When they are told to come again."""
ANSWER_SECONDS: Final = 20.0
"""How long one answer may be worked out; less than a replica waits for another one's (30 s)."""

T = TypeVar("T")


class Permit:
    """Whether a piece of work may go on; the work itself asks, again and again.

    Args:
        seconds: How long it may take.
        clock: Monotonic seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._until = math.inf
        self._wanted = True

    def begin(self) -> None:
        """Count the time from now on."""
        self._until = self._clock() + self._seconds

    def withdraw(self) -> None:
        """Have the work end when it asks next; from any thread."""
        self._wanted = False

    def check(self) -> None:
        """Return if the work may go on.

        Raises:
            GivenUpError: It may not.
        """
        if not self._wanted:
            raise GivenUpError("nobody waits for it")
        if self._clock() >= self._until:
            raise GivenUpError("its time is over")


class Threads:
    """See the module.

    Args:
        name: Of the threads.
        at_once: How many there are.
        most_waiting: Pieces of work beyond those that are worked on.
    """

    def __init__(self, name: str, at_once: int = 1, most_waiting: int = MOST_WAITING) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix=f"shuntyard-{name}")
        self._most = at_once + most_waiting
        self._inside: set[Future[Any]] = set()

    async def run(self, work: Callable[[], T]) -> T:
        """Return what the work returns; one that nobody waits for any more may never begin.

        Raises:
            HTTPTooManyRequests: Too much waits already.
        """
        if len(self._inside) >= self._most:
            raise too_busy("the threads that work answers out")
        future: Future[T] = self._pool.submit(work)
        self._inside.add(future)
        future.add_done_callback(self._inside.discard)
        return await asyncio.wrap_future(future)

    async def run_while_wanted(
        self, work: Callable[[Callable[[], None]], T], seconds: float = ANSWER_SECONDS
    ) -> T:
        """Return what the work returns that asks whether to go on, by what it is given.

        Raises:
            HTTPUnprocessableEntity: It took longer than ``seconds``.
            HTTPTooManyRequests: Too much waits already.
        """
        permit = Permit(seconds)

        def permitted() -> T:
            permit.begin()
            return work(permit.check)

        try:
            return await self.run(permitted)
        except asyncio.CancelledError:
            permit.withdraw()
            raise
        except GivenUpError as error:
            raise _too_long(seconds) from error

    def close(self) -> None:
        """Begin nothing more; what is worked on comes to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def too_busy(who: str) -> web.HTTPTooManyRequests:
    """Return the refusal of a caller who finds too many before him."""
    text = f"too many questions wait for {who}: ask again in a while"
    return web.HTTPTooManyRequests(text=text, headers={hdrs.RETRY_AFTER: str(AGAIN_SECONDS)})


def _too_long(seconds: float) -> web.HTTPUnprocessableEntity:
    text = f"the answer takes longer than {seconds:g} s of work: ask about fewer or simpler pods"
    return web.HTTPUnprocessableEntity(text=text)
