"""One workload under one scheduler, from the first submission to the last completion."""

from collections.abc import Iterator
from typing import Final

from simulator import progress as bars
from simulator.cluster.decider import Decider
from simulator.cluster.errors import EndlessDeciderError, WorkloadError
from simulator.cluster.events import Event, EventHeap, Kind, VirtualClock
from simulator.cluster.records import JobRecord, Run
from simulator.cluster.world import World
from simulator.workload import Job, Workload

MOST_DECISIONS_AT_ONCE: Final = 1000
"""A scheduler that asks to run more often at one moment would do so forever."""
MOST_IDLE_DECISIONS: Final = 1000
"""Decisions without any action, while nothing runs and nothing arrives, before the run ends."""


def simulate(
    workload: Workload,
    decider: Decider,
    *,
    until: float | None = None,
    settle_seconds: float = 0.0,
    progress: bool = False,
) -> Run:
    """Run a workload; the same workload and scheduler give the same run, byte by byte.

    Args:
        workload: Jobs and machines.
        decider: The scheduler; one that keeps state serves one run.
        until: End of the run, in seconds from the start of the workload; None: when all jobs have
            completed, or nothing more can happen.
        settle_seconds: Delay from a change to the decision, as in the live loop
            (``queue.settle_seconds``, 0.2): all changes meanwhile are decided together.
        progress: Whether to show a bar.

    Raises:
        IllegalActionError: The cluster cannot carry out an action of the scheduler.
        EndlessDeciderError: The scheduler asked to run at one moment forever.
        WorkloadError: Two jobs have one name, or state different priorities of one namespace.
    """
    loop = _Loop(workload, decider, until, settle_seconds)
    records = loop.records()
    total = len(workload.jobs)
    for number, record in bars.shown(records, "jobs", total) if progress else records:
        loop.done[number] = record
    return loop.outcome()


class _Loop:
    """The event loop of one run."""

    def __init__(
        self, workload: Workload, decider: Decider, until: float | None, settle_seconds: float
    ) -> None:
        self._workload = workload
        self._decider = decider
        self._until = float("inf") if until is None else until
        self._settle_seconds = settle_seconds
        self._clock = VirtualClock()
        self._events = EventHeap()
        self._world = World(workload, self._events, oracle=decider.oracle)
        self._numbers = _numbers(workload)
        self._coming = iter(sorted(workload.jobs, key=lambda job: job.submitted_at))
        self._next: Job | None = None
        self._planned: tuple[float, int] | None = None
        self._decisions = 0
        self._moment = (-1.0, 0)
        self._idle_decisions = 0
        self.done: dict[int, JobRecord] = {}

    def records(self) -> Iterator[tuple[int, JobRecord]]:
        """Run, and yield the number and record of each job that completes."""
        self._await_next()
        while self._events and not self._is_over():
            event = self._events.pop()
            if event.at > self._until:
                self._clock.advance(self._until)
                return
            if event.kind is Kind.DECIDE and (event.at, event.version) != self._planned:
                continue  # it decided earlier
            if event.kind is Kind.END:
                record = self._world.end(event)
                if record is None:
                    continue
                yield self._numbers[record.name], record
                self._wake(event.at + self._settle_seconds)
            self._clock.advance(event.at)
            self._happen(event)

    def outcome(self) -> Run:
        """Return the results."""
        ended_at = self._clock.at
        self.done.update(self._world.left(ended_at))
        first = min((job.submitted_at for job in self._workload.jobs), default=0.0)
        return Run(
            source=self._workload.source,
            ended_at=ended_at,
            jobs=tuple(
                self.done.get(number) or _never_submitted(job)
                for number, job in enumerate(self._workload.jobs)
            ),
            placements=tuple(self._world.placements),
            utilisation=self._world.utilisation(first, ended_at),
            decisions=self._decisions,
        )

    def _happen(self, event: Event) -> None:
        if event.kind is Kind.RESUME:
            self._world.resume(event)
        elif event.kind is Kind.ARRIVAL:
            job = self._next
            if job is not None:
                self._world.arrive(event.at, job, self._numbers[job.name])
                self._await_next()
                self._wake(event.at + self._settle_seconds)
        elif event.kind is Kind.DECIDE:
            self._decide(event.at)

    def _decide(self, at: float) -> None:
        self._planned = None
        self._decisions += 1
        actions = self._decider.decide(self._world.view(at))
        self._world.sweep()
        self._world.carry_out(at, actions)
        wake_at = self._decider.wakes_at(at)
        if wake_at is not None:  # actions at once are a change like others
            self._wake(wake_at if wake_at > at else at + self._settle_seconds)
        self._check_progress(at)
        idle = not actions and self._next is None and self._world.idle
        self._idle_decisions = self._idle_decisions + 1 if idle else 0

    def _check_progress(self, at: float) -> None:
        """Raise an error if one moment does not end."""
        moment, decisions = self._moment
        self._moment = (at, decisions + 1 if at == moment else 1)
        if self._moment[1] > MOST_DECISIONS_AT_ONCE:
            name = type(self._decider).__name__
            raise EndlessDeciderError(f"{name} keeps asking to run again at {at:g} s")

    def _is_over(self) -> bool:
        """True if no jobs are left or to come, or the scheduler starts none of those left."""
        over = self._next is None and self._world.empty
        return over or self._idle_decisions > MOST_IDLE_DECISIONS

    def _await_next(self) -> None:
        self._next = next(self._coming, None)
        if self._next is not None:
            self._events.push(self._next.submitted_at, Kind.ARRIVAL, self._next.name)

    def _wake(self, at: float) -> None:
        """Decide at that moment, or earlier if already planned."""
        if self._planned is None or at < self._planned[0]:
            version = 0 if self._planned is None else self._planned[1] + 1
            self._planned = (at, version)
            self._events.push(at, Kind.DECIDE, version=version)


def _numbers(workload: Workload) -> dict[str, int]:
    numbers = {job.name: number for number, job in enumerate(workload.jobs)}
    if len(numbers) < len(workload.jobs):
        raise WorkloadError("two jobs have the same name: expected unique names")
    return numbers


def _never_submitted(job: Job) -> JobRecord:
    return JobRecord(job.name, job.submitted_at, None, None, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0)
