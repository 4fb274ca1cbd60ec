"""Reads that reach a standby are passed on to the replica that acts: it alone knows the queue.

A Service has all replicas behind it, so people ask any of them. Only who acts runs cycles; what
the others would say of the queue, of estimates and of jobs that were declined is empty or old. If
nobody acts, or he does not answer, the standby says what it knows itself, with ``acting: false``.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from yarl import URL

from shared.answer import FORWARDED, PROXIED_AUTHORIZATION

PREFIX: Final = "/v1/"
"""What is passed on: no probe, and no metrics, which are each replica's own."""

_KEPT: Final = (hdrs.AUTHORIZATION, PROXIED_AUTHORIZATION, hdrs.ACCEPT, hdrs.CONTENT_TYPE)
_SAID: Final = (hdrs.RETRY_AFTER, hdrs.WWW_AUTHENTICATE)
"""Of an answer: what a refused caller is to do."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30.0, sock_connect=1.0)
"""A what-if may take its time; whether somebody listens is known soon."""
_SERVER_FAULT: Final = 500

log = logging.getLogger(__name__)


@dataclass
class Forwarding:
    """The middleware, and the session it asks with.

    Attributes:
        acting: Whether this replica decides now.
        where: Finds address and port of the one that does.
        tls: Says how its certificate is judged, the same context while nothing changes there:
            connections are kept by it. It may block. None: it is asked in the clear.
        server_name: The name in its certificate.
    """

    acting: Callable[[], bool]
    where: Callable[[], Awaitable[tuple[str, int] | None]]
    tls: Callable[[], ssl.SSLContext] | None = None
    server_name: str | None = None
    _session: aiohttp.ClientSession | None = field(default=None, init=False)

    def install(self, app: web.Application) -> None:
        """Open the session with the application and close it with it."""
        app.on_cleanup.append(self._close)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a read by who acts; everything else, and where that fails, ourselves."""
        if self.acting() or FORWARDED in request.headers or not request.path.startswith(PREFIX):
            return await handler(request)
        address = await self.where()
        if address is None:
            return await handler(request)
        try:
            answer = await self._ask(address, request)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            why = str(error) or "no answer in time"
            log.warning("passing %s on to %s:%d: %s", request.path, *address, why)
            return await handler(request)
        return await handler(request) if answer.status >= _SERVER_FAULT else answer

    async def _ask(self, address: tuple[str, int], request: web.Request) -> web.Response:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
        scheme = "http"
        context: ssl.SSLContext | bool = True
        if self.tls is not None:
            scheme, context = "https", await asyncio.to_thread(self.tls)
        asked = request.rel_url
        url = URL.build(
            scheme=scheme, host=address[0], port=address[1],
            path=asked.raw_path, query_string=asked.raw_query_string, encoded=True,
        )  # fmt: skip
        async with self._session.request(
            request.method,
            url,
            headers=_headers(request.headers),
            data=await request.read() or None,
            ssl=context,
            server_hostname=self.server_name,
            allow_redirects=False,
        ) as response:
            return web.Response(
                status=response.status,
                body=await response.read(),
                content_type=response.content_type,
                headers={
                    name: response.headers[name] for name in _SAID if name in response.headers
                },
            )

    async def _close(self, _app: web.Application) -> None:
        if self._session is not None:
            await self._session.close()


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    """Return what goes along: whose question it is, and that it is not to be passed on again."""
    return {**{name: given[name] for name in _KEPT if name in given}, FORWARDED: "true"}
