"""What is left of a slot, and ways to put a job into it."""

from functools import lru_cache
from typing import Final

import numpy as np

from extender.policy.slots import FloatMatrix, FloatVector, SlotCluster
from extender.policy.training_job import TrainingJob
from simulator.models.slot_placement import IntVector, Placement

_ROUNDING: Final = 1e-9
"""What is missing for a whole worker and is only rounding."""


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
        """Return how many workers of a job still fit with their servers, ``limit`` at most."""
        width = min(limit, int(fits(self.workers, job.worker).sum()))
        if not width:
            return 0
        servers = int(fits(self.servers, job.server).sum())
        carried = servers * job.server_bandwidth / job.worker_bandwidth
        return min(width, int(carried + _ROUNDING))

    def pack(self, job: TrainingJob, width: int) -> Placement:
        """Place ``width`` workers and their servers, each server filled before the next."""
        placement = Placement(
            _packed(fits(self.workers, job.worker), width),
            _packed(fits(self.servers, job.server), job.servers_for(width)),
        )
        self.take(job, placement)
        return placement

    def spread(self, job: TrainingJob, width: int) -> Placement:
        """Place ``width`` workers and their servers one at a time on the next server in turn."""
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
        """Take away what a placement uses."""
        self.workers -= np.outer(placement.workers, job.worker)
        self.servers -= np.outer(placement.servers, job.server)


def fits(free: FloatMatrix, demand: tuple[float, ...]) -> IntVector:
    """Return how many times a demand fits on each server; what is not asked for does not limit."""
    asked, amounts = _asked(demand)
    times = (free[:, asked] / amounts).min(axis=1)
    whole: IntVector = np.maximum(np.floor(times + _ROUNDING), 0).astype(np.int64)
    return whole


@lru_cache(maxsize=4096)
def _asked(demand: tuple[float, ...]) -> tuple[list[int], FloatVector]:
    """Return the columns that a demand asks for, and how much of each."""
    asked = [column for column, amount in enumerate(demand) if amount > 0]
    return asked, np.array([demand[column] for column in asked])


def _packed(room: IntVector, count: int) -> IntVector:
    before = np.cumsum(room) - room
    given: IntVector = np.clip(count - before, 0, room)
    return given


def _spread(room: IntVector, count: int, first: int) -> tuple[IntVector, int]:
    """Return the counts and the server whose turn is next."""
    given = np.zeros_like(room)
    turn = np.roll(np.arange(len(room)), -first)
    while count:
        willing = turn[given[turn] < room[turn]][:count]
        if not len(willing):
            raise ValueError("no room: a job is placed only where it fits")
        given[willing] += 1
        count -= len(willing)
        first = int(willing[-1] + 1) % len(room)
    return given, first
