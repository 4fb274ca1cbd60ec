"""Who proposes changes of workers: slot plans first, then DRS for jobs without one."""

from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import proposals as elastic_proposals
from extender.core.elastic import slot_plan_proposals
from extender.core.elastic.speeds import SpeedMemory
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.core.records.rescale import Proposal


def proposals(
    snapshot: Snapshot,
    queue: QueueState,
    speeds: SpeedMemory,
    reading: Reading,
    params: CoreParameters,
) -> tuple[Proposal, ...]:
    """Return what should change now, what matters most in front."""
    planned = slot_plan_proposals.proposals(snapshot, reading, params)
    return (*planned, *elastic_proposals.proposals(snapshot, queue, speeds, reading, params))
