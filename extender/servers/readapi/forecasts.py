"""Start estimates for the read API, worked out beside the loop, and not with every question."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import forecast
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.forecast import Estimate
from extender.servers.readapi.threads import Threads
from extender.store.source import SnapshotSource
from shared.clock import Clock
from shared.model import JobKey

LEAST_PAUSE_SECONDS: Final = 3.0
PAUSE_RATIO: Final = 9.0
"""Pause after a computation, in times of how long it took: it takes a tenth of a core at most."""


@dataclass
class Foresight:
    """See the module: what was worked out last is told until it is worked out again."""

    store: SnapshotSource
    parameters: CoreParameters
    clock: Clock
    threads: Threads = field(default_factory=lambda: Threads("estimates", most_waiting=1))
    _told: Mapping[JobKey, Estimate] = field(default_factory=dict)
    _again_at: float = 0.0
    _busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of(self, cycle: QueueOutcome | None) -> Mapping[JobKey, Estimate]:
        """Return the estimates for the queue of a cycle, or of one shortly before."""
        if cycle is None:
            return {}
        async with self._busy:
            began = self.clock.monotonic()
            if began >= self._again_at:
                try:
                    self._told = await self._worked_out(cycle, began)
                finally:  # also if whoever asked has gone away
                    ended = self.clock.monotonic()
                    pause_seconds = max(LEAST_PAUSE_SECONDS, PAUSE_RATIO * (ended - began))
                    self._again_at = ended + pause_seconds
        return self._told

    async def _worked_out(self, cycle: QueueOutcome, began: float) -> Mapping[JobKey, Estimate]:
        reading = Reading(now=self.clock.now(), monotonic=began)
        session = Session(self.store.snapshot(), reading, self.parameters)
        return await self.threads.run(lambda: forecast.estimates(session, cycle))
