"""How placed jobs run: their rates, their pauses, and when each will have done its work.

A job does ``speed.rate(workers, nodes)`` units of work a second, ``nodes`` being how many nodes its
pods are on, servers included. Where the pods on a machine want more CPU than it has, all its pods
wait for the slowest one: the rate is multiplied by the least share of CPU that one of them gets. A
job that pauses does nothing and wants no CPU; it keeps its nodes.
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
    """A job that has its nodes.

    Attributes:
        job: The job.
        placement: Where its pods are.
        done: Units of work done until ``since``.
        since: Seconds of the workload up to which everything here is counted.
        rate: Units of work per second from then on.
        resume_at: When its pause is over; it pauses while this is later than now.
        weight: CPU weight of its pods.
        version: Of the end that was foreseen last.
        ran_seconds: How long it had nodes, over all its runs.
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
    _seats: tuple[Placement, Counter[tuple[NodeName, str]]] | None = None

    @property
    def seats(self) -> Counter[tuple[NodeName, str]]:
        """How many pods of which role are on which node."""
        if self._seats is None or self._seats[0] is not self.placement:
            self._seats = (self.placement, _seats(self.placement))
        return self._seats[1]

    def settle(self, at: float) -> None:
        """Count what happened until ``at``."""
        seconds = at - self.since
        if seconds > 0:
            self.done = min(self.job.work, self.done + self.rate * seconds)
            self.ran_seconds += seconds
            self.worker_seconds += seconds * len(self.placement.workers)
            self.since = at


class RunningJobs:
    """All jobs that have nodes.

    Args:
        machines: The cluster.
        events: Where ends and resumes are put in.
    """

    def __init__(self, machines: Iterable[Machine], events: EventHeap) -> None:
        self._events = events
        self._processors: Mapping[NodeName, Processor] = {
            NodeName(m.name): Processor(m.allocatable.get(CPU, 0)) for m in machines
        }
        self._versions = count(1)
        self.jobs: dict[str, Running] = {}

    def start(self, at: float, running: Running, pause_seconds: float = 0.0) -> None:
        """A job gets nodes, and does its first work after a pause."""
        self.jobs[running.job.name] = running
        self._enter(at, running, pause_seconds)

    def change(self, at: float, name: str, placement: Placement, pause_seconds: float) -> None:
        """A job goes on on other nodes, or with other pods, after a pause."""
        running = self.jobs[name]
        self._leave(at, running)
        running.placement = placement
        self._enter(at, running, pause_seconds)

    def weigh(self, at: float, name: str, weight: float) -> None:
        """The CPU weight of a job's pods changes."""
        running = self.jobs[name]
        running.weight = weight
        if running.resume_at <= at:
            self._rerate(at, self._claim(running, claims=True))

    def resume(self, event: Event) -> None:
        """A pause may be over: nothing for one that was made longer, or whose job is gone."""
        running = self.jobs.get(event.job)
        if running is not None and running.version == event.version:
            self._rerate(event.at, self._claim(running, claims=True))

    def ends(self, event: Event) -> bool:
        """Say whether an end that was foreseen has come; then the job has done all its work."""
        running = self.jobs.get(event.job)
        if running is None or running.version != event.version:
            return False
        running.settle(event.at)
        running.done = running.job.work
        return True

    def stop(self, at: float, name: str) -> Running:
        """A job gives its nodes back; return what is known of it."""
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
        running.version = next(self._versions)  # what was foreseen will not come
        self._rerate(at, self._claim(running, claims=False) - {running.job.name})

    def _claim(self, running: Running, *, claims: bool) -> set[str]:
        """Set what a job's pods want of their machines; return whose rates that may change."""
        affected = {running.job.name}
        for (node, role), many in running.seats.items():
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
                self._foresee(at, running)

    def _foresee(self, at: float, running: Running) -> None:
        running.version = next(self._versions)
        if running.rate > 0:
            seconds = (running.job.work - running.done) / running.rate
            self._events.push(at + seconds, Kind.END, running.job.name, running.version)

    def _rate(self, running: Running) -> float:
        job, placed = running.job, running.placement
        share = min(
            self._processors[node].share(Member(job.name, role)) for node, role in running.seats
        )
        return share * job.speed.rate(len(placed.workers), len(placed.nodes))


def _seats(placement: Placement) -> Counter[tuple[NodeName, str]]:
    """Return how many pods of which role are on which node, in the order of the placement."""
    found = Counter((node, WORKER) for node in placement.workers)
    found.update((node, SERVER) for node in placement.servers)
    return found


def _milli(job: Job, role: str) -> int:
    if role == SERVER:
        return job.server.get(CPU, 0)
    return job.demand_milli or job.worker.get(CPU, 0)
