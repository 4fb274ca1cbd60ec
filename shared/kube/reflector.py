"""Mirrors one collection of the API server into a sink, endlessly."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final

from shared.clock import Clock
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, Backoff, GoneError, transient
from shared.kube.resources import ResourceKind
from shared.kube.watching import ListWatch, Report
from shared.model import Delta

WATCH_SECONDS: Final = (240.0, 300.0)
"""How long the server keeps a watch open; random, so that watches do not end together."""

STALL_SECONDS: Final = 90.0
"""Silence that means a dead connection where the server sends bookmarks (about one a minute)."""

SLACK_SECONDS: Final = 10.0
"""Without bookmarks, a watch is dead this long after the server should have ended it."""

FLOOR_SECONDS: Final = 1.0
"""Least time from one watch to the next, in case the server closes them immediately."""

HEALTHY_SECONDS: Final = 10.0
"""A watch that lasted this long resets the back-off."""

MOST_SECONDS: Final = 10.0
"""Ceiling of the back-off: a scheduler that is blind longer costs more than one request in 10 s."""


class Reflector:
    """List, watch, and list again when our version has expired.

    Only errors in ``ends_on`` end it: other errors are reported and retried, unreadable objects are
    reported and skipped.

    Args:
        client: Client of the API server.
        kind: The collection.
        sink: Called with each delta, in order. Its exceptions end ``run``.
        clock: For delays and ``last_event_at``.
        rng: Jitter of delays and of the watches' length.
        params: Added to each request, e.g. a ``fieldSelector``.
        report: Called with a key (of an unreadable object, or the collection's path) and the error.
        page_size: Objects of one page of a list.
        ends_on: Errors that ``run`` raises; the next call begins with a list.

    Attributes:
        kind: The collection.
        synced: Set after the first complete list.
        last_event_at: Monotonic time of the last page or line, bookmarks included.
        relists: Lists begun, by reason: ``start``, ``gone``, ``error``,
            ``distrust``.
    """

    def __init__(
        self,
        client: KubeClient,
        kind: ResourceKind,
        sink: Callable[[Delta], None],
        *,
        clock: Clock,
        rng: random.Random,
        params: Mapping[str, str] | None = None,
        report: Report = lambda _key, _error: None,
        page_size: int = 500,
        ends_on: tuple[type[ApiError], ...] = (),
    ) -> None:
        self.synced = asyncio.Event()
        self.last_event_at = clock.monotonic()
        self.relists: Counter[str] = Counter()
        self.kind = kind
        self._client = client
        self._sink = sink
        self._clock = clock
        self._rng = rng
        selected = {"labelSelector": kind.selector} if kind.selector else {}
        self._params = {**selected, **(params or {})}
        self._report = report
        self._ends_on = ends_on
        self._protocol = ListWatch(kind, report, page_size=page_size)
        self._backoff = Backoff(most_seconds=MOST_SECONDS, rng=rng)
        self._reason = "start"
        self._trust: asyncio.Timeout | None = None

    def distrust(self) -> None:
        """List again, and do not count as synced before: there were no changes for long.

        A watch whose connection died silently looks like one of a quiet collection.
        """
        if self._protocol.listing:
            return
        self.synced.clear()
        self._protocol.expire()
        self._reason = "distrust"
        if self._trust is not None:
            self._trust.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Mirror until cancelled.

        Raises:
            ApiError: One of ``ends_on``.
        """
        while True:
            started_at = self._clock.monotonic()
            try:
                if self._protocol.listing:
                    await self._list()
                await self._watch_trusted()
                wait_seconds = FLOOR_SECONDS - (self._clock.monotonic() - started_at)
            except ApiError as error:
                self._note(error)
                if isinstance(error, self._ends_on):
                    raise
                if self._clock.monotonic() - started_at >= HEALTHY_SECONDS:
                    self._backoff.reset()
                wait_seconds = max(self._backoff.next_seconds(), error.retry_after_seconds or 0.0)
            await asyncio.sleep(max(wait_seconds, 0.0))

    async def _list(self) -> None:
        self.relists[self._reason] += 1
        replace = None
        while replace is None:
            params = {**self._params, **self._protocol.list_params()}
            page = await self._client.get(self.kind.path, params)
            replace = self._protocol.feed_list(page)
            self.last_event_at = self._clock.monotonic()
        self._sink(replace)
        self.synced.set()

    async def _watch_trusted(self) -> None:
        """Watch until the server ends it, or until ``distrust``."""
        with contextlib.suppress(TimeoutError):
            try:
                async with asyncio.timeout(None) as self._trust:
                    await self._watch()
            finally:
                self._trust = None

    async def _watch(self) -> None:
        timeout_seconds = self._rng.uniform(*WATCH_SECONDS)
        params = {**self._params, **self._protocol.watch_params(timeout_seconds)}
        stall_seconds = timeout_seconds + SLACK_SECONDS
        if self._protocol.bookmarks_seen:
            stall_seconds = STALL_SECONDS
        stream = self._client.stream(self.kind.path, params, stall_seconds=stall_seconds)
        async with aclosing(stream) as lines:
            async for line in lines:
                self.last_event_at = self._clock.monotonic()
                delta = self._protocol.feed_line(line)
                if delta is not None:
                    self._sink(delta)

    def _note(self, error: ApiError) -> None:
        """Record the reason of the next list, if one is due; an expired version is not an error."""
        self._reason = "gone" if isinstance(error, GoneError) else "error"
        if not transient(error):
            self._protocol.expire()
        if not isinstance(error, (GoneError, *self._ends_on)):
            self._report(self.kind.path, error)
