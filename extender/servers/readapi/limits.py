"""How many questions to the read API may be open at a time: of one caller, and of all together.

It is passed before a body is read: nobody has bodies pile up here.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from extender.servers.auth.authorizer import SIGHT, WHAT_IF
from extender.servers.readapi.threads import too_busy

PREFIX: Final = "/v1/"
LONG: Final = frozenset({WHAT_IF, "/v1/explain", "/v1/prices"})
"""What is worked out for the one who asks; all else is told to many."""
MOST_LONG: Final = 16
MOST_LONG_EACH: Final = 4
"""Long questions are worked out one at a time; a what-if may take 20 s."""
MOST_SHORT: Final = 64
MOST_SHORT_EACH: Final = 16
SHARE_OF_UNNAMED: Final = 0.5
"""Callers without a token are one caller; they may have this part of all questions."""


@dataclass
class Gate:
    """One kind of questions: how many of them are open."""

    most: int
    most_each: int
    _open: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def passing(self, caller: str) -> Iterator[None]:
        """Hold a place; ``caller`` is empty for those who show no token.

        Raises:
            HTTPTooManyRequests: There is none.
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
class Turnstile:
    """The middleware; it comes behind the one that knows the caller."""

    long: Gate = field(default_factory=lambda: Gate(MOST_LONG, MOST_LONG_EACH))
    short: Gate = field(default_factory=lambda: Gate(MOST_SHORT, MOST_SHORT_EACH))

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let a question in while there is a place."""
        if not request.path.startswith(PREFIX):
            return await handler(request)
        sight = request.get(SIGHT)
        caller = "" if sight is None else sight.viewer.caller
        gate = self.long if request.path in LONG else self.short
        with gate.passing(caller):
            return await handler(request)
