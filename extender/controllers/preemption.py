"""The controller of parkings: open ones go on at once, new ones are searched for at intervals."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from extender.controllers.base import Controller, changed
from extender.core.cluster.session import Session
from extender.core.decisionlog.registry import PREEMPTION
from extender.core.preemption.decision import (
    PreemptionDecision,
    PreemptionOutcome,
    PreemptionTrigger,
)
from extender.core.preemption.state import PreemptionState
from extender.core.records import parking
from extender.core.records.parking import Parking
from extender.writers.drain_budgets import DrainBudgetWriter
from extender.writers.events import EventWriter
from extender.writers.evictions import EvictionWriter
from extender.writers.owners import OwnerWriter
from shared.readapi.ledgers import Declined

SETTLE_SECONDS: Final = 0.1
"""Pause after a change: pods come and leave one by one."""

OPEN_SECONDS: Final = 1.0
"""A pass for open parkings is due this often, for their deadlines."""


@dataclass(kw_only=True)
class PreemptionController(Controller[PreemptionState, PreemptionTrigger, PreemptionOutcome]):
    """See the module.

    Attributes:
        writer: Writes records and suspensions.
        events: Writes Events.
        evictions: Reports to evictions.
        budgets: Writes our PodDisruptionBudgets.
        changed: Set when something changed; cleared here.
        interval_seconds: Searches are made this often.
    """

    decision: PreemptionDecision = PREEMPTION
    writer: OwnerWriter
    events: EventWriter
    evictions: EvictionWriter
    budgets: DrainBudgetWriter
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
    def trigger(self, session: Session) -> PreemptionTrigger | None:
        """Return the trigger; None if nothing is open and nothing may begin yet."""
        due = session.monotonic >= self._due_at
        is_open = bool(parking.parking_records(session.snapshot).open) or bool(self.state.open)
        if not due and not is_open and not self.decision.is_prompted(session, self.state):
            return None
        if due:
            self._due_at = session.monotonic + self.interval_seconds
        return PreemptionTrigger(due)

    @override
    def take_over(self, session: Session, outcome: PreemptionOutcome) -> None:
        super().take_over(session, outcome)
        phases = (one.phase for one in outcome.state.open.values())
        metrics = self.context.metrics.parking
        metrics.observe(outcome.ended, phases, outcome.measured)
        ours = sum(budget.ours for budget in session.snapshot.budgets.values())
        metrics.observe_budgets(ours, outcome.state.without_budget.values())

    @override
    async def carry_out(self, outcome: PreemptionOutcome) -> None:
        self.events.enqueue(outcome.events)
        await self.budgets.carry_out(outcome.budgets)
        await self.writer.carry_out(outcome.commands)
        await self.evictions.carry_out(outcome.answers)

    def ledger(self) -> tuple[Sequence[Parking], Sequence[Declined]]:
        """Return parkings that ended, oldest first, and the jobs that were not parked, by name."""
        declined = tuple(one for _, one in sorted(self.state.declined.items()))
        return self.state.ended, declined

    @override
    def stand_by(self) -> None:
        self._due_at = 0.0
        if self.state.primed:
            self.forget()
        self.context.metrics.parking.observe((), ())
        self.context.metrics.parking.observe_budgets(0, ())
