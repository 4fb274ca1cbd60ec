"""``GET /v1/updates``: lists of the page as server-sent events, first whole, then what changed.

All readers who see the same share the work: the lists are read once for all of them, and a frame is
encoded once. After each reading there is a pause in proportion to its processor time (``Pace``), so
that the page takes a small part of a core, however large the cluster and however many the readers.

A stream ends when its reader does not keep up, when another replica leads, when its reader may see
something else than before, and after ``MOST_SECONDS``; the page connects again and begins with the
whole lists. A standby refuses: the page then reads the lists one by one, which the standby forwards
to the leader.
"""

import asyncio
import logging
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from aiohttp import hdrs, web

from extender.core.explain import Page
from extender.metrics.requests import Outcome
from extender.servers.auth import authorizer
from extender.servers.auth.authorizer import REDACTION_THREADS, Scope
from extender.servers.middlewares import HELD_SECONDS, OUTCOME
from extender.servers.readapi import deltas, handlers
from extender.servers.readapi.deltas import Listing
from extender.servers.readapi.handlers import READ
from extender.servers.threads import Threads, spending

LISTS: Final = ("queue", "jobs", "nodes", "namespaces")
LEAST_PAUSE_SECONDS: Final = 1.0
PAUSE_RATIO: Final = 32.0
MOST_PAUSE_SECONDS: Final = 15.0
"""All readings take at most three percent of a core, up to readings of 0.47 s."""
MOST_SECONDS: Final = 300.0
"""Of one stream; then its reader shows the token again."""
CHECK_SECONDS: Final = 15.0
"""How often it is checked that a stream may go on; a comment keeps its connection open."""
MOST_FRAMES: Final = 32
"""Frames that may wait for a reader."""
_ALL: Final = 10**9
_HEADERS: Final = {
    hdrs.CONTENT_TYPE: "text/event-stream",
    hdrs.CACHE_CONTROL: "no-store",
    "X-Accel-Buffering": "no",
}

log = logging.getLogger(__name__)


class Reader:
    """One stream: the frames that wait for it."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.is_behind = False

    def put(self, frame: bytes) -> None:
        """Add frames, as they are sent; a reader that is behind gets no more of them."""
        self.is_behind = self.is_behind or self._frames.qsize() >= MOST_FRAMES
        if not self.is_behind:
            self._frames.put_nowait(frame)

    def end(self) -> None:
        """End the stream at once."""
        self.is_behind = True
        self._frames.put_nowait(b"")

    async def next(self, within_seconds: float) -> bytes:
        """Return the next frame; empty if there is none within some seconds."""
        try:
            async with asyncio.timeout(within_seconds):
                return await self._frames.get()
        except TimeoutError:
            return b""


@dataclass(eq=False)
class Pace:
    """One reading at a time; before each a pause, in proportion to the processor time of the last.

    Only the reading itself counts: what else the process does meanwhile would delay the next one
    most where most happens.

    Attributes:
        ratio: Length of the pause by that time.
    """

    ratio: float = PAUSE_RATIO
    _next_at: float = 0.0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and hold it."""
        async with self._turn:  # the one that waits longest is next
            await asyncio.sleep(max(0.0, self._next_at - time.monotonic()))
            with spending() as spent:
                try:
                    yield
                finally:
                    pause_seconds = min(self.ratio * spent.seconds, MOST_PAUSE_SECONDS)
                    self._next_at = time.monotonic() + pause_seconds


@dataclass(eq=False)
class Channel:
    """The lists as some readers see them: read again and again while there are any.

    Attributes:
        read: Reads the lists.
        threads: Where frames are made.
        pace: Says when they are read.
        readers: Those who get the frames.
        now: The lists as they were read last.
    """

    read: Callable[[], Awaitable[tuple[Listing, ...]]]
    threads: Threads
    pace: Pace
    readers: set[Reader] = field(default_factory=set)
    now: tuple[Listing, ...] = ()
    _whole: list[bytes] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None

    def join(self, reader: Reader) -> None:
        """Give a new reader the lists as they are known; the first one begins the reading."""
        if self.now and not self._whole:
            self._whole = _frames((), self.now)
        for frame in self._whole:
            reader.put(frame)
        self.readers.add(reader)
        if self._task is None:
            self._task = asyncio.create_task(self._repeat())
            self._task.add_done_callback(self._ended)

    def leave(self, reader: Reader) -> None:
        """End the reading with its last reader."""
        self.readers.discard(reader)
        if not self.readers and self._task is not None:
            self._task.cancel()
            self._task = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        """End all streams after a fault: their readers come again and begin anew."""
        if task.cancelled():
            return
        log.error("the lists of the page cannot be read", exc_info=task.exception())
        self.now, self._whole, self._task = (), [], None
        for reader in self.readers:
            reader.end()

    async def _repeat(self) -> None:
        while True:
            try:
                if self.now:
                    async with self.pace.turn():
                        await self._read_once()
                else:  # the first readers do not wait
                    await self._read_once()
            except web.HTTPException as error:  # no verdict of the API server, or too much work
                log.info("the lists of the page are not current: %s", error.text)
            await asyncio.sleep(LEAST_PAUSE_SECONDS)

    async def _read_once(self) -> None:
        before, now = self.now, await self.read()
        frames = await self.threads.run(lambda: _frames(before, now))
        self.now, self._whole = now, []
        for reader in self.readers:
            for frame in frames:
                reader.put(frame)


