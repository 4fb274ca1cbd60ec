"""The controller of training faults: a look at all reports every few seconds."""

import asyncio
from dataclasses import dataclass

from typing_extensions import override

from extender.controllers.base import Controller
from extender.core.cluster.session import Session
from extender.core.training_faults.decision import (
    TRAINING_FAULTS,
    TrainingFaultsDecision,
    TrainingFaultsOutcome,
    TrainingFaultsState,
    TrainingFaultsTrigger,
)
from extender.writers.events import EventWriter


@dataclass(kw_only=True)
class TrainingFaultsController(
    Controller[TrainingFaultsState, TrainingFaultsTrigger, TrainingFaultsOutcome]
):
    """See the module.

    Attributes:
        interval_seconds: Time between two looks.
    """

    decision: TrainingFaultsDecision = TRAINING_FAULTS
    events: EventWriter
    interval_seconds: float

    @override
    async def wait(self) -> None:
        await asyncio.sleep(self.interval_seconds)

    @override
    def trigger(self, session: Session) -> TrainingFaultsTrigger | None:
        """Return the trigger; None if no agent reports, or faults are not looked for."""
        enabled = self.context.parameters.fault_detection.enabled
        return TrainingFaultsTrigger() if enabled and session.snapshot.reports else None

    @override
    def take_over(self, session: Session, outcome: TrainingFaultsOutcome) -> None:
        super().take_over(session, outcome)
        present = (f.kind for faults in outcome.state.faults.values() for f in faults)
        self.context.metrics.training_faults.observe(outcome.begun, present)

    @override
    async def carry_out(self, outcome: TrainingFaultsOutcome) -> None:
        self.events.enqueue(outcome.commands)

    @override
    def stand_by(self) -> None:
        if self.state.faults or self.state.windows:
            self.forget()
        self.context.metrics.training_faults.observe((), ())
