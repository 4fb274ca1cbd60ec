"""Judges start estimates: when a job starts, whether that was inside the band of its estimate.

It decides and writes nothing. Its memory is lost at a restart: starts whose estimates were made
before are not counted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from extender.core.queue import start_calibration
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.forecast import Estimate
from extender.core.queue.start_calibration import Kept
from extender.metrics.queue import StartMetrics
from shared.clock import Clock
from shared.health import Heartbeat
from shared.model import JobKey

INTERVAL_SECONDS: Final = 30.0
"""How often estimates are kept and starts are looked for; far less often than lists are read."""

BEAT_SECONDS: Final = 5.0
"""How often it gives a sign of life while estimates of a long queue are computed."""


@dataclass
class StartsLoop:
    """See the module.

    Attributes:
        last_cycle: Returns the last pass of the queue; None before the first, and on a standby.
        estimates: Returns start estimates, which may be a little older.
    """

    last_cycle: Callable[[], QueueOutcome | None]
    estimates: Callable[[QueueOutcome | None], Awaitable[Mapping[JobKey, Estimate]]]
    clock: Clock
    metrics: StartMetrics
    heartbeat: Heartbeat
    _kept: Kept = field(default_factory=dict)

    async def run(self) -> None:
        """Judge every ``INTERVAL_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            await self.judge()
            await asyncio.sleep(INTERVAL_SECONDS)

    async def judge(self) -> None:
        """Count the estimates of the jobs that have started, and keep those of the others."""
        cycle = self.last_cycle()
        if cycle is None:
            self._kept = {}
            return
        running = cycle.state.running
        for key, estimates in self._kept.items():
            if key in running:
                self.metrics.observe(start_calibration.judged(estimates, running[key]))
        now = self.clock.now()
        found = await self._estimates(cycle)
        waiting = {key: estimate for key, estimate in found.items() if key not in running}
        self._kept = start_calibration.kept(self._kept, waiting, now)

    async def _estimates(self, cycle: QueueOutcome) -> Mapping[JobKey, Estimate]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._computed(cycle))
            while not task.done():
                self.heartbeat.beat()
                await asyncio.wait({task}, timeout=BEAT_SECONDS)
        return task.result()

    async def _computed(self, cycle: QueueOutcome) -> Mapping[JobKey, Estimate]:
        return await self.estimates(cycle)
