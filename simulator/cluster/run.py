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

MOST_LOOKS_AT_ONCE: Final = 1000
"""A scheduler that wants to look so often at one moment would do so for ever."""
MOST_IDLE_LOOKS: Final = 1000
"""So often a scheduler is asked when nothing runs, nothing comes and it does nothing."""


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
        decider: The scheduler; one that carries a memory is used for one run.
        until: Where to end, in seconds from the start of the workload; None: when all jobs have
            completed, or nothing will happen any more.
        settle_seconds: How long after a change the scheduler looks, as the live loop has it
            (``queue.settle_seconds``, 0.2): what comes meanwhile is judged together.
        progress: Whether to show a bar.

    Raises:
        IllegalActionError: The scheduler wanted what the cluster cannot do.
        EndlessDeciderError: It wanted to look at one moment for ever.
        WorkloadError: Two jobs have one name, or state different priorities of one namespace.
    """
    loop = _Loop(workload, decider, until, settle_seconds)
    records = loop.records()
    total = len(workload.jobs)
    for number, record in bars.shown(records, "jobs", total) if progress else records:
        loop.done[number] = record
    return loop.outcome()


class _Loop:
    """Events one after the other; it lives as long as one run."""

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
        self._look: tuple[float, int] | None = None
        self._looks = 0
        self._moment = (-1.0, 0)
        self._idle_looks = 0
        self.done: dict[int, JobRecord] = {}

    def records(self) -> Iterator[tuple[int, JobRecord]]:
        """Run, and yield number and record of each job that completes."""
        self._await_next()
        while self._events and not self._stands_still():
            event = self._events.pop()
            if event.at > self._until:
                self._clock.advance(self._until)
                return
            if event.kind is Kind.LOOK and (event.at, event.version) != self._look:
                continue  # it looked earlier
            if event.kind is Kind.END:
                record = self._world.end(event)
                if record is None:
                    continue
                yield self._numbers[record.name], record
                self._wake(event.at + self._settle_seconds)
            self._clock.advance(event.at)
            self._happen(event)

    def outcome(self) -> Run:
        """Return what came of it."""
        ended_at = self._clock.at
        self.done.update(self._world.left(ended_at))
        first = min((job.submitted_at for job in self._workload.jobs), default=0.0)
        return Run(
            source=self._workload.source,
            ended_at=ended_at,
            jobs=tuple(
                self.done.get(number) or _unseen(job)
                for number, job in enumerate(self._workload.jobs)
            ),
            placements=tuple(self._world.placements),
            utilisation=self._world.utilisation(first, ended_at),
            looks=self._looks,
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
        elif event.kind is Kind.LOOK:
            self._decide(event.at)

    def _decide(self, at: float) -> None:
        self._look = None
        self._looks += 1
        actions = self._decider.decide(self._world.view(at))
        self._world.sweep()
        self._world.carry_out(at, actions)
        wanted = self._decider.wakes_at(at)
        if wanted is not None:  # what it did at once is a change: seen as soon as others are
            self._wake(wanted if wanted > at else at + self._settle_seconds)
        self._check_progress(at)
        idle = not actions and self._next is None and self._world.idle
        self._idle_looks = self._idle_looks + 1 if idle else 0

    def _check_progress(self, at: float) -> None:
        """See that one moment does not last for ever."""
        moment, looks = self._moment
        self._moment = (at, looks + 1 if at == moment else 1)
        if self._moment[1] > MOST_LOOKS_AT_ONCE:
            name = type(self._decider).__name__
            raise EndlessDeciderError(f"{name} wants to look again and again at {at:g} s")

    def _stands_still(self) -> bool:
        """Nothing is there and nothing comes, or the scheduler will not start what is there."""
        over = self._next is None and self._world.empty
        return over or self._idle_looks > MOST_IDLE_LOOKS

    def _await_next(self) -> None:
        self._next = next(self._coming, None)
        if self._next is not None:
            self._events.push(self._next.submitted_at, Kind.ARRIVAL, self._next.name)

    def _wake(self, at: float) -> None:
        """Look then, or earlier if that was planned already."""
        if self._look is None or at < self._look[0]:
            version = 0 if self._look is None else self._look[1] + 1
            self._look = (at, version)
            self._events.push(at, Kind.LOOK, version=version)


def _numbers(workload: Workload) -> dict[str, int]:
    numbers = {job.name: number for number, job in enumerate(workload.jobs)}
    if len(numbers) < len(workload.jobs):
        raise WorkloadError("two jobs have one name: each must have its own")
    return numbers


def _unseen(job: Job) -> JobRecord:
    return JobRecord(job.name, job.submitted_at, None, None, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0)
