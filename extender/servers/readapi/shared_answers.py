"""Answers that are told again for a moment: many who look at one list cost as much as one."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from extender.servers.auth.remembered import Remembered

Answer = TypeVar("Answer")

KEPT_SECONDS: Final = 1.0
MOST_KEPT: Final = 32
"""Pages of lists, by who sees what: each is a megabyte at most."""


@dataclass
class Lately(Generic[Answer]):
    """See the module. Of one question no more than one answer is made at a time."""

    clock: Callable[[], float] = time.monotonic
    _told: Remembered[Hashable, Answer] = field(default_factory=lambda: Remembered(MOST_KEPT))
    _making: dict[Hashable, asyncio.Lock] = field(default_factory=dict)
    _waiting: dict[Hashable, int] = field(default_factory=dict)

    async def of(self, question: Hashable, make: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return an answer that is at most ``KEPT_SECONDS`` old; ``make`` makes a new one."""
        line = self._making.setdefault(question, asyncio.Lock())
        self._waiting[question] = self._waiting.get(question, 0) + 1
        try:
            async with line:
                found = self._told.get(question, self.clock())
                if found is None:
                    found = await make()
                    self._told.put(question, found, self.clock() + KEPT_SECONDS)
                return found
        finally:
            self._waiting[question] -= 1
            if not self._waiting[question]:
                del self._waiting[question], self._making[question]
