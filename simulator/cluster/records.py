"""What came of a workload: a slim record of each job, of each placement, and of the machines."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from shared.model import NodeName


class JobRecord(Struct, frozen=True):
    """What became of one job; times in seconds from the start of the workload.

    Attributes:
        name: The job.
        submitted_at: When it came.
        started_at: When it first got nodes; None: never.
        completed_at: When its work was done; None: not within what was run.
        workers: With how many workers it first started; 0: never.
        nodes: On how many nodes it was then.
        waited_seconds: How long it had no nodes, over all its waits.
        ran_seconds: How long it had nodes, its pauses included.
        worker_seconds: The same, times its workers at the time: its attained service.
        work_done: Units of work that counted in the end.
        lost_work: Units of work that were done and lost.
        migrations: Pods that were moved.
        rescales: How often its number of pods was changed while it ran.
        preemptions: How often it lost its nodes.
    """

    name: str
    submitted_at: float
    started_at: float | None
    completed_at: float | None
    workers: int
    nodes: int
    waited_seconds: float
    ran_seconds: float
    worker_seconds: float
    work_done: float
    lost_work: float
    migrations: int
    rescales: int
    preemptions: int

    @property
    def completion_seconds(self) -> float | None:
        """From submission to completion; None if it did not complete."""
        return None if self.completed_at is None else self.completed_at - self.submitted_at

    @property
    def queueing_seconds(self) -> float | None:
        """From submission to its first start; None if it never started."""
        return None if self.started_at is None else self.started_at - self.submitted_at


class Placed(Struct, frozen=True):
    """A job was given these nodes: by ``start``, ``scale`` or ``move``."""

    at: float
    job: str
    by: str
    workers: tuple[NodeName, ...]
    servers: tuple[NodeName, ...]


class Run(Struct, frozen=True):
    """What came of a workload under one scheduler.

    Attributes:
        source: Where the workload comes from.
        ended_at: Last moment that was run; seconds from the start of the workload.
        jobs: A record of each job, in the order of the workload.
        placements: In the order in which they were made.
        utilisation: Which part of each resource the pods asked for, from the first submission to
            ``ended_at``, 0…1.
        looks: How often the scheduler was asked.
    """

    source: str
    ended_at: float
    jobs: tuple[JobRecord, ...]
    placements: tuple[Placed, ...]
    utilisation: Mapping[str, float]
    looks: int

    @property
    def completed(self) -> tuple[JobRecord, ...]:
        """The jobs that completed."""
        return tuple(job for job in self.jobs if job.completed_at is not None)

    def to_json(self) -> bytes:
        """Return the same bytes for the same run."""
        return msgspec.json.encode(self, order="deterministic")
