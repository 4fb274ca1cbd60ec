"""Waiting until a condition is true, with a limit."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 60.0
"""A passing test never waits so long; a failing one must not fail because the machine is busy."""

_FIRST_PAUSE_SECONDS = 0.001
_MOST_PAUSE_SECONDS = 0.1


async def eventually(
    check: Callable[[], T | Awaitable[T]], within_seconds: float = PATIENCE_SECONDS, why: str = ""
) -> T:
    """Return the first truthy answer of ``check``; an AssertionError inside it means "not yet".

    Raises:
        AssertionError: It did not become true ``within_seconds``; has the last answer or failure.
    """
    deadline = time.monotonic() + within_seconds
    pause_seconds = _FIRST_PAUSE_SECONDS
    last: object = "never asked"
    while True:
        try:
            answer = check()
            value = await answer if inspect.isawaitable(answer) else answer
            if value:
                return value
            last = value
        except AssertionError as error:
            last = error
        if time.monotonic() >= deadline:
            raise AssertionError(f"not true within {within_seconds} s {why}: last was {last!r}")
        await asyncio.sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 2, _MOST_PAUSE_SECONDS)
