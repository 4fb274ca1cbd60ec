"""The connections of one listener: how many may be open, which is closed, how long a body takes.

All accepted sockets count, also those in a TLS handshake. At the limit, the connection that has
been idle for longest is closed, first those that never sent a request. A connection whose request
is being answered is never closed: bind calls wait for minutes, thousands at once. If all are of
that kind, the new connection is refused.

aiohttp ends unfinished headers itself, ``keepalive_timeout`` after the connection began or last had
a response. It has no limit for bodies, so that is done here.
"""

import asyncio
import logging
import resource
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler
from typing_extensions import override

MOST_CONNECTIONS: Final = 8192
"""Connections of one listener."""
FILES_SHARE: Final = 0.25
"""Default share of the files that the process may open."""
BODY_SECONDS: Final = 60.0
"""From the end of a request's headers to the end of its body."""
BACKLOG: Final = 128
LOG_SECONDS: Final = 60.0
"""How often reaching the limit is logged."""
log = logging.getLogger(__name__)


def most_connections(most: int = MOST_CONNECTIONS, share: float = FILES_SHARE) -> int:
    """Return how many connections a listener may have, within its share of the open files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else min(most, max(int(soft * share), 1))


class Connections:
    """See the module.

    Args:
        name: Name of the listener, for the log.
        most: Connections that may be open; at least one.
        body_seconds: How long a body may take.
        gave_way: Called for each connection that is closed or refused because of the limit.
        late: Called for each connection that is closed because a body took too long.
    """

    def __init__(
        self,
        name: str,
        most: int,
        *,
        body_seconds: float = BODY_SECONDS,
        gave_way: Callable[[], None] = lambda: None,
        late: Callable[[], None] = lambda: None,
    ) -> None:
        self.most = most
        self._name = name
        self._body_seconds = body_seconds
        self._gave_way = gave_way
        self._late = late
        self._open: dict[int, socket.socket] = {}
        self._fresh: dict[int, None] = {}  # without a request yet; the oldest first
        self._idle: dict[int, None] = {}  # idle after a response; the longest idle first
        self._logged_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def listen(self, host: str, port: int) -> socket.socket:
        """Return a listening socket whose connections are counted.

        Raises:
            OSError: The address is not available.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        plain = socket.create_server((host, port), family=family, backlog=BACKLOG)
        listening = _Listening(fileno=plain.detach())
        listening.connections = self
        return listening

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Mark the connection as busy, and close it if the body takes too long."""
        number = _number(request)
        self._fresh.pop(number, None)
        self._idle.pop(number, None)
        timer = None
        if not request.content.is_eof():
            loop = asyncio.get_running_loop()
            timer = loop.call_later(self._body_seconds, self._end_if_late, request)
        try:
            return await handler(request)
        finally:
            if timer is not None:
                timer.cancel()
            if number in self._open:
                self._idle[number] = None

    def opened(self, connection: socket.socket) -> bool:
        """Register a connection; return False if there is no room for it."""
        if len(self._open) >= self.most:
            self._gave_way()
            self._log_limit()
            if not self._make_room():
                return False
        self._open[connection.fileno()] = connection
        self._fresh[connection.fileno()] = None
        return True

    def closed(self, number: int) -> None:
        """Forget a connection; ``number`` was its file descriptor."""
        for connections in (self._open, self._fresh, self._idle):
            connections.pop(number, None)

    def _make_room(self) -> bool:
        """Close an idle connection, as if the other side had; return False if none is idle."""
        for idle in (self._fresh, self._idle):
            for number in idle:
                del idle[number]
                _shut(self._open[number])
                return True
        return False

    def _end_if_late(self, request: web.Request) -> None:
        transport = request.transport
        if transport is not None and not request.content.is_eof():
            self._late()
            log.warning("a body took too long", extra={"listener": self._name})
            transport.abort()

    def _log_limit(self) -> None:
        now = time.monotonic()
        if now - self._logged_at >= LOG_SECONDS:
            self._logged_at = now
            log.warning(
                "the limit of open connections is reached; idle ones are closed",
                extra={"listener": self._name, "most": self.most},
            )


class _Accepted(socket.socket):
    connections: Connections

    @override
    def close(self) -> None:
        number = self.fileno()
        super().close()
        if number >= 0:
            self.connections.closed(number)


class _Listening(socket.socket):
    connections: Connections

    @override
    def accept(self) -> tuple[socket.socket, Any]:
        """Accept as asyncio expects it; ConnectionAbortedError: it was refused."""
        plain, address = super().accept()
        accepted = _Accepted(fileno=plain.detach())
        accepted.connections = self.connections
        if not self.connections.opened(accepted):
            accepted.close()
            raise ConnectionAbortedError
        return accepted, address


def _number(request: web.Request) -> int:
    """Return the file descriptor of the connection; -1 if it has ended."""
    transport = request.transport
    connection = None if transport is None else transport.get_extra_info("socket")
    return -1 if connection is None else int(connection.fileno())


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has ended already
        return


class Site(web.SockSite):
    """Serves a runner's application on a listening socket.

    asyncio passes an accepted connection to its protocol one turn of the loop later. If the server
    is closed in between, CPython (3.11 to 3.13 at least) forgets the socket: it stays open, unused,
    until garbage collection. So this class first stops accepting, and closes one turn later.
    """

    def __init__(
        self, runner: web.BaseRunner, opened: socket.socket, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(runner, opened, ssl_context=tls)
        self._opened = opened

    @override
    async def stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._opened)
        await asyncio.sleep(0)
        await super().stop()
