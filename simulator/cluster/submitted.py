"""State of a job in the cluster model, from submission to completion."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from shared.model import NodeName, Pod
from simulator.cluster.actions import SERVER, WORKER, Placement
from simulator.cluster.decider import JobSpec, JobView
from simulator.cluster.records import JobRecord
from simulator.cluster.running import Running
from simulator.workload import Job

Role = tuple[str, int]
"""Role and index of a pod."""


@dataclass(slots=True)
class SubmittedJob:
    """A submitted job.

    Attributes:
        job: As the workload has it.
        spec: What its owner wrote.
        pods: Those that are in the store.
        waits_since: Since when it has no nodes; valid while it waits.
        generation: How often its pods were recreated.
        done: Units of work done in earlier runs.
        running: Its current run; None while it waits.
        waiting_view: What a scheduler sees while it waits; None until that is computed.
    """

    job: Job
    spec: JobSpec
    pods: dict[Role, Pod]
    waits_since: float
    generation: int = 0
    done: float = 0.0
    running: Running | None = None
    started_at: float | None = None
    first_workers: int = 0
    first_nodes: int = 0
    waited_seconds: float = 0.0
    ran_seconds: float = 0.0
    worker_seconds: float = 0.0
    lost_work: float = 0.0
    migrations: int = 0
    rescales: int = 0
    preemptions: int = 0
    waiting_view: JobView | None = field(default=None, repr=False)

    def begin(self, at: float, placement: Placement) -> Running:
        """Begin a run, and return it."""
        self.waited_seconds += at - self.waits_since
        if self.started_at is None:
            self.started_at = at
            self.first_workers, self.first_nodes = len(placement.workers), len(placement.nodes)
        self.running = Running(
            self.job, placement, self.done, at,
            ran_seconds=self.ran_seconds, worker_seconds=self.worker_seconds,
        )  # fmt: skip
        self.waiting_view = None
        return self.running

    def halt(self, at: float) -> None:
        """Add up the run that ends now."""
        if self.running is not None:
            self.done = self.running.done
            self.ran_seconds, self.worker_seconds = (
                self.running.ran_seconds,
                self.running.worker_seconds,
            )
        self.running, self.waits_since = None, at

    def view(self, at: float, *, oracle: bool) -> JobView:
        """Return what a scheduler sees; for a waiting job the same object until it starts."""
        if self.running is None:
            if self.waiting_view is None:
                self.waiting_view = self._make_view(at, oracle=oracle)
            return self.waiting_view
        self.running.settle(at)
        return self._make_view(at, oracle=oracle)

    def _make_view(self, at: float, *, oracle: bool) -> JobView:
        running, curve = self.running, self.job.curve
        done = self.done if running is None else running.done
        share = None if curve is None else min(1.0, done / self.job.work if self.job.work else 1.0)
        return JobView(
            spec=self.spec,
            placement=None if running is None else running.placement,
            pausing=running is not None and running.resume_at > at,
            started_at=self.started_at,
            ran_seconds=self.ran_seconds if running is None else running.ran_seconds,
            worker_seconds=self.worker_seconds if running is None else running.worker_seconds,
            preemptions=self.preemptions,
            share=share,
            loss=None if curve is None or not share else curve.loss(share),
            truth=self.job if oracle else None,
        )

    def record(self, at: float, *, completed: bool) -> JobRecord:
        """Return its record up to ``at``; a run must be settled."""
        waits = 0.0 if completed or self.running is not None else at - self.waits_since
        running = self.running
        return JobRecord(
            name=self.job.name,
            submitted_at=self.job.submitted_at,
            started_at=self.started_at,
            completed_at=at if completed else None,
            workers=self.first_workers,
            nodes=self.first_nodes,
            waited_seconds=self.waited_seconds + waits,
            ran_seconds=self.ran_seconds if running is None else running.ran_seconds,
            worker_seconds=self.worker_seconds if running is None else running.worker_seconds,
            work_done=self.done if running is None else running.done,
            lost_work=self.lost_work,
            migrations=self.migrations,
            rescales=self.rescales,
            preemptions=self.preemptions,
        )


def assignments(placement: Placement) -> Iterator[tuple[Role, NodeName]]:
    """Yield (role, index) and node of each pod."""
    for index, node in enumerate(placement.servers):
        yield (SERVER, index), node
    for index, node in enumerate(placement.workers):
        yield (WORKER, index), node
