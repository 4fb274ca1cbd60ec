"""The loop of elastic jobs: open changes go on at once, new ones begin now and then."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.controllers.change_notifier import rung
from extender.core.cluster.session import Reading
from extender.core.elastic import decision
from extender.core.elastic.decision import RescaleLook, RescaleOccasion
from extender.core.elastic.state import Ended, RescaleMemory
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.core.records import rescale
from extender.metrics.extender import ExtenderMetrics
from extender.writers.decision_log.recorder import Recorder
from extender.writers.owners import OwnerWriter
from shared.clock import Clock
from shared.health import Heartbeat
from shared.ledgers import Declined

SETTLE_SECONDS: Final = 0.1
"""Pause after a change: workers come and leave one by one."""

OPEN_SECONDS: Final = 1.0
"""Open changes are looked at this often, for their deadlines."""


@dataclass
class RescaleLoop:
    """See the module.

    Attributes:
        queue: What the last scheduling cycle remembered.
        changed: Set when something changed; cleared here.
        interval_seconds: New changes are looked for this often.
    """

    writer: OwnerWriter
    recorder: Recorder
    parameters: CoreParameters
    clock: Clock
    acting: Callable[[], bool]
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    changed: asyncio.Event
    queue: Callable[[], QueueState]
    interval_seconds: float
    memory: RescaleMemory = field(default_factory=RescaleMemory)
    _due_at: float = 0.0

    async def run(self) -> None:
        """Look at elastic jobs; returns only by cancellation."""
        while True:
            await self._wait()
            self.heartbeat.beat()
            if not self.acting():
                self._stand_by()
            elif (look := self.decide()) is not None:
                await self.writer.mark(look.marks)
                await self.writer.carry_out(look.commands)

    def decide(self) -> RescaleLook | None:
        """Look once; None if nothing is open and it is not time to begin anything."""
        reading = Reading(self.clock.now(), self.clock.monotonic())
        due = reading.monotonic >= self._due_at
        snapshot = self.recorder.store.snapshot()
        open_count = len(rescale.of(snapshot).open)
        self.metrics.scaling.open.set(open_count)
        if not due and not open_count and not self.memory.open:
            return None
        if due:
            self._due_at = reading.monotonic + self.interval_seconds
        occasion, queue = RescaleOccasion(reading, due), self.queue()
        look = decision.look(snapshot, queue, self.memory, occasion, self.parameters)
        self.recorder.rescaled(occasion, queue, self.memory, look)
        self.memory = look.memory
        for ended in look.ended:
            self.metrics.scaling.observe(ended)
        return look

    def ledger(self) -> tuple[Sequence[Ended], Sequence[Declined]]:
        """Return changes that ended, oldest first, and the jobs that were not changed, by name."""
        declined = tuple(one for _, one in sorted(self.memory.declined.items()))
        return self.memory.ended, declined

    def _stand_by(self) -> None:
        """Forget: whoever acts meanwhile changes what was remembered here."""
        if self.memory.primed:
            self.recorder.start_anew()
        self.memory, self._due_at = RescaleMemory(), 0.0
        self.metrics.scaling.open.set(0)

    async def _wait(self) -> None:
        await rung(
            self.changed,
            within_seconds=min(OPEN_SECONDS, self.interval_seconds),
            settle_seconds=min(SETTLE_SECONDS, self.interval_seconds),
        )
