"""A caller that dies in the middle of its request is no defect of ours (defect E6)."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from extender.metrics.extender import ExtenderMetrics
from extender.servers.applications import (
    create_agents_app,
    create_api_app,
    create_runner,
    create_scheduler_app,
)
from shared import wire
from shared.model import NodeName
from tests.fakes.eventually import eventually
from tests.fakes.ports import FakeHealth, FakeRead, FakeScheduler


class FakeAgents:
    """Accepts every caller; no request of the tests comes further."""

    async def node_of(self, authorization: str) -> NodeName:
        return NodeName("a")

    def heartbeat(self, heartbeat: wire.Heartbeat) -> wire.HeartbeatAnswer:
        raise NotImplementedError

    def pods(self, node: NodeName) -> wire.NodePods:
        raise NotImplementedError


APPS: dict[str, Callable[[ExtenderMetrics], web.Application]] = {
    "scheduler": lambda metrics: create_scheduler_app(FakeScheduler(), metrics),
    "people": lambda metrics: create_api_app(FakeRead(), FakeHealth(), metrics),
    "agents": lambda metrics: create_agents_app(FakeAgents(), metrics, most_body_bytes=2**20),
}
REQUESTS = {
    "filter": ("scheduler", "/filter"),
    "prioritize": ("scheduler", "/prioritize"),
    "bind": ("scheduler", "/bind"),
    "whatif": ("people", "/v1/what-if"),
    "heartbeat": ("agents", "/v1/heartbeats"),
}
HALVES = {
    "plain": b"Content-Length: 1000\r\n\r\n{",
    "in chunks": b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
}


def noticing(begun: asyncio.Event) -> Middleware:
    """Set the event when the server begins to read a request."""

    @web.middleware
    async def notice(request: web.Request, handler: Handler) -> web.StreamResponse:
        asyncio.get_running_loop().call_soon(begun.set)
        return await handler(request)

    return notice


async def lost(metrics: ExtenderMetrics, verb: str) -> float | None:
    labels = {"verb": verb, "outcome": "caller-lost"}
    counted = metrics.registry.get_sample_value
    return await asyncio.to_thread(counted, "shuntyard_requests_total", labels)


@contextlib.asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[tuple[str, int]]:
    """Serve as the extender does; aiohttp's test server would cancel a handler without a caller."""
    runner = create_runner(app, drain_seconds=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][:2]
    finally:
        await runner.cleanup()


async def lose(
    host: str, port: int, path: str, half: bytes, begun: asyncio.Event, *, abort: bool
) -> None:
    """Send half a request and disconnect, as soon as the server begins to read it."""
    _, writer = await asyncio.open_connection(host, port)
    writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\n".encode() + half)
    await begun.wait()
    if abort:
        writer.transport.abort()
    else:
        writer.close()


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
@pytest.mark.parametrize("abort", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("verb", REQUESTS)
async def test_a_caller_that_is_lost_in_the_middle_of_its_request_leaves_no_traceback(
    caplog: pytest.LogCaptureFixture,
    verb: str,
    half: bytes,
    *,
    abort: bool,
) -> None:
    listener, path = REQUESTS[verb]
    metrics, begun = ExtenderMetrics(), asyncio.Event()
    app = APPS[listener](metrics)
    app.middlewares.insert(0, noticing(begun))
    with caplog.at_level(logging.INFO):
        async with served(app) as (host, port):
            await lose(host, port, path, half, begun, abort=abort)
            await eventually(lambda: any(path in r.getMessage() for r in caplog.records))
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []
    assert not any(record.exc_info for record in caplog.records)
    assert await eventually(lambda: lost(metrics, verb)) == 1.0
