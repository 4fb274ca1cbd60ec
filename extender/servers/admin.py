"""Probes and metrics: ``/livez``, ``/readyz`` and ``/metrics``.

The probes run on the event loop on purpose: they test it. The metrics do not: rendering thousands
of series takes many milliseconds, so one thread renders them for all requests of a second.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from extender.metrics.extender import ExtenderMetrics
from shared.health import Health

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


HEALTH: Final = web.AppKey("health", Health)
METRICS_PAGE: Final = web.AppKey("metrics_page", MetricsPage)


async def livez(request: web.Request) -> web.Response:
    """``GET /livez``: 200 while every loop gives signs of life, else 503."""
    return _probe(*request.app[HEALTH].livez())


async def readyz(request: web.Request) -> web.Response:
    """``GET /readyz``: 200 while this replica can answer, else 503."""
    return _probe(*request.app[HEALTH].readyz())


async def metrics(request: web.Request) -> web.Response:
    """``GET /metrics``: Prometheus' text format."""
    text = await request.app[METRICS_PAGE].text()
    return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})


def _probe(healthy: bool, parts: Mapping[str, str]) -> web.Response:  # noqa: FBT001 - a probe's pair
    lines = [f"{name}: {text}\n" for name, text in parts.items()]
    return web.Response(status=200 if healthy else 503, text="".join(lines) or "ok\n")
