"""The migration loop: open migrations go on when something changed, new ones begin now and then."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.controllers.change_notifier import rung
from extender.core.cluster.session import Reading
from extender.core.migration import decision
from extender.core.migration.commands import Outcome
from extender.core.migration.decision import Look, MigrationMemory, Occasion
from extender.core.parameters.migration import MigrationParameters
from extender.metrics.extender import ExtenderMetrics
from extender.writers.decision_log.recorder import Recorder
from extender.writers.migrations import Mover
from shared.clock import Clock
from shared.health import Heartbeat
from shared.ledgers import Declined

SETTLE_SECONDS: Final = 0.1
"""Pause after a change: each phase makes several of them."""

OPEN_SECONDS: Final = 1.0
"""Open migrations are looked at this often, for their deadlines."""


@dataclass
class MigrateLoop:
    """See the module.

    Attributes:
        installed: Whether the Migration resource is there.
        changed: Set when something changed; cleared here.
        interval_seconds: New migrations are looked for this often.
    """

    mover: Mover
    recorder: Recorder
    parameters: MigrationParameters
    clock: Clock
    acting: Callable[[], bool]
    installed: Callable[[], bool]
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    changed: asyncio.Event
    interval_seconds: float
    memory: MigrationMemory = field(default_factory=MigrationMemory)
    _outcomes: tuple[Outcome, ...] = ()
    _choose_at: float = 0.0

    async def run(self) -> None:
        """Look at migrations; returns only by cancellation."""
        while True:
            await self._wait()
            self.heartbeat.beat()
            if not self.acting():
                self._stand_by()
            elif (look := self.decide()) is not None:
                self._outcomes = await self.mover.carry_out(look.commands)

    def decide(self) -> Look | None:
        """Look at all migrations once; None if nothing is open and it is not time to choose."""
        reading = Reading(self.clock.now(), self.clock.monotonic())
        choose = reading.monotonic >= self._choose_at
        snapshot = self.recorder.store.snapshot()
        open_count = sum(migration.open for migration in snapshot.migrations.values())
        self.metrics.moves.migrating_jobs.set(open_count)
        if not choose and not open_count and not self._outcomes:
            return None
        if choose:
            self._choose_at = reading.monotonic + self.interval_seconds
        occasion = Occasion(reading, choose, self.installed(), self._outcomes)
        look = decision.look(snapshot, self.memory, occasion, self.parameters)
        self.recorder.looked(occasion, self.memory, look)
        self.memory, self._outcomes = look.memory, ()
        return look

    def declined(self) -> Sequence[Declined]:
        """Return the jobs that were not moved when they were looked at last, by name."""
        return tuple(declined for _, declined in sorted(self.memory.declined.items()))

    def _stand_by(self) -> None:
        """Forget: whoever acts meanwhile changes what was remembered here."""
        self.memory, self._outcomes, self._choose_at = MigrationMemory(), (), 0.0
        self.recorder.start_anew()
        self.metrics.moves.migrating_jobs.set(0)

    async def _wait(self) -> None:
        await rung(
            self.changed,
            within_seconds=min(OPEN_SECONDS, self.interval_seconds),
            settle_seconds=min(SETTLE_SECONDS, self.interval_seconds),
        )
