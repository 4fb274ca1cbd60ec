"""The controller of lost nodes: a look at unreachable nodes every few seconds."""

import asyncio
from dataclasses import dataclass

from typing_extensions import override

from extender.controllers.base import Controller
from extender.core.cluster.session import Session
from extender.core.node_loss import decision as node_loss
from extender.core.node_loss.decision import (
    NODE_LOSS,
    NodeLossDecision,
    NodeLossOutcome,
    NodeLossState,
    NodeLossTrigger,
)
from extender.writers.execute import Executor


@dataclass(kw_only=True)
class NodeLossController(Controller[NodeLossState, NodeLossTrigger, NodeLossOutcome]):
    """See the module.

    Attributes:
        executor: Deletes pods, and writes Events.
        interval_seconds: Time between two looks.
    """

    decision: NodeLossDecision = NODE_LOSS
    executor: Executor
    interval_seconds: float

    @override
    async def wait(self) -> None:
        await asyncio.sleep(self.interval_seconds)

    @override
    def trigger(self, session: Session) -> NodeLossTrigger | None:
        """Return the trigger; None if every node is reachable, and was in the last pass."""
        if not node_loss.is_due(session.snapshot) and self.state == NodeLossState():
            return None
        return NodeLossTrigger()

    @override
    def take_over(self, session: Session, outcome: NodeLossOutcome) -> None:
        super().take_over(session, outcome)
        self.context.metrics.cluster.unfenced_pods.set(outcome.waiting)

    @override
    async def carry_out(self, outcome: NodeLossOutcome) -> None:
        await self.executor.carry_out(outcome.commands)

    @override
    def stand_by(self) -> None:
        if self.state != NodeLossState():
            self.forget()
        self.context.metrics.cluster.unfenced_pods.set(0)
