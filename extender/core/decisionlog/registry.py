"""All decisions, by their kind in the decision log. A new decision needs one line here."""

from collections.abc import Mapping
from typing import Any, Final

from extender.core.checkpoint_notes.decision import CHECKPOINT_NOTES
from extender.core.cluster.session import Decision
from extender.core.cpu_shares.decision import CPU_SHARES
from extender.core.elastic.decision import ELASTIC
from extender.core.gating.decision import GATING
from extender.core.migration import gang_moves
from extender.core.migration.decision import MIGRATION
from extender.core.node_loss.decision import NODE_LOSS
from extender.core.preemption import by_cause, drains, manual, moves, priority
from extender.core.preemption.decision import PreemptionDecision
from extender.core.pricing.decision import PRICING
from extender.core.queue.decision import QUEUE
from extender.core.scheduler.burst import BURST
from extender.core.scheduler.requests import FILTER, PRIORITIZE
from extender.core.training_faults.decision import TRAINING_FAULTS

PREEMPTION: Final = PreemptionDecision(
    prompt=(manual.proposals, drains.proposals, moves.proposals),
    searching=(
        *(one.proposals for one in by_cause.IN_TURN),
        gang_moves.proposing(priority.may_leave),
    ),
)
"""Parking, with everything that proposes it. A further cause of parking needs one entry here."""

DECISIONS: Final[Mapping[str, Decision[Any, Any, Any]]] = {
    decision.name: decision
    for decision in (
        QUEUE,
        MIGRATION,
        ELASTIC,
        PREEMPTION,
        CPU_SHARES,
        PRICING,
        TRAINING_FAULTS,
        CHECKPOINT_NOTES,
        NODE_LOSS,
        GATING,
        FILTER,
        PRIORITIZE,
        BURST,
    )
}
