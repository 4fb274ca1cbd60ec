"""The controller of migrations: open ones go on after a change, new ones begin at intervals."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from extender.controllers.base import Controller, changed
from extender.core.cluster.session import Session
from extender.core.migration.commands import CommandResult
from extender.core.migration.decision import (
    MIGRATION,
    MigrationDecision,
    MigrationOutcome,
    MigrationState,
    MigrationTrigger,
)
from extender.writers.migrations import MigrationWriter
from shared.readapi.ledgers import Declined

SETTLE_SECONDS: Final = 0.1
"""Pause after a change: each phase makes several of them."""

OPEN_SECONDS: Final = 1.0
"""A pass for open migrations is due this often, for their deadlines."""


@dataclass(kw_only=True)
class MigrationController(Controller[MigrationState, MigrationTrigger, MigrationOutcome]):
    """See the module.

    Attributes:
        installed: Whether the Migration resource is there.
        changed: Set when something changed; cleared here.
        interval_seconds: New migrations may begin this often.
    """

    decision: MigrationDecision = MIGRATION
    mover: MigrationWriter
    installed: Callable[[], bool]
    changed: asyncio.Event
    interval_seconds: float
    _results: tuple[CommandResult, ...] = field(init=False, default=())
    _choose_at: float = field(init=False, default=0.0)

    @override
    async def wait(self) -> None:
        await changed(
            self.changed,
            within_seconds=min(OPEN_SECONDS, self.interval_seconds),
            settle_seconds=min(SETTLE_SECONDS, self.interval_seconds),
        )

    @override
    def trigger(self, session: Session) -> MigrationTrigger | None:
        """Return the trigger; None if nothing is open and no new migration may begin yet."""
        choose = session.monotonic >= self._choose_at
        open_count = sum(migration.open for migration in session.snapshot.migrations.values())
        self.context.metrics.moves.migrating_jobs.set(open_count)
        if not choose and not open_count and not self._results:
            return None
        if choose:
            self._choose_at = session.monotonic + self.interval_seconds
        results, self._results = self._results, ()
        return MigrationTrigger(choose, self.installed(), results)

    @override
    async def carry_out(self, outcome: MigrationOutcome) -> None:
        self._results = await self.mover.carry_out(outcome.commands)

    def declined(self) -> Sequence[Declined]:
        """Return the jobs that were not moved by the last pass that could, by name."""
        return tuple(declined for _, declined in sorted(self.state.declined.items()))

    @override
    def stand_by(self) -> None:
        self._results, self._choose_at = (), 0.0
        self.forget()
        self.context.metrics.moves.migrating_jobs.set(0)
