"""Limits on the requests to the read API that are open at a time: of one caller, and of all.

They are checked before a body is read, so that bodies cannot pile up here.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from extender.servers.auth.authorizer import VISIBILITY, WHAT_IF
from extender.servers.threads import too_busy

PREFIX: Final = "/v1/"
STREAM: Final = "/v1/updates"
"""Streams stay open for minutes and cost little each: they are counted apart."""
MOST_STREAMS: Final = 256
MOST_STREAMS_EACH: Final = 32
LONG: Final = frozenset({WHAT_IF, "/v1/explain", "/v1/prices"})
"""Requests whose answers are computed for one caller; all other answers are shared."""
MOST_LONG: Final = 16
MOST_LONG_EACH: Final = 4
"""Long requests are answered one at a time; a what-if may take 20 s."""
MOST_SHORT: Final = 64
MOST_SHORT_EACH: Final = 16
SHARE_OF_UNNAMED: Final = 0.5
"""Callers without a token are one caller; they may have this part of all requests."""


@dataclass
class OpenRequests:
    """Counts the open requests of one kind."""

    most: int
    most_each: int
    _open: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def admitted(self, caller: str) -> Iterator[None]:
        """Count a request while it is open; ``caller`` is empty for those without a token.

        Raises:
            HTTPTooManyRequests: There are too many.
        """
        most_each = self.most_each if caller else int(self.most * SHARE_OF_UNNAMED)
        if self._open[caller] >= most_each:
            raise too_busy(f"an answer to {caller or 'callers without a token'}")
        if self._open.total() >= self.most:
            raise too_busy("an answer")
        self._open[caller] += 1
        try:
            yield
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]


@dataclass
class RequestLimits:
    """The middleware; it comes after the authorizer, which finds the caller."""

    long: OpenRequests = field(default_factory=lambda: OpenRequests(MOST_LONG, MOST_LONG_EACH))
    short: OpenRequests = field(default_factory=lambda: OpenRequests(MOST_SHORT, MOST_SHORT_EACH))
    streams: OpenRequests = field(
        default_factory=lambda: OpenRequests(MOST_STREAMS, MOST_STREAMS_EACH)
    )

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Handle a request unless too many are open."""
        if not request.path.startswith(PREFIX):
            return await handler(request)
        visibility = request.get(VISIBILITY)
        caller = "" if visibility is None else visibility.viewer.caller
        requests = self.long if request.path in LONG else self.short
        requests = self.streams if request.path == STREAM else requests
        with requests.admitted(caller):
            return await handler(request)
