"""The simulated cluster: the extender's store, the jobs, and the actions of a scheduler on them.

Every action is checked first. An impossible one ends the run with an error that names it: the
scheduler has a bug.
"""

from collections.abc import Iterable, Iterator

from extender.store.store import ClusterStore
from shared import labels
from shared.model import Delete, NodeName, Pod, Upsert
from simulator.cluster import objects
from simulator.cluster.actions import Action, Move, Placement, Preempt, Scale, Start, Weigh
from simulator.cluster.decider import JobSpec, JobView, View
from simulator.cluster.errors import IllegalActionError
from simulator.cluster.events import Event, EventHeap
from simulator.cluster.machines import Capacity
from simulator.cluster.records import JobRecord, Placed
from simulator.cluster.running import RunningJobs
from simulator.cluster.submitted import Role, SubmittedJob, assignments
from simulator.workload import Job, Workload


class World:
    """The simulated cluster.

    Args:
        workload: Its machines exist from the start, its jobs once they ``arrive``.
        events: Receives ends and resumes.
        oracle: Whether the scheduler sees the truth about jobs.

    Attributes:
        store: What the core sees.
        placements: All placements so far.
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
        self._jobs: dict[str, SubmittedJob] = {}
        self._ended: list[Pod] = []

    @property
    def idle(self) -> bool:
        """True if no job has nodes."""
        return not self._runs.jobs

    @property
    def empty(self) -> bool:
        """True if no job is left."""
        return not self._jobs

    def arrive(self, at: float, job: Job, number: int) -> None:
        """Submit a job: create its pods, with our gate."""
        pods = {objects.member(pod.name): pod for pod in objects.pods(job, number)}
        self._jobs[job.name] = SubmittedJob(
            job, JobSpec.from_job(job, number), pods, waits_since=at
        )
        for pod in pods.values():
            self.store.apply(Upsert(pod))

    def resume(self, event: Event) -> None:
        """End a pause."""
        self._runs.resume(event)

    def end(self, event: Event) -> JobRecord | None:
        """Complete a job and return its record; None if its predicted end is no longer valid.

        Its nodes are free at once. One pod stays as Succeeded for the next decision, so that the
        core sees how long the job ran.
        """
        if not self._runs.ends(event):
            return None
        submitted = self._jobs.pop(event.job)
        self._release(event.at, submitted)
        first, *others = submitted.pods.values()
        for pod in others:
            self._delete(pod)
        self._ended.append(objects.succeeded(first))
        self.store.apply(Upsert(self._ended[-1]))
        return submitted.record(event.at, completed=True)

    def sweep(self) -> None:
        """Delete the succeeded pods, after the scheduler has seen them."""
        for pod in self._ended:
            self._delete(pod)
        self._ended.clear()

    def view(self, at: float) -> View:
        """Return the scheduler's view."""
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
        """Carry out the scheduler's actions in order.

        Raises:
            IllegalActionError: One of them is impossible.
        """
        for action in actions:
            submitted = self._jobs.get(action.job)
            if submitted is None:
                raise IllegalActionError(action, "no such job, or it has completed")
            if (submitted.running is None) is not isinstance(action, Start):
                raise IllegalActionError(
                    action, "it waits" if submitted.running is None else "it runs"
                )
            self._do(at, action, submitted)

    def left(self, at: float) -> Iterator[tuple[int, JobRecord]]:
        """Yield the number and record of each job that is left when the run ends."""
        for submitted in self._jobs.values():
            if submitted.running is not None:
                submitted.running.settle(at)
            yield submitted.spec.number, submitted.record(at, completed=False)

    def utilisation(self, since: float, until: float) -> dict[str, float]:
        """Return the mean share of each resource in use."""
        self._capacity.advance(until)
        return dict(self._capacity.utilisation(since))

    def _do(self, at: float, action: Action, submitted: SubmittedJob) -> None:
        match action:
            case Start():
                self._start(at, action, submitted)
            case Scale():
                self._scale(at, action, submitted)
            case Move():
                self._move(at, action, submitted)
            case Preempt():
                self._preempt(at, action, submitted)
            case Weigh():
                self._weigh(at, action)

    def _start(self, at: float, action: Start, submitted: SubmittedJob) -> None:
        self._check_size(action, action.placement, submitted.job)
        self._take(at, action, submitted, dict(assignments(action.placement)))
        pause = submitted.job.pause_seconds if submitted.preemptions else 0.0
        self._runs.start(at, submitted.begin(at, action.placement), pause)
        self._note(at, "start", action.job, action.placement)

    def _scale(self, at: float, action: Scale, submitted: SubmittedJob) -> None:
        self._check_size(action, action.placement, submitted.job)
        self._replace(at, action, submitted, action.placement, "scale")

    def _move(self, at: float, action: Move, submitted: SubmittedJob) -> None:
        if not submitted.job.movable:
            raise IllegalActionError(action, "it writes no checkpoint on request")
        before = _placement(submitted)
        try:
            after = before.moved(action.role, action.index, action.node)
        except IndexError:
            raise IllegalActionError(action, "it has no such pod") from None
        self._replace(at, action, submitted, after, "move")

    def _replace(
        self, at: float, action: Scale | Move, submitted: SubmittedJob, after: Placement, by: str
    ) -> None:
        """Keep pods whose node stays; delete the others before creating new ones."""
        before = _placement(submitted)
        if before == after:
            return
        had, has = dict(assignments(before)), dict(assignments(after))
        leaving = [role for role, node in had.items() if has.get(role) != node]
        for role in leaving:
            pod = submitted.pods.pop(role)
            self._capacity.take(at, had[role], pod.shape, -1)
            self._delete(pod)
        surplus = [role for role in submitted.pods if role not in has]
        for role in surplus:
            self._delete(submitted.pods.pop(role))  # its owner runs fewer now
        submitted.generation += bool(leaving or surplus)  # a uid is never used again
        coming = {role: node for role, node in has.items() if had.get(role) != node}
        self._take(at, action, submitted, coming)
        submitted.migrations += sum(role in had for role in coming)
        submitted.rescales += had.keys() != has.keys()
        self._runs.change(at, action.job, after, submitted.job.pause_seconds)
        self._note(at, by, action.job, after)

    def _preempt(self, at: float, action: Preempt, submitted: SubmittedJob) -> None:
        self._release(at, submitted)
        if action.lose:
            submitted.lost_work += submitted.done
            submitted.done = 0.0
        submitted.preemptions += 1
        submitted.generation += 1
        for pod in submitted.pods.values():
            self._delete(pod)
        renewed = objects.pods(submitted.job, submitted.spec.number, submitted.generation)
        submitted.pods = {objects.member(pod.name): pod for pod in renewed}
        for pod in submitted.pods.values():
            self.store.apply(Upsert(pod))

    def _weigh(self, at: float, action: Weigh) -> None:
        if not action.weight > 0:
            raise IllegalActionError(action, "a weight is above 0")
        self._runs.weigh(at, action.job, action.weight)

    def _release(self, at: float, submitted: SubmittedJob) -> None:
        """Free the nodes of a job."""
        placed = _placement(submitted)
        for role, node in assignments(placed):
            self._capacity.take(at, node, submitted.pods[role].shape, -1)
        self._runs.stop(at, submitted.job.name)
        submitted.halt(at)

    def _take(
        self, at: float, action: Action, submitted: SubmittedJob, nodes: dict[Role, NodeName]
    ) -> None:
        plan = f"{action.job}-{submitted.generation}"
        for role, node in nodes.items():
            pod = submitted.pods.get(role) or objects.pod(
                submitted.job, submitted.spec.number, submitted.generation, *role
            )
            if lacking := self._capacity.lacks(node, pod.shape):
                raise IllegalActionError(action, lacking)
            self._capacity.take(at, node, pod.shape)
            submitted.pods[role] = objects.running(pod, node, plan, len(nodes), at)
            self.store.apply(Upsert(submitted.pods[role]))

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
        chosen = [k for k in self._jobs.values() if (k.running is not None) is running]
        return tuple(submitted.view(at, oracle=self._oracle) for submitted in chosen)

    def _view(self, at: float, name: str) -> JobView | None:
        submitted = self._jobs.get(name)
        return None if submitted is None else submitted.view(at, oracle=self._oracle)


def _placement(submitted: SubmittedJob) -> Placement:
    if submitted.running is None:
        raise ValueError(f"{submitted.job.name} waits")
    return submitted.running.placement
