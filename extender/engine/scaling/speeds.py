"""How fast elastic jobs train with how many workers, learned from what agents report."""

from extender.engine.jobs import Job
from extender.engine.memory import Reading
from extender.engine.parameters import EngineParameters
from extender.engine.scaling.elastic_jobs import Pace
from extender.engine.scaling.speed_samples import SpeedMemory
from extender.engine.snapshot import Snapshot


def learned(
    memory: SpeedMemory, snapshot: Snapshot, reading: Reading, stale_seconds: float
) -> SpeedMemory:
    """Return the memory with what has been reported since; once in every look."""
    return memory


def pace(
    snapshot: Snapshot, job: Job, memory: SpeedMemory, reading: Reading, params: EngineParameters
) -> Pace:
    """Return what is known of a job's training now."""
    return Pace()
