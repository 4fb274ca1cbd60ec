"""Probes and metrics. ``/livez`` and ``/readyz`` run on the event loop on purpose: they test it."""

from collections.abc import Mapping

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from extender.servers.keys import HEALTH, PAGE


async def livez(request: web.Request) -> web.Response:
    """``GET /livez``: 200 while every loop gives signs of life, else 503."""
    return _probe(*request.app[HEALTH].livez())


async def readyz(request: web.Request) -> web.Response:
    """``GET /readyz``: 200 while this replica can answer, else 503."""
    return _probe(*request.app[HEALTH].readyz())


async def metrics(request: web.Request) -> web.Response:
    """``GET /metrics``: Prometheus' text format."""
    text = await request.app[PAGE].text()
    return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})


def _probe(well: bool, parts: Mapping[str, str]) -> web.Response:  # noqa: FBT001 - a port's pair
    lines = [f"{name}: {text}\n" for name, text in parts.items()]
    return web.Response(status=200 if well else 503, text="".join(lines) or "ok\n")
