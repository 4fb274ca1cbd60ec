"""Who proposes changes of workers: slot plans first, then DRS for jobs without one."""

from extender.engine.admission import slotting
from extender.engine.memory import Memory, Reading
from extender.engine.parameters import EngineParameters
from extender.engine.scaling import proposing
from extender.engine.scaling.proposal import Proposal
from extender.engine.scaling.speed_samples import SpeedMemory
from extender.engine.snapshot import Snapshot


def proposals(
    snapshot: Snapshot,
    queue: Memory,
    speeds: SpeedMemory,
    reading: Reading,
    params: EngineParameters,
) -> tuple[Proposal, ...]:
    """Return what should change now, what matters most in front."""
    planned = slotting.proposals(snapshot, reading, params)
    return (*planned, *proposing.proposals(snapshot, queue, speeds, reading, params))
