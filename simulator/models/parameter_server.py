"""Fluid model of training with parameter servers on the nodes of a cluster.

A job works at the rate that ``extender.core.elastic.speed`` gives for its workers and their
nodes; while its workers change it pauses. Time jumps from event to event: an arrival, a completion,
or the scheduler's tick.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from extender.core.elastic.speed import Speed
from extender.core.nodes.class_masks import MaskCache
from extender.core.nodes.node_table import NodeTable
from shared.model import Node, NodeName, PodShape, Uid

Amounts = tuple[int, int]
"""Milli-CPU and bytes of memory."""

LONGEST_SECONDS: Final = 1e7
"""A longer run never ends: some job does not fit."""


@dataclass(frozen=True)
class ServerJob:
    """A job with parameter servers.

    Attributes:
        name: Unique in its run.
        arrives_at: Seconds from the start.
        utility: U; larger is more important.
        server: Request of each server.
        servers: Number of servers.
        worker: Request of each worker.
        least: Fewest workers.
        wanted: Workers at its start.
        most: Most workers.
        speed: Its speed by workers and nodes.
        work: Samples.
        pause_seconds: Pause when its workers change.
    """

    name: str
    arrives_at: float
    utility: int
    server: Amounts
    servers: int
    worker: Amounts
    least: int
    wanted: int
    most: int
    speed: Speed
    work: float
    pause_seconds: float = 5.0

    def request(self, workers: int) -> Amounts:
        """Return the request of all its pods together."""
        cpu = self.servers * self.server[0] + workers * self.worker[0]
        return cpu, self.servers * self.server[1] + workers * self.worker[1]


class Training:
    """A running job.

    Attributes:
        job: The job.
        servers: Node of each server.
        workers: Node of each worker, in the order in which they were added.
        rate: Samples per second while it does not pause.
        left: Samples left.
        paused_until: End of its pause.
        rescales: Changes of its workers.
    """

    def __init__(self, job: ServerJob, servers: Sequence[str], workers: Sequence[str]) -> None:
        self.job = job
        self.servers = tuple(servers)
        self.workers: list[str] = []
        self.rate = 0.0
        self.place_workers(workers)
        self.left = job.work
        self.paused_until = 0.0
        self.rescales = 0

    def place_workers(self, workers: Sequence[str]) -> None:
        """Put its workers on these nodes, and update the rate."""
        self.workers = list(workers)
        near = sum(node in self.servers for node in workers) / max(1, len(workers))
        self.rate = self.job.speed.rate(len(workers), self.job.servers, near)

    def ends_at(self, now: float) -> float:
        """Return its completion if nothing changes."""
        begins = max(now, self.paused_until)
        return begins + self.left / self.rate if self.rate > 0.0 else math.inf

    def advance(self, now: float, until: float) -> None:
        """Let it train from ``now`` to ``until``."""
        trains = max(0.0, until - max(now, self.paused_until))
        self.left = max(0.0, self.left - trains * self.rate)


class Site:
    """The cluster and its jobs, as schedulers see and change them.

    Attributes:
        capacity: Node → capacity.
        free: Node → free amounts.
        waiting: Jobs that arrived and have not started, in order of arrival.
        running: Name → job, in order of start.
        changes: Number of changes so far; while it is equal, only time has passed.
    """

    def __init__(self, capacity: Mapping[str, Amounts]) -> None:
        self.capacity = dict(capacity)
        self.free = dict(capacity)
        self.waiting: list[ServerJob] = []
        self.running: dict[str, Training] = {}
        self.changes = 0

    def fits(self, node: str, amounts: Amounts) -> bool:
        """Return True if these amounts are free on a node."""
        return self.free[node][0] >= amounts[0] and self.free[node][1] >= amounts[1]

    def take(self, node: str, amounts: Amounts) -> None:
        """Take amounts on a node.

        Raises:
            ValueError: They are not free.
        """
        if not self.fits(node, amounts):
            raise ValueError(f"{node} has {self.free[node]} free, expected at least {amounts}")
        self.free[node] = (self.free[node][0] - amounts[0], self.free[node][1] - amounts[1])

    def give(self, node: str, amounts: Amounts) -> None:
        """Give amounts on a node back."""
        self.free[node] = (self.free[node][0] + amounts[0], self.free[node][1] + amounts[1])

    def begin(self, job: ServerJob, servers: Sequence[str], workers: Sequence[str]) -> None:
        """Take what all pods of a waiting job need, and start it."""
        for node in servers:
            self.take(node, job.server)
        for node in workers:
            self.take(node, job.worker)
        self.begin_on_taken(job, servers, workers)

    def begin_on_taken(
        self, job: ServerJob, servers: Sequence[str], workers: Sequence[str]
    ) -> None:
        """Start a waiting job for which everything is taken already."""
        self.waiting.remove(job)
        self.running[job.name] = Training(job, servers, workers)
        self.changes += 1

    def rescale(self, changed: Mapping[str, Sequence[str]], now: float) -> None:
        """Change the workers of running jobs at once; each job pauses once.

        Args:
            changed: Name → nodes of all its workers from now on.
            now: Seconds from the start.
        """
        for name in changed:
            for node in self.running[name].workers:
                self.give(node, self.running[name].job.worker)
        for name, workers in changed.items():
            training = self.running[name]
            for node in workers:
                self.take(node, training.job.worker)
            training.place_workers(workers)
            training.paused_until = now + training.job.pause_seconds
            training.rescales += 1
        self.changes += bool(changed)

    def end(self, name: str) -> None:
        """Remove a completed job and free its nodes."""
        training = self.running.pop(name)
        for node in training.servers:
            self.give(node, training.job.server)
        for node in training.workers:
            self.give(node, training.job.worker)
        self.changes += 1


class Scheduler(Protocol):
    """A scheduler, called at every arrival, completion and tick."""

    def act(self, site: Site, now: float) -> None:
        """Start and rescale jobs."""
        ...


@dataclass(frozen=True)
class Done:
    """A completed job."""

    job: ServerJob
    ended_at: float
    rescales: int

    @property
    def seconds(self) -> float:
        """Seconds from arrival to completion."""
        return self.ended_at - self.job.arrives_at


def run(
    jobs: Iterable[ServerJob],
    capacity: Mapping[str, Amounts],
    scheduler: Scheduler,
    tick_seconds: float = 15.0,
) -> tuple[Done, ...]:
    """Run the jobs and return them in order of completion.

    Args:
        jobs: The jobs.
        capacity: Node → capacity.
        scheduler: Called at arrivals, completions and ticks; serves one run.
        tick_seconds: Interval of ticks.

    Raises:
        ValueError: Some job never completes.
    """
    site, done = Site(capacity), list[Done]()
    coming = sorted(jobs, key=lambda job: (job.arrives_at, job.name))
    now, ticks = 0.0, 0
    while coming or site.waiting or site.running:
        ends = {name: training.ends_at(now) for name, training in site.running.items()}
        arrival = coming[0].arrives_at if coming else math.inf
        at = min([arrival, ticks * tick_seconds, *ends.values()])
        if at > LONGEST_SECONDS:
            raise ValueError(f"{[job.name for job in site.waiting]} never complete")
        for training in site.running.values():
            training.advance(now, at)
        now = at
        ticks += at >= ticks * tick_seconds
        for name in [name for name, end in ends.items() if end <= at]:
            done.append(Done(site.running[name].job, at, site.running[name].rescales))
            site.end(name)
        while coming and coming[0].arrives_at <= at:
            site.waiting.append(coming.pop(0))
            site.changes += 1
        scheduler.act(site, now)
    return tuple(done)


RESOURCES = ("cpu", "memory", "pods")
MOST_PODS = 110


class NodeTables:
    """Builds node tables of one cluster, whose nodes do not change."""

    def __init__(self, site: Site) -> None:
        self._nodes = tuple(
            Node(
                name=NodeName(name),
                uid=Uid(name),
                allocatable=dict(zip(RESOURCES, (*amounts, MOST_PODS), strict=True)),
            )
            for name, amounts in sorted(site.capacity.items())
        )
        self._classes = MaskCache(self._nodes)
        self._allocatable = np.array(
            [[node.allocatable[name] for name in RESOURCES] for node in self._nodes], dtype=np.int64
        )
        self._index = {node.name: i for i, node in enumerate(self._nodes)}

    def table(self, site: Site) -> NodeTable:
        """Return the free amounts as a node table; pods are not counted."""
        free = np.array([(*site.free[node.name], MOST_PODS) for node in self._nodes], np.int64)
        return NodeTable(
            nodes=self._nodes,
            resources=RESOURCES,
            allocatable=self._allocatable,
            used=self._allocatable - free,
            ports=(frozenset(),) * len(self._nodes),
            classes=self._classes,
            index=self._index,
        )


def shape(amounts: Amounts) -> PodShape:
    """Return the shape of a pod that requests these amounts."""
    return PodShape(requests=(("cpu", amounts[0]), ("memory", amounts[1]), ("pods", 1)))
