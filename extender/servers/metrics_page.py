"""The text behind ``/metrics``: made in a thread, by one request at a time, kept for a second.

Rendering thousands of series takes many milliseconds that the event loop does not have.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from extender.metrics.extender import ExtenderMetrics

KEPT_SECONDS: Final = 1.0


@dataclass
class MetricsPage:
    """See the module."""

    metrics: ExtenderMetrics
    _text: bytes = b""
    _made_at: float = 0.0
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def text(self) -> bytes:
        """Return the metrics in Prometheus' text format, at most ``KEPT_SECONDS`` old."""
        async with self._making:
            if not self._text or time.monotonic() - self._made_at >= KEPT_SECONDS:
                self._text = await asyncio.to_thread(self.metrics.render)
                self._made_at = time.monotonic()
            return self._text
