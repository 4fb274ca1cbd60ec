"""One scheduling cycle on an empty cluster: by the extender, and by Volcano."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import numpy as np

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState, QueueTrigger
from extender.store.store import ClusterStore
from shared import labels
from shared.model import JobKey, Upsert
from simulator.cluster import objects
from simulator.cluster.actions import SERVER, WORKER
from simulator.cluster.events import EPOCH_SECONDS
from simulator.cluster.objects import pod_name
from simulator.workload import Job, Machine

GIB: Final = 2**30
MILLI: Final = 1000


class OnceDone:
    """A speed that is never used: no job runs here."""

    def rate(self, workers: int, nodes: int) -> float:
        """Return one unit per second and worker."""
        return float(workers) if nodes else 0.0


@dataclass(frozen=True)
class Started:
    """A started job: its pods in order of their Bindings, and their nodes."""

    job: str
    pods: tuple[tuple[str, str], ...]


def machines(number: int, cpu: int) -> tuple[Machine, ...]:
    """Return equal nodes with twice as many GiB of memory as CPUs."""
    allocatable = {"cpu": cpu * MILLI, "memory": 2 * cpu * GIB}
    return tuple(Machine(f"node-{i}", allocatable) for i in range(number))


def pods_of(cpu: int) -> dict[str, int]:
    """Return the request of a pod of so many CPUs and GiB."""
    return {"cpu": cpu * MILLI, "memory": cpu * GIB}


def job(name: str, cpu: int, workers: int, servers: int = 0) -> Job:
    """Return a job of equal pods, with the affinity of the paper's Fig. 3."""
    notes = {labels.AFFINITY: "ps,worker", labels.ANTI_AFFINITY: "ps"} if servers else {}
    return Job(
        name=name,
        namespace=name,  # each job has its own user
        submitted_at=0.0,
        workers=workers,
        worker=pods_of(cpu),
        servers=servers,
        server=pods_of(cpu),
        work=1.0,
        speed=OnceDone(),
        annotations=notes,
    )


def submitted(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Return the jobs submitted a second apart, in the given order."""
    return tuple(replace(job, submitted_at=float(i)) for i, job in enumerate(jobs))


def cycle(
    jobs: Sequence[Job], nodes: Sequence[Machine], params: CoreParameters
) -> tuple[Started, ...]:
    """Return the jobs that one cycle starts, in order, while all jobs wait."""
    store = ClusterStore(params.scheduler_name)
    for machine in nodes:
        store.apply(Upsert(objects.node(machine)))
    for namespace in objects.namespaces(jobs):
        store.apply(Upsert(namespace))
    for number, job in zip(count(), jobs, strict=False):
        for pod in objects.pods(job, number):
            store.apply(Upsert(pod))
    now = EPOCH_SECONDS + max(job.submitted_at for job in jobs) + 1.0
    outcome = QUEUE.decide(
        Session(store.snapshot(), Reading(now, now), params), QueueState(), QueueTrigger()
    )
    return tuple(_started(job) for job in outcome.commands if isinstance(job, ReleaseGang))


def _started(release: ReleaseGang) -> Started:
    pods = tuple((pod.pod.partition("/")[2], pod.node or "") for pod in release.pods)
    return Started(objects.job_name(JobKey(release.job)), pods)


_RESOURCES: Final = ("cpu", "memory")
_FULL: Final = 100.0


def order(jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return the names of the jobs in Volcano's order, if all fit."""
    ranked = sorted(jobs, key=lambda job: (-job.class_value, job.submitted_at))
    return tuple(job.name for job in ranked)


def placed(job: Job, nodes: Sequence[Machine], rng: np.random.Generator) -> Started:
    """Return the nodes of a job's pods, in the order in which Volcano places them.

    Raises:
        ValueError: The cluster is too small.
    """
    names = [pod_name(job.name, SERVER, i) for i in range(job.servers)]
    names += [pod_name(job.name, WORKER, i) for i in range(job.workers)]
    demands = [job.server] * job.servers + [job.worker] * job.workers
    requests = np.array(
        [[demand[name] for name in _RESOURCES] for demand in demands], dtype=np.float64
    )
    whole = np.array([[n.allocatable[name] for name in _RESOURCES] for n in nodes], np.float64)
    used = np.zeros_like(whole)
    pods: list[tuple[str, str]] = []
    for index in rng.permutation(len(names)):
        then = used + requests[index]
        fits = (then <= whole).all(axis=1)
        if not fits.any():
            raise ValueError(f"{job.name} does not fit into {len(nodes)} nodes")
        scores = np.where(fits, _scores(then / whole), -np.inf)
        node = int(rng.choice(np.flatnonzero(scores == scores.max())))
        used[node] += requests[index]
        pods.append((names[index], nodes[node].name))
    return Started(job.name, tuple(pods))


def _scores(used: np.ndarray) -> np.ndarray:
    """Return LeastAllocated plus BalancedAllocation of each node, as integers like Volcano."""
    least = np.floor(((1.0 - used) * _FULL).mean(axis=1))
    balanced = np.floor((1.0 - used.std(axis=1)) * _FULL)
    total: np.ndarray = least + balanced
    return total
