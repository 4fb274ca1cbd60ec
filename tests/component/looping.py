"""Something that happens again and again beside a test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable


@contextlib.asynccontextmanager
async def looping(step: Callable[[], None], pause_seconds: float, name: str) -> AsyncIterator[None]:
    """Call ``step`` with pauses until the block ends."""

    async def live() -> None:
        while True:
            step()
            await asyncio.sleep(pause_seconds)

    task = asyncio.create_task(live(), name=name)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
