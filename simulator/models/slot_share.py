"""How much of a cluster a job takes: shares of what there is of each resource.

Worker servers and parameter-server servers are two kinds of capacity that cannot replace each
other, so that there are two shares for each resource.
"""

import numpy as np
from numpy.typing import NDArray

from extender.policy.slots import SlotCluster
from extender.policy.training_job import TrainingJob

FloatVector = NDArray[np.float64]


def worker_shares(job: TrainingJob, cluster: SlotCluster) -> FloatVector:
    """Return what one worker takes of each resource of all worker servers, 0…1."""
    return _shares(job.worker, cluster.worker_capacity.sum(axis=0))


def server_shares(job: TrainingJob, cluster: SlotCluster) -> FloatVector:
    """Return what one parameter server takes of each resource of all their servers, 0…1."""
    return _shares(job.server, cluster.server_capacity.sum(axis=0))


def _shares(demand: tuple[float, ...], total: FloatVector) -> FloatVector:
    """Return demand by total; 0 where there is nothing, because nobody can ask for it."""
    shares: FloatVector = np.divide(demand, total, out=np.zeros(len(total)), where=total > 0)
    return shares


def dominant(job: TrainingJob, cluster: SlotCluster) -> float:
    """Return the largest share that one worker takes together with its part of the servers."""
    carried = job.worker_bandwidth / job.server_bandwidth
    servers = float(server_shares(job, cluster).max())
    return max(float(worker_shares(job, cluster).max()), carried * servers)
