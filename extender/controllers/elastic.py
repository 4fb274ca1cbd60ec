"""The controller of elastic jobs: open changes go on at once, new ones begin at intervals."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from extender.controllers.base import Controller, changed
from extender.core.cluster.session import Session
from extender.core.elastic.decision import (
    ELASTIC,
    ElasticDecision,
    ElasticOutcome,
    ElasticTrigger,
)
from extender.core.elastic.state import ElasticState, Ended
from extender.core.records import rescale
from extender.writers.owners import OwnerWriter
from shared.readapi.ledgers import Declined

SETTLE_SECONDS: Final = 0.1
"""Pause after a change: workers come and leave one by one."""

OPEN_SECONDS: Final = 1.0
"""A pass for open changes is due this often, for their deadlines."""


@dataclass(kw_only=True)
class ElasticController(Controller[ElasticState, ElasticTrigger, ElasticOutcome]):
    """See the module.

    Attributes:
        changed: Set when something changed; cleared here.
        interval_seconds: New changes of workers may begin this often.
    """

    decision: ElasticDecision = ELASTIC
    writer: OwnerWriter
    changed: asyncio.Event
    interval_seconds: float
    _due_at: float = field(init=False, default=0.0)

    @override
    async def wait(self) -> None:
        await changed(
            self.changed,
            within_seconds=min(OPEN_SECONDS, self.interval_seconds),
            settle_seconds=min(SETTLE_SECONDS, self.interval_seconds),
        )

    @override
    def trigger(self, session: Session) -> ElasticTrigger | None:
        """Return the trigger; None if nothing is open and no change may begin yet."""
        due = session.monotonic >= self._due_at
        open_count = len(rescale.rescale_records(session.snapshot).open)
        self.context.metrics.scaling.open.set(open_count)
        if not due and not open_count and not self.state.open:
            return None
        if due:
            self._due_at = session.monotonic + self.interval_seconds
        return ElasticTrigger(due)

    @override
    def take_over(self, session: Session, outcome: ElasticOutcome) -> None:
        super().take_over(session, outcome)
        for ended in outcome.ended:
            self.context.metrics.scaling.observe(ended)

    @override
    async def carry_out(self, outcome: ElasticOutcome) -> None:
        await self.writer.mark(outcome.marks)
        await self.writer.carry_out(outcome.commands)

    def ledger(self) -> tuple[Sequence[Ended], Sequence[Declined]]:
        """Return changes that ended, oldest first, and the jobs that were not changed, by name."""
        declined = tuple(declined for _, declined in sorted(self.state.declined.items()))
        return self.state.ended, declined

    @override
    def stand_by(self) -> None:
        self._due_at = 0.0
        if self.state.primed:
            self.forget()
        self.context.metrics.scaling.open.set(0)
