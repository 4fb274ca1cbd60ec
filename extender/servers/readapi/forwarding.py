"""Forwarding: reads that reach a standby go to the leader, which alone knows the queue.

A Service has all replicas behind it, so clients ask any of them. Only the leader runs cycles; what
a standby knows of the queue, of estimates and of jobs that were declined is empty or old. If there
is no leader, or it does not answer, the standby answers itself, with ``acting: false``.

The leader is found by the Lease: its holder is a pod behind our own Service.
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

from extender.servers.readapi.limits import STREAM
from shared.clock import Clock
from shared.kube import endpoints
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from shared.readapi.answer import FORWARDED, PROXIED_AUTHORIZATION

PREFIX: Final = "/v1/"
"""What is forwarded: no probe, and no metrics, which are each replica's own."""
KEPT_SECONDS: Final = 10.0
"""How long an address, or that there is none, is kept before the API server is asked again."""
FAILED_SECONDS: Final = 2.0
"""Pause after the API server did not answer."""

_REQUEST_HEADERS: Final = (
    hdrs.AUTHORIZATION,
    PROXIED_AUTHORIZATION,
    hdrs.ACCEPT,
    hdrs.CONTENT_TYPE,
)
_RESPONSE_HEADERS: Final = (hdrs.RETRY_AFTER, hdrs.WWW_AUTHENTICATE)
"""What a refused caller is to do."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30.0, sock_connect=1.0)
"""A what-if may take its time; whether the leader listens is known soon."""
_SERVER_FAULT: Final = 500

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class LeaderAddress:
    """Finds the address of the leader; one request to the API server serves all that wait for it.

    Attributes:
        namespace: The Service's, and the replicas' own.
        service: The Service of the read API.
        port_name: Its port's name.
        lease_holder: Returns the holder of the Lease: the pod's name, ``_`` and a random part.
    """

    client: KubeClient
    clock: Clock
    namespace: str
    service: str
    port_name: str
    lease_holder: Callable[[], str]
    _address: tuple[str, int] | None = None
    _holder: str = ""
    _until: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def find(self) -> tuple[str, int] | None:
        """Return address and port of the leader's read API; None if unknown."""
        async with self._lock:
            holder = self.lease_holder().rpartition("_")[0]
            if not holder:
                return None
            if holder != self._holder or self.clock.monotonic() >= self._until:
                await self._refresh(holder)
            return self._address

    async def _refresh(self, holder: str) -> None:
        self._address, kept_seconds = None, FAILED_SECONDS
        try:
            slices = await endpoints.slices_of_service(self.client, self.namespace, self.service)
        except ApiError as error:
            log.warning("the address of the leader, %s, cannot be read: %s", holder, error)
        else:
            self._address = endpoints.pod_address(slices, holder, self.port_name)
            kept_seconds = KEPT_SECONDS
        self._holder, self._until = holder, self.clock.monotonic() + kept_seconds


@dataclass
class Forwarding:
    """The middleware, and its client session.

    Attributes:
        acting: Whether this replica is the leader.
        find_leader: Finds the leader's address and port.
        tls: Returns the context that verifies the leader's certificate, the same one while nothing
            changes there: connections are kept by it. It may block. None: no TLS.
        server_name: The name in the leader's certificate.
    """

    acting: Callable[[], bool]
    find_leader: Callable[[], Awaitable[tuple[str, int] | None]]
    tls: Callable[[], ssl.SSLContext] | None = None
    server_name: str | None = None
    _session: aiohttp.ClientSession | None = field(default=None, init=False)

    def install(self, app: web.Application) -> None:
        """Close the session together with the application."""
        app.on_cleanup.append(self._close)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Have the leader answer a read; everything else, and where that fails, ourselves."""
        is_read = request.path.startswith(PREFIX) and request.path != STREAM
        if self.acting() or FORWARDED in request.headers or not is_read:
            return await handler(request)
        address = await self.find_leader()
        if address is None:
            return await handler(request)
        try:
            answer = await self._forward(address, request)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            why = str(error) or "no answer in time"
            log.warning("forwarding %s to %s:%d: %s", request.path, *address, why)
            return await handler(request)
        return await handler(request) if answer.status >= _SERVER_FAULT else answer

    async def _forward(self, address: tuple[str, int], request: web.Request) -> web.Response:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
        scheme = "http"
        context: ssl.SSLContext | bool = True
        if self.tls is not None:
            scheme, context = "https", await asyncio.to_thread(self.tls)
        target = request.rel_url
        url = URL.build(
            scheme=scheme, host=address[0], port=address[1],
            path=target.raw_path, query_string=target.raw_query_string, encoded=True,
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
            given = response.headers
            return web.Response(
                status=response.status,
                body=await response.read(),
                content_type=response.content_type,
                headers={name: given[name] for name in _RESPONSE_HEADERS if name in given},
            )

    async def _close(self, _app: web.Application) -> None:
        if self._session is not None:
            await self._session.close()


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    """Return the headers to forward: the caller's, and that the leader must not forward again."""
    return {**{name: given[name] for name in _REQUEST_HEADERS if name in given}, FORWARDED: "true"}
