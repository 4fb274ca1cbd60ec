"""Placements of jobs in one slot: what they take, what is left, and a job's dominant share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extender.core.pricing.slots import FloatMatrix, FloatVector, SlotCluster, offline
from extender.core.pricing.training_job import TrainingJob

IntVector = NDArray[np.int64]

RESOURCES: Final = ("gpu", "cpu", "memory", "disk", "bandwidth")
"""Columns of every matrix and demand: GPUs, vCPUs, GiB, GB, Gbit/s."""


@dataclass(frozen=True)
class Placement:
    """The placement of a job in one slot.

    Attributes:
        workers: Workers on each worker server.
        servers: Parameter servers on each of the other servers; on each worker server where
            ``colocated``.
        colocated: Whether the job stays on one worker server and uses no network.
        pace: Worker-slots of work that one worker does in the slot; above 1 where its exchange is
            faster than the job's own.
    """

    workers: IntVector
    servers: IntVector
    colocated: bool = False
    pace: float = 1.0

    @property
    def width(self) -> int:
        """Number of workers."""
        return int(self.workers.sum())


def used(
    jobs: Sequence[TrainingJob], placements: Sequence[Placement], cluster: SlotCluster
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return what the jobs use of the worker servers and of the parameter-server servers."""
    workers = np.zeros(cluster.worker_capacity.shape)
    servers = np.zeros(cluster.server_capacity.shape)
    for job, placement in zip(jobs, placements, strict=True):
        if placement.colocated:
            workers += np.outer(placement.workers, offline(job.worker, cluster))
            workers += np.outer(placement.servers, offline(job.server, cluster))
        else:
            workers += np.outer(placement.workers, job.worker)
            servers += np.outer(placement.servers, job.server)
    return workers, servers


def aggregate(cluster: SlotCluster) -> SlotCluster:
    """Return one server of each kind with the total capacity: a cluster without fragmentation."""
    return replace(
        cluster,
        worker_capacity=cluster.worker_capacity.sum(axis=0, keepdims=True),
        server_capacity=cluster.server_capacity.sum(axis=0, keepdims=True),
    )


_ROUNDING: Final = 1e-9
"""Rounding error allowed when a worker just fits."""


class SlotRoom:
    """Free capacity of one slot; placing a job takes it away.

    Attributes:
        workers: Free capacity of each worker server.
        servers: Free capacity of each parameter-server server.
    """

    def __init__(self, cluster: SlotCluster) -> None:
        self.workers = cluster.worker_capacity.copy()
        self.servers = cluster.server_capacity.copy()
        self._next_worker = 0
        self._next_server = 0

    def most(self, job: TrainingJob, limit: int) -> int:
        """Return how many workers of a job still fit with their servers, up to ``limit``."""
        width = min(limit, int(fits(self.workers, job.worker).sum()))
        if not width:
            return 0
        servers = int(fits(self.servers, job.server).sum())
        carried = servers * job.server_bandwidth / job.worker_bandwidth
        return min(width, int(carried + _ROUNDING))

    def pack(self, job: TrainingJob, width: int) -> Placement:
        """Place ``width`` workers and their servers, filling each server before the next."""
        placement = Placement(
            _packed(fits(self.workers, job.worker), width),
            _packed(fits(self.servers, job.server), job.servers_for(width)),
        )
        self.take(job, placement)
        return placement

    def spread(self, job: TrainingJob, width: int) -> Placement:
        """Place ``width`` workers and their servers round robin."""
        workers, self._next_worker = _spread(
            fits(self.workers, job.worker), width, self._next_worker
        )
        servers, self._next_server = _spread(
            fits(self.servers, job.server), job.servers_for(width), self._next_server
        )
        placement = Placement(workers, servers)
        self.take(job, placement)
        return placement

    def take(self, job: TrainingJob, placement: Placement) -> None:
        """Take what a placement uses."""
        self.workers -= np.outer(placement.workers, job.worker)
        self.servers -= np.outer(placement.servers, job.server)


def fits(free: FloatMatrix, demand: tuple[float, ...]) -> IntVector:
    """Return how many times a demand fits on each server; zero demands do not limit."""
    columns, amounts = _requested(demand)
    times = (free[:, columns] / amounts).min(axis=1)
    whole: IntVector = np.maximum(np.floor(times + _ROUNDING), 0).astype(np.int64)
    return whole


@lru_cache(maxsize=4096)
def _requested(demand: tuple[float, ...]) -> tuple[list[int], FloatVector]:
    """Return the columns with a demand, and the amounts."""
    columns = [column for column, amount in enumerate(demand) if amount > 0]
    return columns, np.array([demand[column] for column in columns])


def _packed(room: IntVector, count: int) -> IntVector:
    before = np.cumsum(room) - room
    given: IntVector = np.clip(count - before, 0, room)
    return given


def _spread(room: IntVector, count: int, first: int) -> tuple[IntVector, int]:
    """Return the counts and the next server in turn."""
    given = np.zeros_like(room)
    turn = np.roll(np.arange(len(room)), -first)
    while count:
        willing = turn[given[turn] < room[turn]][:count]
        if not len(willing):
            raise ValueError("no server fits: place a job only where it fits")
        given[willing] += 1
        count -= len(willing)
        first = int(willing[-1] + 1) % len(room)
    return given, first


def worker_shares(job: TrainingJob, cluster: SlotCluster) -> FloatVector:
    """Return the share that one worker takes of each resource of all worker servers, 0…1."""
    return _shares(job.worker, cluster.worker_capacity.sum(axis=0))


def server_shares(job: TrainingJob, cluster: SlotCluster) -> FloatVector:
    """Return the share that one parameter server takes of each resource of its servers, 0…1."""
    return _shares(job.server, cluster.server_capacity.sum(axis=0))


def _shares(demand: tuple[float, ...], total: FloatVector) -> FloatVector:
    """Return demand by total; 0 where the total is 0, as no job can demand it."""
    shares: FloatVector = np.divide(demand, total, out=np.zeros(len(total)), where=total > 0)
    return shares


def dominant(job: TrainingJob, cluster: SlotCluster) -> float:
    """Return the largest share that one worker takes together with its part of the servers."""
    carried = job.worker_bandwidth / job.server_bandwidth
    servers = float(server_shares(job, cluster).max())
    return max(float(worker_shares(job, cluster).max()), carried * servers)
