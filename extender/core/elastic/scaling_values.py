"""Jobs whose number of workers may change, and what a plan does to them: values of ``scaling``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from extender.core.elastic.speed import Speed
from extender.core.nodes.node_table import NodeTable
from extender.core.placement.placement import Placement
from extender.core.queue.weighting import Weight
from shared.model import JobKey, NodeName, PodShape, Uid

Place = Callable[[JobKey, int, NodeTable], Placement | None]
"""Reservations for all servers and so many workers of a waiting job, all or none.

It must depend on nothing but what it is given: the same room, the same reservations.
"""


@dataclass(frozen=True)
class Elastic:
    """A job with a number of workers between two others.

    Attributes:
        weight: Its key in the order ``weighting``.
        created_at: Seconds since the epoch; between jobs of equal weight the older goes first.
        uid: The last key of that order.
        least: Fewest workers it can train with, at least 1.
        most: Most workers it may have.
        worker: What a worker asks for.
        server: What a parameter server asks for; None: it has none.
        servers: How many it has.
        speed: How fast it trains; None: not known.
        left: Samples that are left; None: not known.
        pause_seconds: For how long it does not train when its workers change.
    """

    weight: Weight
    created_at: float
    uid: Uid
    least: int
    most: int
    worker: PodShape
    server: PodShape | None = None
    servers: int = 0
    speed: Speed | None = None
    left: float | None = None
    pause_seconds: float = 5.0

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most or (self.servers > 0) != (self.server is not None):
            raise ValueError(
                f"{self.job}: {self.least} to {self.most} workers, {self.servers} servers: "
                "expected 1 ≤ least ≤ most, and a shape where there are servers"
            )

    @property
    def job(self) -> JobKey:
        """The job."""
        return self.weight.job

    @property
    def rank(self) -> tuple[float, float, float, str]:
        """A total order, the most important first."""
        return (-self.weight.utility, -self.weight.size, self.created_at, self.uid)


@dataclass(frozen=True)
class Worker:
    """A worker that has a reservation."""

    uid: Uid
    node: NodeName


@dataclass(frozen=True)
class Running:
    """A job that runs.

    Attributes:
        elastic: The job.
        workers: Its workers in the order in which its owner gives them up, the first goes first;
            most owners give up the highest index first.
        servers: Nodes of its servers.
        any_worker: Its owner gives up whichever worker is named, so the order does not matter.
    """

    elastic: Elastic
    workers: tuple[Worker, ...]
    servers: tuple[NodeName, ...] = ()
    any_worker: bool = False

    def without(self, uid: Uid) -> "Running":
        """Return the job without one worker."""
        return replace(self, workers=tuple(w for w in self.workers if w.uid != uid))

    def with_one(self, worker: Worker) -> "Running":
        """Return the job with one more, which is the first to go again."""
        return replace(self, workers=(worker, *self.workers))

    @property
    def may_go(self) -> tuple[Worker, ...]:
        """The workers among which the next one to leave can be chosen."""
        return self.workers if self.any_worker else self.workers[:1]

    def seconds_left(self) -> float | None:
        """Return how long it still trains with its workers where they are; None if not known."""
        if self.elastic.speed is None or self.elastic.left is None:
            return None
        near = sum(w.node in self.servers for w in self.workers) / max(1, len(self.workers))
        rate = self.elastic.speed.rate(len(self.workers), self.elastic.servers, near)
        return self.elastic.left / rate if rate > 0.0 else float("inf")


@dataclass(frozen=True)
class Candidate:
    """A job that waits.

    Attributes:
        elastic: The job.
        wanted: With how many workers it should start, ``least`` … ``most``.
        waited_seconds: Since it could first have started.
    """

    elastic: Elastic
    wanted: int
    waited_seconds: float = 0.0


class Why(StrEnum):
    """Why a plan does what it does."""

    FITS = "Fits"
    """A start: there is room."""
    MORE_IMPORTANT = "MoreImportant"
    """A start, or a removal for it: no running job is as important."""
    STARVING = "Starving"
    """A start, or a removal for it: the job has waited too long."""
    SLOWS = "Slows"
    """A removal: the job is faster without this worker."""
    SAVES_TIME = "SavesTime"
    """An addition: of all jobs this one gains most from the room it takes."""
    ROOM_LEFT = "RoomLeft"
    """An addition: there is room, and no waiting job could use it now."""


@dataclass(frozen=True)
class Start:
    """A job that starts, with so many workers, on these reservations."""

    job: JobKey
    workers: int
    placement: Placement
    why: Why


@dataclass(frozen=True)
class Removal:
    """A worker that leaves; ``starts`` is the job that gets its room, None if none does."""

    job: JobKey
    worker: Worker
    why: Why
    starts: JobKey | None = None
    saved_seconds: float | None = None


@dataclass(frozen=True)
class Addition:
    """A worker more, and the node for it; ``saved_seconds`` of training, None if not known."""

    job: JobKey
    node: NodeName
    why: Why
    saved_seconds: float | None = None


@dataclass(frozen=True)
class ScalingPlan:
    """What is to be done; a start that has removals comes after them."""

    starts: tuple[Start, ...] = ()
    removals: tuple[Removal, ...] = ()
    additions: tuple[Addition, ...] = ()


@dataclass(frozen=True)
class Draft:
    """The cluster as the plan under way leaves it."""

    node_table: NodeTable
    running: Mapping[JobKey, Running] = field(default_factory=dict)

    def without(self, job: JobKey, worker: Worker) -> "Draft":
        """Return the draft with one worker gone."""
        before = self.running[job]
        row = self.node_table.index.get(worker.node)
        node_table = freed(self.node_table, before.elastic.worker, row)
        return Draft(node_table, {**self.running, job: before.without(worker.uid)})

    def with_one(self, job: JobKey, worker: Worker) -> "Draft":
        """Return the draft with one worker more."""
        before = self.running[job]
        room = self.node_table.with_pods(
            [(before.elastic.worker, self.node_table.index[worker.node])]
        )
        return Draft(room, {**self.running, job: before.with_one(worker)})

    def with_back(self, job: JobKey, worker: Worker) -> "Draft":
        """Return the draft with a worker back that had left; nothing is taken on a node gone."""
        if worker.node in self.node_table.index:
            return self.with_one(job, worker)
        return Draft(self.node_table, {**self.running, job: self.running[job].with_one(worker)})

    def in_order(self) -> Sequence[Running]:
        """The running jobs, the most important first."""
        return sorted(self.running.values(), key=lambda one: one.elastic.rank)


def freed(room: NodeTable, shape: PodShape, node: int | None) -> NodeTable:
    """Return the room without one pod; the same room where its node is gone."""
    if node is None:
        return room
    used, ports = room.used.copy(), list(room.ports)
    used[node] -= room.demand(shape)
    ports[node] = ports[node] - frozenset(shape.host_ports)
    return room.replaced(used=used, ports=tuple(ports))