def _frames(before: tuple[Listing, ...], now: tuple[Listing, ...]) -> list[bytes]:
    """Return what leads from some lists to the next ones."""
    if not before:
        return [_sent(deltas.whole(listing)) for listing in now]
    pairs = zip(before, now, strict=True)
    return [_sent([frame]) for pair in pairs if (frame := deltas.difference(*pair)) is not None]


def _sent(frames: Iterable[bytes]) -> bytes:
    """Return frames as server-sent events."""
    return b"".join(b"data: " + frame + b"\n\n" for frame in frames)


@dataclass(eq=False)
class Updates:
    """The channels that have readers."""

    pace: Pace = field(default_factory=Pace)
    _channels: dict[Hashable, Channel] = field(default_factory=dict)

    def end(self) -> None:
        """End all streams."""
        for channel in self._channels.values():
            for reader in channel.readers:
                reader.end()

    @contextmanager
    def joined(
        self, request: web.Request, reader: Reader, scopes: Mapping[str, Scope]
    ) -> Iterator[None]:
        """Send a reader some lists and what changes in them.

        Args:
            request: The reader's: its caller sees what every reader with the same scopes sees.
            reader: Gets the frames.
            scopes: What of each list the caller gets, by name of the list.
        """
        key = tuple(scopes.items())
        if key not in self._channels:
            read = partial(_listings, request, scopes)
            self._channels[key] = Channel(read, request.app[REDACTION_THREADS], self.pace)
        channel = self._channels[key]
        channel.join(reader)
        try:
            yield
        finally:
            channel.leave(reader)
            if not channel.readers:
                self._channels.pop(key, None)


UPDATES: Final = web.AppKey("updates", Updates)


async def end_streams(app: web.Application) -> None:
    """End all streams: the listener is closing, and waits for open requests."""
    app[UPDATES].end()


async def updates(request: web.Request) -> web.StreamResponse:
    """Stream the lists, with ``?namespace=…`` jobs of one namespace."""
    if not request.app[READ].acting():
        text = "this replica is a standby: read the lists one by one"
        raise web.HTTPServiceUnavailable(text=text)
    began, reader = time.monotonic(), Reader()
    scopes = {name: await _scope(request, name) for name in LISTS}
    response = web.StreamResponse(headers=_HEADERS)
    await response.prepare(request)
    request[OUTCOME] = Outcome.OK
    try:
        shown = {name: scope for name, scope in scopes.items() if isinstance(scope, Scope)}
        for name, refused in scopes.items():
            if isinstance(refused, _Refused):
                reader.put(_sent([deltas.problem(name, refused.status, refused.text)]))
        with request.app[UPDATES].joined(request, reader, shown):
            await _send(request, response, reader, scopes)
    finally:
        request[HELD_SECONDS] = time.monotonic() - began
    return response


async def _send(
    request: web.Request,
    response: web.StreamResponse,
    reader: Reader,
    scopes: Mapping[str, "Scope | _Refused"],
) -> None:
    """Send frames as long as the stream may go on."""
    until = time.monotonic() + MOST_SECONDS
    check_at = time.monotonic() + CHECK_SECONDS
    while not reader.is_behind:
        frame = await reader.next(max(0.0, check_at - time.monotonic()))
        await response.write(frame or b": \n\n")
        if time.monotonic() >= check_at:
            seen = {name: await _scope(request, name) for name in LISTS}
            if time.monotonic() >= until or seen != scopes or not request.app[READ].acting():
                return
            check_at = time.monotonic() + CHECK_SECONDS


class _Refused(NamedTuple):
    """Why a list is not shown to a reader."""

    status: int
    text: str


async def _scope(request: web.Request, name: str) -> Scope | _Refused:
    """Return what of a list the reader gets; of nodes also why none."""
    namespace = request.query.get("namespace", "")
    if name == "nodes":
        try:
            await authorizer.require_nodes(request)
        except web.HTTPForbidden as error:
            return _Refused(error.status, error.text or "")
        return Scope(None)
    return await handlers.scope(request, "" if name == "namespaces" else namespace)


async def _listings(request: web.Request, scopes: Mapping[str, Scope]) -> tuple[Listing, ...]:
    return tuple([await _listing(request, name, scope) for name, scope in scopes.items()])


async def _listing(request: web.Request, name: str, scope: Scope) -> Listing:
    read = request.app[READ]
    lists: dict[str, Callable[[Page], Awaitable[Any]]] = {
        "queue": read.queue, "jobs": read.jobs, "nodes": read.nodes, "namespaces": read.namespaces,
    }  # fmt: skip
    body = await lists[name](Page(_ALL, "", scope.namespaces))
    threads = request.app[REDACTION_THREADS]
    shown = await authorizer.redacted(
        request, await threads.run(lambda: deltas.steady(body)), scope
    )
    return await threads.run(lambda: deltas.listing(name, shown))
