"""Results of a run: a record of each job and placement, and the use of the machines."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from shared.model import NodeName


class JobRecord(Struct, frozen=True):
    """Result of one job; times in seconds from the start of the workload.

    Attributes:
        name: The job.
        submitted_at: Submission.
        started_at: When it first got nodes; None: never.
        completed_at: Completion; None: not within the run.
        workers: Number of workers at its first start; 0: never started.
        nodes: Number of nodes then.
        waited_seconds: Time without nodes, over all its waits.
        ran_seconds: Time with nodes, pauses included.
        worker_seconds: The same, times its workers at the time: its attained service.
        work_done: Units of work that counted in the end.
        lost_work: Units of work that were done and lost.
        migrations: Pods that were moved.
        rescales: Changes of its number of pods while it ran.
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
        """From submission to the first start; None if it never started."""
        return None if self.started_at is None else self.started_at - self.submitted_at


class Placed(Struct, frozen=True):
    """The nodes that a job got; ``by`` is ``start``, ``scale`` or ``move``."""

    at: float
    job: str
    by: str
    workers: tuple[NodeName, ...]
    servers: tuple[NodeName, ...]


class Run(Struct, frozen=True):
    """Results of a workload under one scheduler.

    Attributes:
        source: Where the workload comes from.
        ended_at: End of the run; seconds from the start of the workload.
        jobs: A record of each job, in the order of the workload.
        placements: In the order in which they were made.
        utilisation: Mean share of each resource that the pods requested, from the first submission
            to ``ended_at``, 0…1.
        decisions: How often the scheduler was called.
    """

    source: str
    ended_at: float
    jobs: tuple[JobRecord, ...]
    placements: tuple[Placed, ...]
    utilisation: Mapping[str, float]
    decisions: int

    @property
    def completed(self) -> tuple[JobRecord, ...]:
        """The jobs that completed."""
        return tuple(job for job in self.jobs if job.completed_at is not None)

    def to_json(self) -> bytes:
        """Return the run as JSON, the same bytes for the same run."""
        return msgspec.json.encode(self, order="deterministic")
