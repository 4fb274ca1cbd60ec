"""DRF without whole workers: the dominant shares that Dorm measures unfairness against."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from extender.policy.slots import FloatVector, SlotCluster
from extender.policy.training_job import TrainingJob
from simulator.models.slot_share import server_shares, worker_shares

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
