"""The path ``/metrics``.

Rendering thousands of series takes many milliseconds, so one thread renders them, outside the event
loop, for all requests of a second.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from extender.metrics.extender import ExtenderMetrics

KEPT_SECONDS: Final = 1.0


@dataclass
class MetricsPage:
    """The text behind ``/metrics``, rendered for one request at a time."""

    metrics: ExtenderMetrics
    _text: bytes = b""
    _rendered_at: float = 0.0
    _rendering: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def text(self) -> bytes:
        """Return the metrics in Prometheus' text format, at most ``KEPT_SECONDS`` old."""
        async with self._rendering:
            if not self._text or time.monotonic() - self._rendered_at >= KEPT_SECONDS:
                self._text = await asyncio.to_thread(self.metrics.render)
                self._rendered_at = time.monotonic()
            return self._text


METRICS_PAGE: Final = web.AppKey("metrics_page", MetricsPage)


async def metrics(request: web.Request) -> web.Response:
    """``GET /metrics``: Prometheus' text format."""
    text = await request.app[METRICS_PAGE].text()
    return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})
