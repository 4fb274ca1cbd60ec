"""Who runs where in one slot, and what that takes of the servers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extender.policy.slots import FloatMatrix, SlotCluster, offline
from extender.policy.training_job import TrainingJob

IntVector = NDArray[np.int64]

RESOURCES: Final = ("gpu", "cpu", "memory", "disk", "bandwidth")
"""Columns of every matrix and demand: GPUs, vCPUs, GiB, GB, Gbit/s."""


@dataclass(frozen=True)
class Placement:
    """A job in one slot.

    Attributes:
        workers: How many on each worker server.
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
        """How many workers."""
        return int(self.workers.sum())


def used(
    jobs: Sequence[TrainingJob], placements: Sequence[Placement], cluster: SlotCluster
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return what the jobs take of the worker servers and of the others."""
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
    """Return one server of each kind that has all there is: a cluster without fragmentation."""
    return replace(
        cluster,
        worker_capacity=cluster.worker_capacity.sum(axis=0, keepdims=True),
        server_capacity=cluster.server_capacity.sum(axis=0, keepdims=True),
    )
