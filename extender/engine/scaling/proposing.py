"""What DRS proposes for jobs without a slot plan (docs/policies/scaling.md)."""

from extender.engine.memory import Memory, Reading
from extender.engine.parameters import EngineParameters
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
    """Return which jobs should have more workers, or fewer; the same arguments, the same answer.

    Args:
        snapshot: The cluster.
        queue: What the last cycle remembered: the same cycle says here who waits for room.
        speeds: How fast jobs trained so far (``speeds.learned``).
        reading: Now.
        params: All of them: the seats are those of the planner.
    """
    return ()
