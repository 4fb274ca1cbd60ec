"""Caches of answers: entries that end, and answers that several callers share."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

KEPT_SECONDS: Final = 1.0
"""Age up to which an answer is shared."""
MOST_KEPT: Final = 32
"""Pages of lists, for each set of visible namespaces: each is a megabyte at most."""


@dataclass
class ExpiringCache(Generic[Key, Value]):
    """At most ``capacity`` values, each until a monotonic second; the least recently used go first.

    Its methods take the time instead of a clock: callers read it once for several caches.
    """

    capacity: int
    _entries: OrderedDict[Key, tuple[Value, float]] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key, monotonic: float) -> Value | None:
        """Return the value of a key; None if there is none, or if it has expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, until = entry
        if monotonic >= until:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: Key, value: Value, until: float) -> None:
        """Keep a value until the monotonic second ``until``."""
        self._entries[key] = value, until
        self._entries.move_to_end(key)
        if len(self._entries) > self.capacity:
            self._entries.popitem(last=False)


@dataclass
class SharedAnswers(Generic[Value]):
    """Answers that are used again for ``KEPT_SECONDS``: many readers of a list cost as much as one.

    At most one answer for each key is computed at a time; the other callers wait for it.
    """

    clock: Callable[[], float] = time.monotonic
    _answers: ExpiringCache[Hashable, Value] = field(
        default_factory=lambda: ExpiringCache(MOST_KEPT)
    )
    _computing: dict[Hashable, asyncio.Lock] = field(default_factory=dict)
    _waiting: dict[Hashable, int] = field(default_factory=dict)

    async def get(self, key: Hashable, compute: Callable[[], Awaitable[Value]]) -> Value:
        """Return an answer that is at most ``KEPT_SECONDS`` old, computed anew if there is none."""
        lock = self._computing.setdefault(key, asyncio.Lock())
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            async with lock:
                answer = self._answers.get(key, self.clock())
                if answer is None:
                    answer = await compute()
                    self._answers.put(key, answer, self.clock() + KEPT_SECONDS)
                return answer
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._computing[key]
