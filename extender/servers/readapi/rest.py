"""A pause after work that takes long, so that whoever asks for it again and again gets half a core.

Deciding, and answering kube-scheduler, share the interpreter with it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from shared.clock import Clock


@dataclass
class Rest:
    """One turn after the other; before each a pause as long as the one before took."""

    _again_at: float = 0.0
    _line: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def turn(self, clock: Clock) -> AsyncIterator[None]:
        """Wait for a turn, and hold it; ``clock`` says how long it takes."""
        async with self._line:
            await asyncio.sleep(max(0.0, self._again_at - clock.monotonic()))
            began = clock.monotonic()
            try:
                yield
            finally:
                ended = clock.monotonic()
                self._again_at = ended + (ended - began)
