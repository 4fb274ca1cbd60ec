"""The controller of the gate: a look at the last pass of the queue, several times a second."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from extender.controllers.base import Controller
from extender.core.cluster.session import Session
from extender.core.gating.decision import (
    GATING,
    GatingDecision,
    GatingOutcome,
    GatingState,
    GatingTrigger,
    is_settled,
)
from extender.writers.gate_config import GateConfig


@dataclass(kw_only=True)
class GatingController(Controller[GatingState, GatingTrigger, GatingOutcome]):
    """See the module.

    Attributes:
        has_room: Returns True if no job lacks room, by the last pass of the queue.
        config: The ConfigMap that the admission policy reads.
        interval_seconds: Time between two looks.
    """

    decision: GatingDecision = GATING
    has_room: Callable[[], bool]
    config: GateConfig
    interval_seconds: float

    @override
    async def wait(self) -> None:
        await asyncio.sleep(self.interval_seconds)

    @override
    async def reconcile(self) -> None:
        if self.context.leads():
            await self.config.read()
        await super().reconcile()
        if self.config.gated is not None:
            self.context.metrics.queue.gated.set(self.config.gated)

    @override
    def trigger(self, session: Session) -> GatingTrigger | None:
        """Return the trigger; None if there is no such ConfigMap, or nothing has changed."""
        kept = self.config.gated
        if kept is None:
            return None
        trigger = GatingTrigger(lacks_room=not self.has_room(), kept=kept)
        return None if is_settled(session, self.state, trigger) else trigger

    @override
    async def carry_out(self, outcome: GatingOutcome) -> None:
        for command in outcome.commands:
            await self.config.write(gated=command.gated)

    @override
    def stand_by(self) -> None:
        self.config.forget()
        if self.state != GatingState():
            self.forget()
