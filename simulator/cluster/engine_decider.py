"""The scheduler of the extender itself: the queue decision, with its state between cycles."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import PUBLISHED, CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Plan
from extender.core.queue import backfill
from extender.core.queue.decision import QUEUE, QueueOutcome
from extender.core.queue.state import QueueState, QueueTrigger
from shared.model import JobKey, NodeName
from simulator.cluster import objects
from simulator.cluster.actions import SERVER, Action, Placement, Scale, Start
from simulator.cluster.decider import View
from simulator.cluster.events import EPOCH_SECONDS


@dataclass(frozen=True)
class _Rest:
    """No waiting job fits and none holds a reservation: rest until more is free, or ``until``.

    ``judged`` are the waiting jobs; ``until`` is when the next of them reaches its maximum wait, in
    seconds of the workload.
    """

    node_table: NodeTable
    judged: AbstractSet[JobKey]
    until: float | None


@dataclass
class EngineDecider:
    """One cycle per decision, as in the live loop: order, reservation, backfill, gangs, topology.

    Cycles that could release nothing are skipped. As in the live loop, another cycle follows a
    release if jobs wait; if none waits, the state that the cycle would have kept is restored later.
    While nothing comes free and no job reaches its maximum wait, only new jobs are tried.

    Attributes:
        parameters: From the extender's settings file.
        rests: Whether cycles are skipped; without it the state always knows why each job waits.
        last: The last cycle; None before the first.
    """

    parameters: CoreParameters = PUBLISHED
    rests: bool = True
    last: QueueOutcome | None = field(default=None, repr=False)
    oracle: Final = False
    _state: QueueState = field(default_factory=QueueState, repr=False)
    _rest: _Rest | None = field(default=None, repr=False)

    @property
    def state(self) -> QueueState:
        """What the queue keeps after the last cycle."""
        return self._state

    def decide(self, view: View) -> Sequence[Action]:
        """Run a cycle; start released gangs, and add members to running ones."""
        if self._rest is not None:
            self._rest = _resting(self._rest, view, self.parameters)
            if self._rest is not None:
                return ()
        state = self._caught_up(view.snapshot)
        cycle = QUEUE.decide(
            Session(view.snapshot, view.reading, self.parameters), state, QueueTrigger()
        )
        self._state, self.last = cycle.state, cycle
        released = [started(release, view) for release in _released(cycle)]
        if self.rests and not released and cycle.backfill_head is None:
            ahead = cycle.wake_after_seconds
            until = None if ahead is None else view.now + ahead
            self._rest = _Rest(view.snapshot.node_table, view.snapshot.waiting, until)
        return released

    def wakes_at(self, now: float) -> float | None:
        """Return the next deadline, such as a maximum wait; ``now`` if gangs were released.

        The live loop also runs every few seconds, which changes nothing here.
        """
        if self._rest is not None:
            return self._rest.until
        if self.last is None:
            return None
        if any(_released(self.last)):
            waits = any(entry.reason is not Reason.RELEASING for entry in self.last.entries)
            return now if waits else None
        ahead = self.last.wake_after_seconds
        return None if ahead is None else now + ahead

    def _caught_up(self, snapshot: Snapshot) -> QueueState:
        """Return the state with starts of jobs that began and ended between two cycles."""
        running = dict(self._state.running)
        for release in () if self.last is None else _released(self.last):
            pods = snapshot.jobs.get(JobKey(release.job), ())
            if pods and all(pod.finished for pod in pods):
                running.setdefault(JobKey(release.job), max(pod.scheduled_at for pod in pods))
        if len(running) == len(self._state.running):
            return self._state
        return replace(self._state, running=running)


def _resting(rest: _Rest, view: View, params: CoreParameters) -> _Rest | None:
    """Return the rest with the new jobs included; None if a cycle could release something.

    Whether a job fits depends on the free room and the job alone, so judged jobs are not retried.
    """
    snapshot, until = view.snapshot, rest.until
    if snapshot.node_table is not rest.node_table or (until is not None and until <= view.now):
        return None
    for key in sorted(snapshot.waiting - rest.judged):
        job = job_views.view(snapshot, key)
        plan = planner.plan_cached(
            snapshot.cache, job, rest.node_table, params, 0.0, was_whole=False, targets={}
        )
        if isinstance(plan, Plan):
            return None
        late = backfill.deadline(job.created_at, job.spec.max_wait_seconds, params.waiting)
        if late is not None:
            late -= EPOCH_SECONDS
            until = late if until is None else min(until, late)
    return _Rest(rest.node_table, snapshot.waiting, until)


def _released(cycle: QueueOutcome) -> Iterable[ReleaseGang]:
    return (command for command in cycle.commands if isinstance(command, ReleaseGang))


def started(release: ReleaseGang, view: View) -> Action:
    """Return the start of a released gang, or of further members of a job that runs.

    Raises:
        ValueError: A pod of it has no node.
    """
    name = objects.job_name(JobKey(release.job))
    job = view.job(name)
    before = job.placement if job is not None else None
    nodes: dict[tuple[str, int], NodeName] = {}
    for pod in release.pods:
        if pod.node is None:
            raise ValueError(
                f"{pod.pod} was released without a node: the engine does not model its shape"
            )
        nodes[objects.member(pod.pod)] = pod.node
    servers = tuple(node for (role, _), node in sorted(nodes.items()) if role == SERVER)
    workers = tuple(node for (role, _), node in sorted(nodes.items()) if role != SERVER)
    if before is None:
        return Start(name, Placement(workers, servers))
    return Scale(name, Placement((*before.workers, *workers), (*before.servers, *servers)))
