"""The agent's probes and metrics."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from shared import probes
from shared.connections import Connections
from shared.health import Health

DRAIN_SECONDS: Final = 1.0
KEEPALIVE_SECONDS: Final = 120.0
"""Longer than Prometheus' interval, and than the 90 s of Go's client."""


@dataclass
class Page:
    """The text of ``/metrics``, rendered in a thread by one request at a time.

    Attributes:
        prepare: Called on the event loop; collects what is rendered.
        render: Renders the text; takes milliseconds.
    """

    prepare: Callable[[], None]
    render: Callable[[], bytes]
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        async with self._making:
            self.prepare()
            return await asyncio.to_thread(self.render)


PAGE: Final = web.AppKey("page", Page)


def create_runner(health: Health, page: Page, connections: Connections) -> web.AppRunner:
    """Return a runner of the agent's application; the caller sets it up and cleans it up."""
    app = web.Application(middlewares=[connections.middleware])
    app[PAGE] = page
    probes.add(app, health)
    app.router.add_get("/metrics", _metrics)
    return web.AppRunner(
        app,
        handle_signals=False,
        access_log=None,
        keepalive_timeout=KEEPALIVE_SECONDS,
        shutdown_timeout=DRAIN_SECONDS,
    )


async def _metrics(request: web.Request) -> web.Response:
    """``GET /metrics``: Prometheus' text format."""
    text = await request.app[PAGE].text()
    return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})
