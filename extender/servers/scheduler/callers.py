"""Whom the scheduler's listener takes by the name in his certificate; TLS has checked the rest."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

_PEER: Final = "peercert"


def named(names: Collection[str]) -> Middleware:
    """Return what answers 403 to whoever's certificate has none of these names."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        shown = _names(request)
        if not shown.intersection(names):
            found = ", ".join(sorted(shown)) or "none"
            text = f"the client certificate is of {found[:200]}, expected one of {', '.join(names)}"
            raise web.HTTPForbidden(text=text)
        return await handler(request)

    return check


def _names(request: web.Request) -> frozenset[str]:
    transport = request.transport
    peer = None if transport is None else transport.get_extra_info(_PEER)
    return frozenset(_all_names(peer or {}))


def _all_names(peer: Mapping[str, Any]) -> Iterator[str]:
    """Yield common names and DNS names of what ``ssl.SSLSocket.getpeercert`` returns."""
    for relative in peer.get("subject", ()):
        yield from (value for key, value in relative if key == "commonName")
    yield from (value for kind, value in peer.get("subjectAltName", ()) if kind == "DNS")
