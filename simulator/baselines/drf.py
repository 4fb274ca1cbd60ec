"""DRF: dominant resource fairness by progressive filling, with whole workers and without."""

import heapq
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extender.core.pricing.slots import FloatMatrix, FloatVector, SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.models.slot_placement import Placement, server_shares, worker_shares
from simulator.models.slot_world import SlotWorkload, Unfinished, best_worth

BoolVector = NDArray[np.bool_]

_ROUNDING: Final = 1e-9
"""Rounding error allowed when a worker just fits."""
HOPELESS: Final = 0.5
"""Utility below which the repaired variant drops a job; priorities go from 1 to 100."""


class Drf:
    """The next worker goes to the job with the smallest dominant share; recomputed at every event.

    From the paper: all jobs are admitted, shares are recomputed when a job arrives or completes,
    round-robin placement. Assumed: a bundle is one worker and the servers it needs in addition;
    worker servers and server servers are separate resources; a job that no longer fits or has N
    workers gets no more; any job may be placed elsewhere at no cost.

    Source:
        Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, Algorithm 1; as the paper uses it:
        Bao, Peng, Wu, Li, INFOCOM 2018, Sect. V.
    """

    def __init__(self, workload: SlotWorkload, drop_below: float = 0.0) -> None:
        self._cluster = workload.cluster
        self._bundles = [_Bundle(job, workload.cluster) for job in workload.jobs]
        self._drop_below = drop_below
        self._running: Mapping[int, Placement] = {}
        self._dropped: set[int] = set()

    def allocate(
        self, slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Fill again if a job arrived, completed or was dropped."""
        dropped = len(self._dropped)
        for state in unfinished if self._drop_below else ():
            if best_worth(state.job, slot, state.remaining) < self._drop_below:
                self._dropped.add(state.index)
        if changed or len(self._dropped) > dropped:
            served = [state for state in unfinished if state.index not in self._dropped]
            bundles = [self._bundles[state.index] for state in served]
            placed = _Filling(bundles, self._cluster).run()
            self._running = {
                state.index: placement
                for state, placement in zip(served, placed, strict=True)
                if placement.width
            }
        return self._running


def with_drop(workload: SlotWorkload) -> Drf:
    """Return DRF that drops a job once its best possible completion is worth too little.

    Not of the paper: the smallest fix of DRF's weakness here, that it serves hopeless jobs.
    """
    return Drf(workload, HOPELESS)


class _Bundle:
    """What one worker and one server of a job take; computed once for many fillings."""

    def __init__(self, job: TrainingJob, cluster: SlotCluster) -> None:
        self.job = job
        self.worker, self.server = np.array(job.worker), np.array(job.server)
        self.worker_share = float(worker_shares(job, cluster).max())
        self.server_share = float(server_shares(job, cluster).max())


class _Filling:
    """One progressive filling; call ``run`` once."""

    def __init__(self, bundles: Sequence[_Bundle], cluster: SlotCluster) -> None:
        self._bundles = bundles
        self._workers, self._servers = (
            cluster.worker_capacity.copy(),
            cluster.server_capacity.copy(),
        )
        self._y = np.zeros((len(bundles), len(self._workers)), dtype=np.int64)
        self._z = np.zeros((len(bundles), len(self._servers)), dtype=np.int64)
        self._next_worker = self._next_server = 0

    def run(self) -> list[Placement]:
        """Return the placement of each job."""
        poorest = [(0.0, index, 0) for index in range(len(self._bundles))]
        while poorest:
            _, index, width = heapq.heappop(poorest)
            bundle = self._bundles[index]
            if width >= bundle.job.chunks or not self._grow(index, width):
                continue
            servers = bundle.job.servers_for(width + 1)
            share = max((width + 1) * bundle.worker_share, servers * bundle.server_share)
            heapq.heappush(poorest, (share, index, width + 1))
        return [Placement(y, z) for y, z in zip(self._y, self._z, strict=True)]

    def _grow(self, index: int, width: int) -> bool:
        """Add one worker and the servers it needs; return True if they fitted."""
        bundle = self._bundles[index]
        host = _next(self._workers, bundle.worker, self._next_worker)
        if host is None:
            return False
        if bundle.job.servers_for(width + 1) > bundle.job.servers_for(width):
            server_host = _next(self._servers, bundle.server, self._next_server)
            if server_host is None:
                return False
            self._servers[server_host] -= bundle.server
            self._z[index, server_host] += 1
            self._next_server = server_host + 1
        self._workers[host] -= bundle.worker
        self._y[index, host] += 1
        self._next_worker = host + 1
        return True


def _next(free: FloatMatrix, demand: FloatVector, first: int) -> int | None:
    """Return the next server in turn that fits one more; ``first`` may be one past the last."""
    room: BoolVector = np.logical_and.reduce(free >= demand - _ROUNDING, axis=1)
    for begin in (first % len(room), 0):
        at = begin + int(room[begin:].argmax())
        if room[at]:
            return at
    return None


_FULL: Final = 1e-9
"""Of a resource: less is nothing."""


def fluid_shares(jobs: Sequence[TrainingJob], cluster: SlotCluster) -> FloatVector:
    """Return each job's dominant share when all shares grow alike until something is full.

    A job stops growing when a resource it needs is full or it has N workers; the others go on.

    Source:
        Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, progressive filling with divisible
        tasks, capacities as sums over the servers.
    """
    needs = np.array([_needs(job, cluster) for job in jobs])
    dominant = needs.max(axis=1)
    per_share = needs / dominant[:, None]
    most = dominant * np.array([job.chunks for job in jobs])
    shares = np.zeros(len(jobs))
    free = np.ones(needs.shape[1])
    growing = np.ones(len(jobs), dtype=bool)
    while growing.any():
        rate = per_share[growing].sum(axis=0)
        step = min(
            float((free[rate > 0] / rate[rate > 0]).min()),
            float((most - shares)[growing].min()),
        )
        shares[growing] += step
        free = np.maximum(free - step * rate, 0.0)
        blocked = (per_share[:, free < _FULL] > 0).any(axis=1)
        growing &= ~blocked & (most - shares > _FULL * most)
    return shares


def _needs(job: TrainingJob, cluster: SlotCluster) -> FloatVector:
    """Return the shares one worker takes together with its part of the servers."""
    carried = job.worker_bandwidth / job.server_bandwidth
    return np.concatenate([worker_shares(job, cluster), carried * server_shares(job, cluster)])
