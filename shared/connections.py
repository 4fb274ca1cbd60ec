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
"""Of one listener."""
FILES_SHARE: Final = 0.25
"""At most this part of the files that the process may open, if nothing else is said."""
BODY_SECONDS: Final = 60.0
"""From the end of a request's headers to the end of its body."""
BACKLOG: Final = 128
TOLD_SECONDS: Final = 60.0
"""What a flood does is logged so often."""
log = logging.getLogger(__name__)


def most_connections(most: int = MOST_CONNECTIONS, share: float = FILES_SHARE) -> int:
    """Return how many connections a listener may have, within its share of the open files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else min(most, max(int(soft * share), 1))


class Connections:
    """See the module.

    Args:
        name: Of the listener, for the log.
        most: How many may be open; at least one.
        body_seconds: How long a body may take.
        gave_way: Told of each connection that was ended, or turned away, because of the limit.
        late: Told of each that was ended because a body took too long.
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
        self._fresh: dict[int, None] = {}  # asked for nothing yet; the oldest first
        self._resting: dict[int, None] = {}  # had an answer; the one that rests longest first
        self._told_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def listen(self, host: str, port: int) -> socket.socket:
        """Return a listening socket whose connections are counted.

        Raises:
            OSError: The address cannot be had.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        plain = socket.create_server((host, port), family=family, backlog=BACKLOG)
        found = _Listening(fileno=plain.detach())
        found.connections = self
        return found

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Know that a request is answered, and end it if its body takes too long."""
        number = _number(request)
        self._fresh.pop(number, None)
        self._resting.pop(number, None)
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
                self._resting[number] = None

    def opened(self, connection: socket.socket) -> bool:
        """Take a connection; say whether there was room for it, or could be made."""
        if len(self._open) >= self.most:
            self._gave_way()
            self._tell()
            if not self._make_room():
                return False
        self._open[connection.fileno()] = connection
        self._fresh[connection.fileno()] = None
        return True

    def closed(self, number: int) -> None:
        """Forget a connection; ``number`` was its file's."""
        for known in (self._open, self._fresh, self._resting):
            known.pop(number, None)

    def _make_room(self) -> bool:
        """Have the next one end: it is closed as if the other side had ended it."""
        for waiting in (self._fresh, self._resting):
            for number in waiting:
                del waiting[number]
                _shut(self._open[number])
                return True
        return False

    def _end_if_late(self, request: web.Request) -> None:
        transport = request.transport
        if transport is not None and not request.content.is_eof():
            self._late()
            log.warning("a body took too long", extra={"listener": self._name})
            transport.abort()

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told_at >= TOLD_SECONDS:
            self._told_at = now
            log.warning(
                "as many connections are open as may be; those that ask for nothing are ended",
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
        """Accept as asyncio wants it; ConnectionAbortedError: it was turned away."""
        plain, address = super().accept()
        accepted = _Accepted(fileno=plain.detach())
        accepted.connections = self.connections
        if not self.connections.opened(accepted):
            accepted.close()
            raise ConnectionAbortedError
        return accepted, address


def _number(request: web.Request) -> int:
    """Return the number of the connection's file; -1 if it has ended."""
    transport = request.transport
    found = None if transport is None else transport.get_extra_info("socket")
    return -1 if found is None else int(found.fileno())


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has ended already, and will be closed
        return


class Site(web.SockSite):
    """Serves a runner's application on a listening socket.

    asyncio gives an accepted connection to its protocol one turn of the loop later. If the server
    was closed in between, CPython (3.11 to 3.13 at least) forgets the socket: it stays open,
    answered by nobody, until garbage collection finds it. So this one first accepts nothing more,
    and closes when what was accepted is somebody's.
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
