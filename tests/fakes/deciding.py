"""Passes of decisions without a controller."""

from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QUEUE, QueueOutcome
from extender.core.queue.state import QueueState, QueueTrigger


def queue_pass(
    snapshot: Snapshot,
    state: QueueState,
    reading: Reading,
    parameters: CoreParameters,
    *,
    bursts: bool = False,
) -> QueueOutcome:
    """Return one pass of the queue since which only the snapshot has changed."""
    session = Session(snapshot, reading, parameters)
    return QUEUE.decide(session, state, QueueTrigger(bursts=bursts))
