"""Connections of a listener over real sockets: which are ended, and which are answered."""

import asyncio
import contextlib
import gc
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from extender.servers.applications import create_runner
from shared.connections import Connections, Site, most_connections
from tests.fakes.eventually import eventually

SHORT_SECONDS = 0.3
LONG_SECONDS = 60.0
MOST = 20
HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\n"
BIND = b"POST /bind HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Served:
    """A listener; ``/bind`` waits for ``arrived`` as bind calls wait for their gang."""

    connections: Connections
    arrived: asyncio.Event
    endings: list[str]
    waiting: int = 0
    port: int = 0
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def connect(self, sent: bytes = b"") -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.stack.callback(_abort, writer)
        writer.write(sent)
        return reader, writer

    async def echo(self) -> bytes:
        """Return the body that a well-behaved client gets."""
        async with asyncio.timeout(LONG_SECONDS):
            sent = HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nok"
            reader, _ = await self.connect(sent)
            return (await reader.read())[-2:]

    async def bind(self, request: web.Request) -> web.Response:
        self.waiting += 1
        await request.read()
        await self.arrived.wait()
        return web.Response(text="bound")


@contextlib.asynccontextmanager
async def serving(
    most: int = MOST, body_seconds: float = LONG_SECONDS, keepalive_seconds: float = LONG_SECONDS
) -> AsyncIterator[Served]:
    endings: list[str] = []
    connections = Connections(
        "test",
        most,
        body_seconds=body_seconds,
        gave_way=lambda: endings.append("crowded"),
        late=lambda: endings.append("late"),
    )
    served = Served(connections, asyncio.Event(), endings)
    app = web.Application()
    app.router.add_post("/bind", served.bind)
    app.router.add_post("/echo", echo)
    runner = create_runner(
        app, drain_seconds=0.1, connections=connections, keepalive_seconds=keepalive_seconds
    )
    await runner.setup()
    await Site(runner, connections.listen("127.0.0.1", 0)).start()
    served.port = runner.addresses[0][1]
    try:
        async with served.stack:
            yield served
    finally:
        await runner.cleanup()
    assert len(connections) == 0


def _abort(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


async def dribble(streams: Streams, piece: bytes) -> None:
    """Send slowly, piece by piece, until the server ends the connection."""
    reader, writer = streams
    async with asyncio.timeout(LONG_SECONDS):
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(piece)
                await writer.drain()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SHORT_SECONDS / 10):
                        await reader.read()


async def test_a_connection_with_slow_headers_is_ended() -> None:
    async with serving(keepalive_seconds=SHORT_SECONDS) as served:
        await dribble(await served.connect(HEAD + b"X: "), b"a")
        await eventually(lambda: len(served.connections) == 0)
        assert await served.echo() == b"ok"


@pytest.mark.parametrize("length", [b"Content-Length: 100000", b"Transfer-Encoding: chunked"])
async def test_a_connection_with_a_slow_body_is_ended(length: bytes) -> None:
    async with serving(body_seconds=SHORT_SECONDS) as served:
        piece = b"1\r\na\r\n" if b"chunked" in length else b"a"
        await dribble(await served.connect(HEAD + length + b"\r\n\r\n"), piece)
        await eventually(lambda: len(served.connections) == 0)
        assert served.endings == ["late"]
        assert await served.echo() == b"ok"


async def test_a_complete_request_may_wait_longer_than_a_body_may_take() -> None:
    async with serving(body_seconds=SHORT_SECONDS, keepalive_seconds=SHORT_SECONDS) as served:
        reader, _ = await served.connect(BIND)
        late = await served.connect(HEAD + b"Content-Length: 100000\r\n\r\n")
        await dribble(late, b"a")
        assert served.endings == ["late"]  # the bind call began before it and is not
        served.arrived.set()
        async with asyncio.timeout(LONG_SECONDS):
            assert b"200" in await reader.readline()


async def test_the_oldest_idle_connection_is_ended_first() -> None:
    async with serving() as served:
        oldest, _ = await served.connect()
        for number in range(2 * MOST):
            await served.connect(HEAD if number % 2 else b"")
        async with asyncio.timeout(LONG_SECONDS):
            assert await oldest.read() == b""
        assert await served.echo() == b"ok"
        await eventually(lambda: len(served.connections) <= MOST)
        assert set(served.endings) == {"crowded"}


async def test_connections_without_a_request_are_ended_before_those_that_had_one() -> None:
    async with serving() as served:
        resting, asking = await served.connect(HEAD + b"Content-Length: 2\r\n\r\nok")
        async with asyncio.timeout(LONG_SECONDS):
            await resting.readuntil(b"\r\n\r\nok")
        for _ in range(3 * MOST):
            await served.connect()
        assert await served.echo() == b"ok"
        asking.write(HEAD + b"Content-Length: 2\r\n\r\nme")
        async with asyncio.timeout(LONG_SECONDS):
            await resting.readuntil(b"\r\n\r\nme")


async def test_waiting_bind_calls_are_never_ended_and_further_connections_are_refused() -> None:
    async with serving() as served:
        calls = [await served.connect(BIND) for _ in range(MOST)]
        await eventually(lambda: served.waiting == MOST)
        for _ in range(MOST):
            reader, _ = await served.connect()
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), LONG_SECONDS) == b""
        served.arrived.set()
        async with asyncio.timeout(LONG_SECONDS):
            for reader, _ in calls:
                assert b"200" in await reader.readline()
        assert await served.echo() == b"ok"


async def test_a_thousand_bind_calls_wait_at_once() -> None:
    most = min(1000, most_connections())
    async with serving(most=most) as served:
        calls = [await served.connect(BIND) for _ in range(most)]
        await eventually(lambda: served.waiting == most, LONG_SECONDS)
        served.arrived.set()
        async with asyncio.timeout(LONG_SECONDS):
            for reader, _ in calls:
                assert b"200" in await reader.readline()
        assert served.endings == []


async def test_the_limit_is_logged_once_and_not_for_each_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(most=1) as served:
        for _ in range(10):
            await served.connect()
        await eventually(lambda: len(served.endings) == 9)
    lines = [line for line in caplog.records if "the limit of open connections" in line.message]
    assert [(line.__dict__["listener"], line.__dict__["most"]) for line in lines] == [("test", 1)]


async def test_a_connection_that_is_accepted_during_shutdown_is_closed() -> None:
    async with serving() as served:
        late = socket.socket()
        late.setblocking(False)
        late.connect_ex(("127.0.0.1", served.port))
        for _ in range(2):  # then it is accepted, but not handled yet
            await asyncio.sleep(0)
    with late:
        async with asyncio.timeout(LONG_SECONDS):
            assert await asyncio.get_running_loop().sock_recv(late, 1) == b""
    gc.collect()  # an open socket warns, and a warning fails the test


def test_an_address_in_use_is_an_error() -> None:
    taken = Connections("test", 1).listen("127.0.0.1", 0)
    with taken, pytest.raises(OSError, match="in use"):
        Connections("test", 1).listen(*taken.getsockname())
