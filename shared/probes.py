"""``/livez`` and ``/readyz``: a kubelet's probes, answered from the health of the process.

They run on the event loop on purpose: they test it.
"""

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from shared.health import Health

_HEALTH: Final = web.AppKey("health", Health)


def add(app: web.Application, health: Health) -> None:
    """Add both paths: 200 while every loop is alive, or while the process is ready; else 503."""
    app[_HEALTH] = health
    app.router.add_get("/livez", _livez)
    app.router.add_get("/readyz", _readyz)


async def _livez(request: web.Request) -> web.Response:
    return _answer(*request.app[_HEALTH].livez())


async def _readyz(request: web.Request) -> web.Response:
    return _answer(*request.app[_HEALTH].readyz())


def _answer(healthy: bool, parts: Mapping[str, str]) -> web.Response:  # noqa: FBT001 - a health's pair
    lines = [f"{name}: {text}\n" for name, text in parts.items()]
    return web.Response(status=200 if healthy else 503, text="".join(lines) or "ok\n")
