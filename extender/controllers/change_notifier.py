"""One event that several loops wait for, each on its own copy, which it clears itself."""

import asyncio

from typing_extensions import override


class ChangeNotifier(asyncio.Event):
    """Sets every follower with itself."""

    def __init__(self) -> None:
        super().__init__()
        self._followers: list[asyncio.Event] = []

    def follower(self) -> asyncio.Event:
        """Return an event that is set whenever this one is."""
        follower = asyncio.Event()
        self._followers.append(follower)
        return follower

    @override
    def set(self) -> None:
        """Wake all."""
        super().set()
        for follower in self._followers:
            follower.set()


async def changed(event: asyncio.Event, *, within_seconds: float, settle_seconds: float) -> None:
    """Return when an event was set, or after ``within_seconds`` without.

    What was set is cleared ``settle_seconds`` later, so that a burst of changes is seen at once.
    """
    try:
        async with asyncio.timeout(within_seconds):
            await event.wait()
    except TimeoutError:
        return
    await asyncio.sleep(settle_seconds)
    event.clear()
