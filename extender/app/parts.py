"""What runs in one process: its loops and listeners, and how they end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from extender.app.listeners import Listener


class Loop(Protocol):
    """An endless activity; the process ends if it fails."""

    async def run(self) -> None:
        """Run until cancelled."""
        ...


@dataclass(frozen=True)
class Parts:
    """All parts, ready to run.

    Attributes:
        farewell: The last step on SIGTERM, while the loops still run.
        release: Lets another replica lead; called when no part of this one runs any more.
    """

    loops: tuple[Loop, ...]
    listeners: tuple[Listener, ...]
    farewell: Callable[[], Awaitable[None]]
    release: Callable[[], Awaitable[None]]
