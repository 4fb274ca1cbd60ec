"""The cluster: the extender's store, the jobs that run, and what a scheduler may do to them.

Every action is checked first: one that the cluster could not carry out ends the run with an error
that names it, for then the scheduler has a fault.
"""

from collections.abc import Iterable, Iterator

from extender.state.store import ClusterStore
from shared import labels
from shared.model import Delete, NodeName, Pod, Upsert
from simulator.cluster import objects
from simulator.cluster.actions import Action, Move, Placement, Preempt, Scale, Start, Weigh
from simulator.cluster.decider import Asked, JobView, View
from simulator.cluster.errors import IllegalActionError
from simulator.cluster.events import Event, EventHeap
from simulator.cluster.machines import Capacity
from simulator.cluster.records import JobRecord, Placed
from simulator.cluster.running import RunningJobs
from simulator.cluster.submitted import Known, Role, seats
from simulator.workload import Job, Workload


class World:
    """See the module.

    Args:
        workload: Its machines are there from the start, its jobs from when they ``arrive``.
        events: Where ends and resumes are put in.
        oracle: Whether the truth about jobs is shown.

    Attributes:
        store: What the core sees of it.
        placements: Every placement that was made.
    """

    def __init__(self, workload: Workload, events: EventHeap, *, oracle: bool = False) -> None:
        self.store = ClusterStore(labels.SCHEDULER_NAME)
        self.placements: list[Placed] = []
        self._machines = workload.machines
        nodes = [objects.node(machine) for machine in workload.machines]
        for namespace in objects.namespaces(workload.jobs):
            self.store.apply(Upsert(namespace))
        for node in nodes:
            self.store.apply(Upsert(node))
        self._capacity = Capacity(nodes)
        self._runs = RunningJobs(workload.machines, events)
        self._oracle = oracle
        self._jobs: dict[str, Known] = {}
        self._ended: list[Pod] = []

    @property
    def idle(self) -> bool:
        """No job has nodes."""
        return not self._runs.jobs

    @property
    def empty(self) -> bool:
        """No job is there."""
        return not self._jobs

    def arrive(self, at: float, job: Job, number: int) -> None:
        """A job is submitted: its pods are there, with our gate."""
        pods = {objects.member(pod.name): pod for pod in objects.pods(job, number)}
        self._jobs[job.name] = Known(job, Asked.of(job, number), pods, waits_since=at)
        for pod in pods.values():
            self.store.apply(Upsert(pod))

    def resume(self, event: Event) -> None:
        """A pause is over."""
        self._runs.resume(event)

    def end(self, event: Event) -> JobRecord | None:
        """A job has done its work: return its record; None if that was foreseen too early.

        Its room is free at once. One pod, which says that it succeeded, stays for the next look:
        the core remembers how long jobs run.
        """
        if not self._runs.ends(event):
            return None
        known = self._jobs.pop(event.job)
        self._release(event.at, known)
        first, *others = known.pods.values()
        for pod in others:
            self._delete(pod)
        self._ended.append(objects.succeeded(first))
        self.store.apply(Upsert(self._ended[-1]))
        return known.record(event.at, completed=True)

    def sweep(self) -> None:
        """Take away what is left of the jobs that ended: the scheduler has seen it."""
        for pod in self._ended:
            self._delete(pod)
        self._ended.clear()

    def view(self, at: float) -> View:
        """Return what the scheduler sees."""
        return View(
            now=at,
            machines=self._machines,
            _snapshot=self.store.snapshot,
            _free=lambda: {node: dict(free) for node, free in self._capacity.free.items()},
            _waiting=lambda: self._views(at, running=False),
            _running=lambda: self._views(at, running=True),
            _job=lambda name: self._view(at, name),
        )

    def carry_out(self, at: float, actions: Iterable[Action]) -> None:
        """Carry out what the scheduler decided, one action after the other.

        Raises:
            IllegalActionError: One of them is impossible.
        """
        for action in actions:
            known = self._jobs.get(action.job)
            if known is None:
                raise IllegalActionError(action, "there is no such job now")
            if (known.running is None) is not isinstance(action, Start):
                raise IllegalActionError(action, "it waits" if known.running is None else "it runs")
            self._do(at, action, known)

    def left(self, at: float) -> Iterator[tuple[int, JobRecord]]:
        """Yield number and record of each job that is there when the run ends."""
        for known in self._jobs.values():
            if known.running is not None:
                known.running.settle(at)
            yield known.asked.number, known.record(at, completed=False)

    def utilisation(self, since: float, until: float) -> dict[str, float]:
        """Return which part of each resource was taken."""
        self._capacity.advance(until)
        return dict(self._capacity.utilisation(since))

    def _do(self, at: float, action: Action, known: Known) -> None:
        match action:
            case Start():
                self._start(at, action, known)
            case Scale():
                self._scale(at, action, known)
            case Move():
                self._move(at, action, known)
            case Preempt():
                self._preempt(at, action, known)
            case Weigh():
                self._weigh(at, action)

    def _start(self, at: float, action: Start, known: Known) -> None:
        self._check_size(action, action.placement, known.job)
        self._take(at, action, known, dict(seats(action.placement)))
        pause = known.job.pause_seconds if known.preemptions else 0.0
        self._runs.start(at, known.begin(at, action.placement), pause)
        self._note(at, "start", action.job, action.placement)

    def _scale(self, at: float, action: Scale, known: Known) -> None:
        self._check_size(action, action.placement, known.job)
        self._replace(at, action, known, action.placement, "scale")

    def _move(self, at: float, action: Move, known: Known) -> None:
        if not known.job.movable:
            raise IllegalActionError(action, "it writes no checkpoint on request")
        before = _placement(known)
        try:
            after = before.moved(action.role, action.index, action.node)
        except IndexError:
            raise IllegalActionError(action, "it has no such pod") from None
        self._replace(at, action, known, after, "move")

    def _replace(
        self, at: float, action: Scale | Move, known: Known, after: Placement, by: str
    ) -> None:
        """Pods whose node stays the same stay; the others leave before the new ones come."""
        before = _placement(known)
        if before == after:
            return
        had, has = dict(seats(before)), dict(seats(after))
        leaving = [role for role, node in had.items() if has.get(role) != node]
        for role in leaving:
            pod = known.pods.pop(role)
            self._capacity.take(at, had[role], pod.shape, -1)
            self._delete(pod)
        unwanted = [role for role in known.pods if role not in has]
        for role in unwanted:
            self._delete(known.pods.pop(role))  # its owner wants fewer now
        known.generation += bool(leaving or unwanted)  # a uid that is gone never comes back
        coming = {role: node for role, node in has.items() if had.get(role) != node}
        self._take(at, action, known, coming)
        known.migrations += sum(role in had for role in coming)
        known.rescales += had.keys() != has.keys()
        self._runs.change(at, action.job, after, known.job.pause_seconds)
        self._note(at, by, action.job, after)

    def _preempt(self, at: float, action: Preempt, known: Known) -> None:
        self._release(at, known)
        if action.lose:
            known.lost_work += known.done
            known.done = 0.0
        known.preemptions += 1
        known.generation += 1
        for pod in known.pods.values():
            self._delete(pod)
        made = objects.pods(known.job, known.asked.number, known.generation)
        known.pods = {objects.member(pod.name): pod for pod in made}
        for pod in known.pods.values():
            self.store.apply(Upsert(pod))

    def _weigh(self, at: float, action: Weigh) -> None:
        if not action.weight > 0:
            raise IllegalActionError(action, "a weight is above 0")
        self._runs.weigh(at, action.job, action.weight)

    def _release(self, at: float, known: Known) -> None:
        """Give the nodes of a job back."""
        placed = _placement(known)
        for role, node in seats(placed):
            self._capacity.take(at, node, known.pods[role].shape, -1)
        self._runs.stop(at, known.job.name)
        known.halt(at)

    def _take(self, at: float, action: Action, known: Known, nodes: dict[Role, NodeName]) -> None:
        plan = f"{action.job}-{known.generation}"
        for role, node in nodes.items():
            pod = known.pods.get(role) or objects.pod(
                known.job, known.asked.number, known.generation, *role
            )
            if lacking := self._capacity.lacks(node, pod.shape):
                raise IllegalActionError(action, lacking)
            self._capacity.take(at, node, pod.shape)
            known.pods[role] = objects.running(pod, node, plan, len(nodes), at)
            self.store.apply(Upsert(known.pods[role]))

    def _check_size(self, action: Action, placed: Placement, job: Job) -> None:
        if len(placed.servers) != job.servers:
            raise IllegalActionError(action, f"it has {job.servers} servers, all or none")
        if not job.least_workers <= len(placed.workers) <= job.most_workers:
            raise IllegalActionError(
                action, f"it trains with {job.least_workers} to {job.most_workers} workers"
            )

    def _delete(self, pod: Pod) -> None:
        self.store.apply(Delete("Pod", pod.key, pod.uid))

    def _note(self, at: float, by: str, job: str, placed: Placement) -> None:
        self.placements.append(Placed(at, job, by, placed.workers, placed.servers))

    def _views(self, at: float, *, running: bool) -> tuple[JobView, ...]:
        found = [k for k in self._jobs.values() if (k.running is not None) is running]
        return tuple(known.view(at, oracle=self._oracle) for known in found)

    def _view(self, at: float, name: str) -> JobView | None:
        known = self._jobs.get(name)
        return None if known is None else known.view(at, oracle=self._oracle)


def _placement(known: Known) -> Placement:
    if known.running is None:
        raise ValueError(f"{known.job.name} waits")
    return known.running.placement
