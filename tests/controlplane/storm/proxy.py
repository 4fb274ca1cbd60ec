"""A proxy of the API server that can fail: refused calls, lost answers, cut connections.

Only the extender uses it. It records each write of the extender, so the laws know what the extender
did without its help.
"""

import asyncio
import contextlib
import random
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from aiohttp import web

from devcluster.cluster import Cluster
from shared.kube import auth

_DROPPED_HEADERS: Final = frozenset({"Host", "Content-Length", "Transfer-Encoding", "Connection"})
LOST: Final = 0
"""Instead of a status: the call is carried out, and its answer is lost."""


@dataclass(frozen=True)
class Window:
    """Calls of one verb fail until a moment (monotonic seconds)."""

    method: str
    status: int
    until: float


@dataclass(frozen=True)
class Write:
    """A write of the extender that the API server accepted; ``at`` in monotonic seconds."""

    at: float
    method: str
    path: str


@dataclass
class BadBindings:
    """A part of all Bindings fails, as long as the storm lasts.

    Attributes:
        part: How many of them, from 0 to 1.
        statuses: How they fail; ``LOST``: the Binding is written, and its answer is lost.
        rng: Chooses.
        failed: How many have failed, by status.
        pods: ``(namespace, name)`` of the pods whose Bindings have failed.
    """

    part: float
    statuses: tuple[int, ...]
    rng: random.Random
    failed: Counter[int] = field(default_factory=Counter)
    pods: set[tuple[str, str]] = field(default_factory=set)

    def status(self, request: web.Request) -> int | None:
        """Return how this call fails; None if it does not."""
        parts = request.path.strip("/").split("/")
        if request.method != "POST" or parts[-1] != "binding" or self.rng.random() >= self.part:
            return None
        status = self.rng.choice(self.statuses)
        self.failed[status] += 1
        self.pods.add((parts[3], parts[5]))
        return status


@dataclass
class FaultyWay:
    """See the module.

    Attributes:
        url: Where the extender finds the API server.
        bindings: Bindings that fail all the time; None: none.
        writes: What the extender wrote, oldest first.
        failed: How many calls were made to fail.
    """

    server: str
    session: aiohttp.ClientSession
    url: str = ""
    window: Window | None = None
    bindings: BadBindings | None = None
    closed_until: float = 0.0
    writes: list[Write] = field(default_factory=list)
    failed: int = 0
    _open: set[asyncio.Task[object]] = field(default_factory=set)

    def fail(self, method: str, status: int, seconds: float) -> None:
        """Let calls of a verb fail for a while; ``LOST``: the answers are lost."""
        self.window = Window(method, status, time.monotonic() + seconds)

    def cut(self, seconds: float) -> None:
        """End all connections, and accept no new calls for a while."""
        self.closed_until = time.monotonic() + seconds
        for task in self._open:
            task.cancel()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Forward one call, unless it is to fail."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            return await self._handle(request)
        except (aiohttp.ClientError, ConnectionError, asyncio.CancelledError):
            _drop(request)
            return web.Response(status=502)
        finally:
            self._open.discard(task)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if time.monotonic() < self.closed_until:
            raise ConnectionError
        status = self._fault(request)
        if status is None:
            return await self._forward(request)
        self.failed += 1
        if status != LOST:
            return _status(status)
        await self._forward(request)
        raise ConnectionError

    def _fault(self, request: web.Request) -> int | None:
        """Return how the call fails; None if it does not."""
        window = self.window
        if window and window.method == request.method and time.monotonic() < window.until:
            return window.status
        return self.bindings.status(request) if self.bindings else None

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        headers = {k: v for k, v in request.headers.items() if k not in _DROPPED_HEADERS}
        body = await request.read()
        url = f"{self.server}{request.raw_path}"
        async with self.session.request(
            request.method, url, headers=headers, data=body or None
        ) as answer:
            if request.method != "GET" and answer.status < 300:
                self.writes.append(Write(time.monotonic(), request.method, request.path))
            if "watch" not in request.query:
                return web.Response(
                    status=answer.status,
                    body=await answer.read(),
                    content_type=answer.content_type,
                )
            stream = web.StreamResponse(status=answer.status)
            stream.content_type = answer.content_type
            await stream.prepare(request)
            async for chunk in answer.content.iter_any():
                await stream.write(chunk)
            return stream


def _status(code: int) -> web.Response:
    reasons = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reasons.get(code, "ServiceUnavailable"),
        "message": "a fault of the storm",
    }
    return web.json_response(body, status=code)


def _drop(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


@asynccontextmanager
async def opened(cluster: Cluster) -> AsyncIterator[FaultyWay]:
    """Open a proxy of the cluster's API server; it stays open as long as the block runs."""
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    tls = ssl.create_default_context(cadata=cluster.layout.authority.read_text())
    assert credentials.server == cluster.server
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5.0)
    connector = aiohttp.TCPConnector(ssl=tls, limit=0)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, auto_decompress=True
    ) as session:
        way = FaultyWay(cluster.server, session)
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_route("*", "/{path:.*}", way.handle)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        way.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield way
        finally:
            with contextlib.suppress(asyncio.TimeoutError):
                await runner.cleanup()
