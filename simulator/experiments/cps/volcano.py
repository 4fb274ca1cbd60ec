"""What CPS is compared with: Volcano without plugins of its own.

Jobs by PriorityClass, then by creation. Pods of a job by priority, creation time and uid: pods that
one controller makes within a second are in random order. Nodes by free CPU and memory and by how
evenly both are used; among the best nodes one is drawn.

Source:
    volcano.sh v1.9 pkg/scheduler: plugins ``priority``, ``nodeorder`` (leastrequested and
    balancedresource with weight 1), ``util.SelectBestNode`` (random among equals); the scores are
    those of kube-scheduler's LeastAllocated and BalancedAllocation.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simulator.cluster.actions import SERVER, WORKER
from simulator.cluster.objects import pod_name
from simulator.experiments.cps.live import Started
from simulator.workload import Job, Machine

_RESOURCES: Final = ("cpu", "memory")
_FULL: Final = 100.0


def order(jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return the names of the jobs in the order in which they start where all fit."""
    ranked = sorted(jobs, key=lambda one: (-one.class_value, one.submitted_at))
    return tuple(one.name for one in ranked)


def placed(job: Job, nodes: Sequence[Machine], dice: np.random.Generator) -> Started:
    """Return where the pods of a job go, one by one, in the order in which they are taken.

    Raises:
        ValueError: The cluster is too small.
    """
    names = [pod_name(job.name, SERVER, i) for i in range(job.servers)]
    names += [pod_name(job.name, WORKER, i) for i in range(job.workers)]
    asked = [job.server] * job.servers + [job.worker] * job.workers
    requests = np.array([[one[name] for name in _RESOURCES] for one in asked], dtype=np.float64)
    whole = np.array([[n.allocatable[name] for name in _RESOURCES] for n in nodes], np.float64)
    used = np.zeros_like(whole)
    pods: list[tuple[str, str]] = []
    for index in dice.permutation(len(names)):
        then = used + requests[index]
        fits = (then <= whole).all(axis=1)
        if not fits.any():
            raise ValueError(f"{job.name} does not fit into {len(nodes)} nodes")
        scores = np.where(fits, _scores(then / whole), -np.inf)
        node = int(dice.choice(np.flatnonzero(scores == scores.max())))
        used[node] += requests[index]
        pods.append((names[index], nodes[node].name))
    return Started(job.name, tuple(pods))


def _scores(used: np.ndarray) -> np.ndarray:
    """Return LeastAllocated plus BalancedAllocation of each node, integers as there."""
    least = np.floor(((1.0 - used) * _FULL).mean(axis=1))
    balanced = np.floor((1.0 - used.std(axis=1)) * _FULL)
    total: np.ndarray = least + balanced
    return total
