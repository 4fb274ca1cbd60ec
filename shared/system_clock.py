"""The machine's clocks (shell)."""

import time

from typing_extensions import override

from shared.clock import Clock


class SystemClock(Clock):
    """``time.time`` and ``time.monotonic``."""

    @override
    def now(self) -> float:
        return time.time()  # noqa: TID251 - this is the one place that reads the wall clock

    @override
    def monotonic(self) -> float:
        return time.monotonic()
