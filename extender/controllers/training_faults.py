"""The controller of training faults: a look at all reports every few seconds.

After the first write of a restart the next look follows soon: it deletes the pods.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from extender.controllers.base import Controller
from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.session import Session
from extender.core.records import hang_restarts
from extender.core.training_faults.decision import (
    TRAINING_FAULTS,
    TrainingFaultsDecision,
    TrainingFaultsOutcome,
    TrainingFaultsState,
    TrainingFaultsTrigger,
)
from extender.writers.execute import Executor
from extender.writers.owners import OwnerWriter

SOON_SECONDS: Final = 0.2


@dataclass(kw_only=True)
class TrainingFaultsController(
    Controller[TrainingFaultsState, TrainingFaultsTrigger, TrainingFaultsOutcome]
):
    """See the module.

    Attributes:
        executor: Deletes pods, and writes Events.
        owners: Writes restarts on owners.
        interval_seconds: Time between two looks.
    """

    decision: TrainingFaultsDecision = TRAINING_FAULTS
    executor: Executor
    owners: OwnerWriter
    interval_seconds: float
    _restarts: bool = field(init=False, default=False)

    @override
    async def wait(self) -> None:
        await asyncio.sleep(min(self.interval_seconds, SOON_SECONDS if self._restarts else 60.0))

    @override
    def trigger(self, session: Session) -> TrainingFaultsTrigger | None:
        """Return the trigger; None if nothing is looked for, and no restart was begun."""
        enabled = self.context.parameters.fault_detection.enabled
        looks = enabled and session.snapshot.reports
        if not looks and not any(hang_restarts.records(session.snapshot)):
            return None
        return TrainingFaultsTrigger()

    @override
    def take_over(self, session: Session, outcome: TrainingFaultsOutcome) -> None:
        super().take_over(session, outcome)
        present = (f.kind for faults in outcome.state.faults.values() for f in faults)
        self.context.metrics.training_faults.observe(outcome.begun, present)

    @override
    async def carry_out(self, outcome: TrainingFaultsOutcome) -> None:
        changes = [c for c in outcome.commands if isinstance(c, ChangeOwner)]
        others = [c for c in outcome.commands if not isinstance(c, ChangeOwner)]
        self._restarts = bool(changes)
        await self.owners.carry_out(changes)
        await self.executor.carry_out(others)

    @override
    def stand_by(self) -> None:
        if self.state.faults or self.state.windows:
            self.forget()
        self.context.metrics.training_faults.observe((), ())
