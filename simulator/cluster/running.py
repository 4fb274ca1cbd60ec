"""How placed jobs run: their rates, pauses and predicted ends.

A job does ``speed.rate(workers, nodes)`` units of work a second, where ``nodes`` counts the nodes
of its pods, servers included. Where pods demand more CPU than a machine has, all pods of the job
wait for the slowest: the rate is multiplied by the smallest share of CPU that one of them gets. A
pausing job does nothing and demands no CPU; it keeps its nodes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from shared.model import CPU, NodeName
from simulator.cluster.actions import SERVER, WORKER, Placement
from simulator.cluster.events import Event, EventHeap, Kind
from simulator.cluster.machines import Claim, Member, Processor
from simulator.workload import Job, Machine


@dataclass(slots=True)
class Running:
    """A job with nodes.

    Attributes:
        job: The job.
        placement: Nodes of its pods.
        done: Units of work done until ``since``.
        since: Seconds of the workload up to which everything here is counted.
        rate: Units of work per second from then on.
        resume_at: End of its pause; it pauses while this is later than now.
        weight: CPU weight of its pods.
        version: Of the end that was predicted last.
        ran_seconds: Time with nodes, over all its runs.
        worker_seconds: The same, times its workers.
    """

    job: Job
    placement: Placement
    done: float
    since: float
    rate: float = 0.0
    resume_at: float = 0.0
    weight: float = 1.0
    version: int = 0
    ran_seconds: float = 0.0
    worker_seconds: float = 0.0
    _pod_counts: tuple[Placement, Counter[tuple[NodeName, str]]] | None = None

    @property
    def pod_counts(self) -> Counter[tuple[NodeName, str]]:
        """Number of pods by node and role."""
        if self._pod_counts is None or self._pod_counts[0] is not self.placement:
            self._pod_counts = (self.placement, _pod_counts(self.placement))
        return self._pod_counts[1]

    def settle(self, at: float) -> None:
        """Count work and time until ``at``."""
        seconds = at - self.since
        if seconds > 0:
            self.done = min(self.job.work, self.done + self.rate * seconds)
            self.ran_seconds += seconds
            self.worker_seconds += seconds * len(self.placement.workers)
            self.since = at


class RunningJobs:
    """All jobs with nodes.

    Args:
        machines: The cluster.
        events: Receives ends and resumes.
    """

    def __init__(self, machines: Iterable[Machine], events: EventHeap) -> None:
        self._events = events
        self._processors: Mapping[NodeName, Processor] = {
            NodeName(m.name): Processor(m.allocatable.get(CPU, 0)) for m in machines
        }
        self._versions = count(1)
        self.jobs: dict[str, Running] = {}

    def start(self, at: float, running: Running, pause_seconds: float = 0.0) -> None:
        """Start a job on its nodes; it works after a pause."""
        self.jobs[running.job.name] = running
        self._enter(at, running, pause_seconds)

    def change(self, at: float, name: str, placement: Placement, pause_seconds: float) -> None:
        """Change a job's nodes or pods; it works again after a pause."""
        running = self.jobs[name]
        self._leave(at, running)
        running.placement = placement
        self._enter(at, running, pause_seconds)

    def weigh(self, at: float, name: str, weight: float) -> None:
        """Change the CPU weight of a job's pods."""
        running = self.jobs[name]
        running.weight = weight
        if running.resume_at <= at:
            self._rerate(at, self._claim(running, claims=True))

    def resume(self, event: Event) -> None:
        """End a pause, unless it was extended or its job is gone."""
        running = self.jobs.get(event.job)
        if running is not None and running.version == event.version:
            self._rerate(event.at, self._claim(running, claims=True))

    def ends(self, event: Event) -> bool:
        """Return True if a predicted end is still valid; then the job has done all its work."""
        running = self.jobs.get(event.job)
        if running is None or running.version != event.version:
            return False
        running.settle(event.at)
        running.done = running.job.work
        return True

    def stop(self, at: float, name: str) -> Running:
        """Take a job's nodes; return its final state."""
        running = self.jobs[name]
        self._leave(at, running)
        del self.jobs[name]
        return running

    def _enter(self, at: float, running: Running, pause_seconds: float) -> None:
        running.resume_at = max(running.resume_at, at + pause_seconds)
        if running.resume_at > at:
            running.version = next(self._versions)
            self._events.push(running.resume_at, Kind.RESUME, running.job.name, running.version)
        else:
            self._rerate(at, self._claim(running, claims=True))

    def _leave(self, at: float, running: Running) -> None:
        running.settle(at)
        running.rate = 0.0
        running.version = next(self._versions)  # voids the predicted end
        self._rerate(at, self._claim(running, claims=False) - {running.job.name})

    def _claim(self, running: Running, *, claims: bool) -> set[str]:
        """Set the CPU demand of a job's pods; return the jobs whose rates may change."""
        affected = {running.job.name}
        for (node, role), many in running.pod_counts.items():
            processor = self._processors[node]
            claim = Claim(many, _milli(running.job, role), running.weight) if claims else None
            crowded = processor.crowded
            processor.put(Member(running.job.name, role), claim)
            if crowded or processor.crowded:
                affected |= processor.jobs
        return affected

    def _rerate(self, at: float, names: set[str]) -> None:
        for name in sorted(names):
            running = self.jobs[name]
            rate = self._rate(running)
            if rate != running.rate:
                running.settle(at)
                running.rate = rate
                self._predict_end(at, running)

    def _predict_end(self, at: float, running: Running) -> None:
        running.version = next(self._versions)
        if running.rate > 0:
            seconds = (running.job.work - running.done) / running.rate
            self._events.push(at + seconds, Kind.END, running.job.name, running.version)

    def _rate(self, running: Running) -> float:
        job, placed = running.job, running.placement
        share = min(
            self._processors[node].share(Member(job.name, role))
            for node, role in running.pod_counts
        )
        return share * job.speed.rate(len(placed.workers), len(placed.nodes))


def _pod_counts(placement: Placement) -> Counter[tuple[NodeName, str]]:
    """Return the number of pods by node and role, in the order of the placement."""
    counts = Counter((node, WORKER) for node in placement.workers)
    counts.update((node, SERVER) for node in placement.servers)
    return counts


def _milli(job: Job, role: str) -> int:
    if role == SERVER:
        return job.server.get(CPU, 0)
    return job.demand_milli or job.worker.get(CPU, 0)
