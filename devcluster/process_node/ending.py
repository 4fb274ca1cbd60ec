"""A request to end, with a deadline."""

import asyncio
import math
from collections.abc import Coroutine
from typing import Any

from shared.clock import Clock


class Ending:
    """A request to end whose deadline can only become earlier.

    Args:
        clock: Measures the deadline.
    """

    def __init__(self, clock: Clock) -> None:
        self.requested = asyncio.Event()
        self._nearer = asyncio.Event()
        self._clock = clock
        self._deadline = math.inf

    def request(self, grace_seconds: float) -> None:
        """Ask to end within ``grace_seconds`` from now, or at an earlier deadline."""
        deadline = self._clock.monotonic() + grace_seconds
        if deadline < self._deadline:
            self._deadline = deadline
            self._nearer.set()
        self.requested.set()

    @property
    def remaining_seconds(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self._deadline - self._clock.monotonic())

    async def pause(self, seconds: float) -> bool:
        """Sleep; True at once when the end is requested."""
        try:
            async with asyncio.timeout(seconds):
                await self.requested.wait()
        except TimeoutError:
            return False
        return True

    async def deadline(self) -> None:
        """Return when the time is over, however often it was shortened."""
        while self.remaining_seconds > 0:
            self._nearer.clear()
            try:
                async with asyncio.timeout(self.remaining_seconds):
                    await self._nearer.wait()
            except TimeoutError:
                return


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when one of them is done; the others are cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(wait) for wait in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
