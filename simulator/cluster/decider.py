"""The interface between the cluster and a scheduler: what it sees, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, Self

from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from shared.model import NodeName
from simulator.cluster.actions import Action, Placement
from simulator.cluster.events import VirtualClock
from simulator.workload import Job, Machine, Worth


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What the owner of a job wrote, as in ``Job``; ``number`` is its index in the workload."""

    number: int
    name: str
    namespace: str
    submitted_at: float
    workers: int
    worker: Mapping[str, int]
    least_workers: int
    most_workers: int
    servers: int
    server: Mapping[str, int]
    user_priority: int
    class_value: int
    max_wait_seconds: float | None
    expected_seconds: float | None
    worth: Worth | None
    deadline_seconds: float | None
    movable: bool
    annotations: Mapping[str, str]

    @classmethod
    def from_job(cls, job: Job, number: int) -> Self:
        """Return the part of a job that its owner wrote."""
        return cls(
            number=number,
            name=job.name,
            namespace=job.namespace,
            submitted_at=job.submitted_at,
            workers=job.workers,
            worker=job.worker,
            least_workers=job.least_workers,
            most_workers=job.most_workers,
            servers=job.servers,
            server=job.server,
            user_priority=job.user_priority,
            class_value=job.class_value,
            max_wait_seconds=job.max_wait_seconds,
            expected_seconds=job.expected_seconds,
            worth=job.worth,
            deadline_seconds=job.deadline_seconds,
            movable=job.movable,
            annotations=job.annotations,
        )


@dataclass(frozen=True, slots=True)
class JobView:
    """A job that was submitted and has not completed.

    Attributes:
        spec: What its owner wrote.
        placement: Nodes of its pods; None while it waits.
        pausing: True if it has nodes but does not train: it was just moved, rescaled or resumed.
        started_at: When it first got nodes, seconds of the workload; None: never yet.
        ran_seconds: How long it has had nodes.
        worker_seconds: The same, times its workers: its attained service.
        preemptions: How often it lost its nodes.
        share: Share of its work that is done, 0…1; None for a job that does not report.
        loss: Its metric now; None for a job that does not report or has not begun.
        truth: The job itself with what no scheduler can know; for oracles, else None.
    """

    spec: JobSpec
    placement: Placement | None = None
    pausing: bool = False
    started_at: float | None = None
    ran_seconds: float = 0.0
    worker_seconds: float = 0.0
    preemptions: int = 0
    share: float | None = None
    loss: float | None = None
    truth: Job | None = None

    @property
    def name(self) -> str:
        """Its name in the workload."""
        return self.spec.name

    @property
    def workers(self) -> int:
        """How many workers it has now."""
        return 0 if self.placement is None else len(self.placement.workers)


@dataclass(frozen=True)
class View:
    """What a scheduler sees in one decision; parts are computed when first read.

    Attributes:
        now: Seconds from the start of the workload.
        machines: The cluster, as the workload has it.
    """

    now: float
    machines: tuple[Machine, ...]
    _snapshot: Callable[[], Snapshot] = field(repr=False)
    _free: Callable[[], dict[NodeName, dict[str, int]]] = field(repr=False)
    _waiting: Callable[[], tuple[JobView, ...]] = field(repr=False)
    _running: Callable[[], tuple[JobView, ...]] = field(repr=False)
    _job: Callable[[str], JobView | None] = field(repr=False)

    @property
    def reading(self) -> Reading:
        """The clocks, for the engine."""
        clock = VirtualClock(self.now)
        return Reading(now=clock.now(), monotonic=clock.monotonic())

    @cached_property
    def snapshot(self) -> Snapshot:
        """The cluster as the engine sees it."""
        return self._snapshot()

    @cached_property
    def free(self) -> dict[NodeName, dict[str, int]]:
        """Node → resource → free amount in base units; a copy for planning."""
        return self._free()

    @cached_property
    def waiting(self) -> tuple[JobView, ...]:
        """The jobs without nodes, in the order of submission."""
        return self._waiting()

    @cached_property
    def running(self) -> tuple[JobView, ...]:
        """The jobs that have nodes, in the order of submission."""
        return self._running()

    def job(self, name: str) -> JobView | None:
        """The submitted, uncompleted job of that name; None if there is none."""
        return self._job(name)


class Decider(Protocol):
    """A scheduler.

    It runs when jobs arrived or completed (all of one moment at once), and when it asked to.
    """

    @property
    def oracle(self) -> bool:
        """Whether it sees the truth about jobs (``JobView.truth``)."""
        ...

    def decide(self, view: View) -> Sequence[Action]:
        """Return the actions to carry out now, in order.

        The caller raises ``IllegalActionError`` where one of them is impossible.
        """
        ...

    def wakes_at(self, now: float) -> float | None:
        """Return when to decide again if nothing happens before; None: not before.

        Called after each ``decide``; seconds from the start of the workload. ``now``: as soon as
        the actions are carried out.
        """
        ...


def next_tick(now: float, every_seconds: float) -> float:
    """Return the next multiple of ``every_seconds`` after now."""
    tick = (now // every_seconds + 1) * every_seconds
    return tick if tick > now else tick + every_seconds
