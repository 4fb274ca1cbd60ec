"""Machines over time slots: their capacity, committed amounts, and schedules on them.

Amounts are divided by the largest machine's, resource by resource, so that prices add like with
like: ``units`` returns the divisors of machines and jobs alike (docs/policies/schedule.md).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extender.core.pricing.training_job import TrainingJob

IntVector = NDArray[np.int64]
FloatVector = NDArray[np.float64]
FloatMatrix = NDArray[np.float64]
FloatCube = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Allocation:
    """Workers, or parameter servers, of one job: one entry for each machine and slot it uses.

    Attributes:
        slots: Slot of the entry, from 1; never falls.
        machines: Row of the machine in its pool; no machine twice in a slot.
        counts: Pods there, at least 1.
    """

    slots: IntVector
    machines: IntVector
    counts: IntVector

    @property
    def total(self) -> int:
        """Worker-slots, or server-slots, of all entries."""
        return int(self.counts.sum())

    def at(self, slot: int) -> dict[int, int]:
        """Return machine → count in one slot."""
        there = self.slots == slot
        pairs = zip(self.machines[there].tolist(), self.counts[there].tolist(), strict=True)
        return dict(pairs)

    def by_slot(self) -> dict[int, int]:
        """Return slot → count on all machines, for the slots in use."""
        slots, first = np.unique(self.slots, return_index=True)
        sums = np.add.reduceat(self.counts, first) if slots.size else self.counts
        return dict(zip(slots.tolist(), sums.tolist(), strict=True))

    def before(self, slot: int) -> "Allocation":
        """Return the entries of earlier slots."""
        return self._only(self.slots < slot)

    def since(self, slot: int) -> "Allocation":
        """Return the entries of this slot and later ones."""
        return self._only(self.slots >= slot)

    def _only(self, mask: NDArray[np.bool_]) -> "Allocation":
        return Allocation(self.slots[mask], self.machines[mask], self.counts[mask])


@dataclass(frozen=True, eq=False)
class Schedule:
    """A schedule l of one job.

    Attributes:
        payoff: Utility minus bill, the right side of (20).
        utility: f(completion - arrival).
        bill: Price of its resources over all slots, at the prices of the moment.
        completion_slot: Last slot with a worker.
        workers: y, on worker machines.
        servers: z, on server machines; on worker machines where ``colocated``.
        colocated: Whether workers and servers share one worker machine in each slot, and use no
            network.
        unit: Worker-slots that one step of the search counted (``coarsening``); 1: exact.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Sect. III; co-location: PD-ORS.
    """

    payoff: float
    utility: float
    bill: float
    completion_slot: int
    workers: Allocation
    servers: Allocation
    colocated: bool = False
    unit: int = 1


@dataclass(frozen=True, eq=False)
class SlotCluster:
    """The machines.

    Attributes:
        worker_capacity: c_h, (H, R), of the machines for workers.
        server_capacity: c_k, (K, R), of the other machines, for parameter servers.
        horizon: T, the last slot; slots count from 1.
        network: Column of the network's bandwidth, which a job on one machine does not use; None:
            there is no such column.
        common: Whether both kinds of machines are the same ones, row by row, so that workers and
            servers compete.
    """

    worker_capacity: FloatMatrix
    server_capacity: FloatMatrix
    horizon: int
    network: int | None = None
    common: bool = False


def units(worker_capacity: FloatMatrix, server_capacity: FloatMatrix) -> FloatVector:
    """Return the amounts of the largest machine of either pool; 1 where no machine has any."""
    largest = np.maximum(worker_capacity.max(axis=0), server_capacity.max(axis=0))
    return np.where(largest > 0, largest, 1.0)


def normalised(cluster: SlotCluster) -> SlotCluster:
    """Return the cluster with amounts as shares of the largest machine's."""
    by = units(cluster.worker_capacity, cluster.server_capacity)
    return replace(
        cluster,
        worker_capacity=cluster.worker_capacity / by,
        server_capacity=cluster.server_capacity / by,
    )


def in_units(job: TrainingJob, by: FloatVector) -> TrainingJob:
    """Return the job with its demands divided by ``by``; bandwidths b and B stay as they are."""
    return replace(
        job,
        worker=tuple((np.asarray(job.worker) / by).tolist()),
        server=tuple((np.asarray(job.server) / by).tolist()),
    )


class Pool:
    """Machines of one kind over the slots; changed only by the ``Commitments`` that hold it.

    Attributes:
        capacity: (R, M).
        used: Promised amounts, (R, T, M): the machines of one slot lie together.
    """

    def __init__(self, capacity: FloatMatrix, horizon: int) -> None:
        """Start with nothing promised; ``capacity`` is (M, R)."""
        self.capacity: FloatMatrix = np.ascontiguousarray(capacity.T, dtype=np.float64)
        resources, machines = self.capacity.shape
        self.used: FloatCube = np.zeros((resources, horizon, machines))

    def take(self, pods: Allocation, demand: tuple[float, ...], sign: float = 1.0) -> None:
        """Promise ``demand`` for each pod of the allocation; ``sign`` -1 gives it back."""
        for resource, amount in enumerate(demand):
            if amount:
                used = self.used[resource]
                used[pods.slots - 1, pods.machines] += sign * amount * pods.counts
                if sign < 0:
                    np.maximum(used, 0.0, out=used)


class Commitments:
    """g and v: the promised amounts of every machine in every slot.

    ``take`` and ``give_back`` change them in place, because a copy of all slots at each admission
    would cost more than the decision; so there is one owner, and ``copy`` for a second.
    """

    def __init__(self, cluster: SlotCluster) -> None:
        """Start with nothing promised."""
        self.cluster = cluster
        self.workers = Pool(cluster.worker_capacity, cluster.horizon)
        if cluster.common:
            self.servers = self.workers
        else:
            self.servers = Pool(cluster.server_capacity, cluster.horizon)

    @property
    def g(self) -> FloatCube:
        """Promised amounts of the worker machines, (T, H, R); a view."""
        return self.workers.used.transpose(1, 2, 0)

    @property
    def v(self) -> FloatCube:
        """Promised amounts of the server machines, (T, K, R); a view."""
        return self.servers.used.transpose(1, 2, 0)

    def take(self, job: TrainingJob, schedule: Schedule) -> None:
        """Promise the amounts of the job's schedule: lines 7 and 9 of Algorithm 1."""
        self._add(job, schedule, 1.0)

    def give_back(self, job: TrainingJob, schedule: Schedule) -> None:
        """Free the amounts of the job's schedule."""
        self._add(job, schedule, -1.0)

    def copy(self) -> "Commitments":
        """Return an equal one that shares nothing that changes."""
        twin = Commitments(self.cluster)
        twin.workers.used[:] = self.workers.used
        twin.servers.used[:] = self.servers.used
        return twin

    def _add(self, job: TrainingJob, schedule: Schedule, sign: float) -> None:
        if not schedule.colocated:
            self.workers.take(schedule.workers, job.worker, sign)
            self.servers.take(schedule.servers, job.server, sign)
            return
        self.workers.take(schedule.workers, offline(job.worker, self.cluster), sign)
        self.workers.take(schedule.servers, offline(job.server, self.cluster), sign)


def offline(demand: tuple[float, ...], cluster: SlotCluster) -> tuple[float, ...]:
    """Return the demand without the network, as on a machine that holds the whole job."""
    return tuple(0.0 if i == cluster.network else amount for i, amount in enumerate(demand))
