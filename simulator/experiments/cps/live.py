"""One scheduling cycle of the extender on an empty cluster: who starts, in which order, where."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from extender.engine import queueing
from extender.engine.commands import ReleaseGang
from extender.engine.memory import Memory, Reading
from extender.engine.parameters import EngineParameters
from extender.state.store import ClusterStore
from shared import labels
from shared.model import JobKey, Upsert
from simulator.cluster import objects
from simulator.cluster.clock import EPOCH_SECONDS
from simulator.workload import Job, Machine

GIB: Final = 2**30
MILLI: Final = 1000


class OnceDone:
    """A speed nobody asks for: here nothing runs."""

    def rate(self, workers: int, nodes: int) -> float:
        """Return one unit a second for each worker, wherever it is."""
        return float(workers) if nodes else 0.0


@dataclass(frozen=True)
class Started:
    """A job that got its seats: its pods in the order of their Bindings, and their nodes."""

    job: str
    pods: tuple[tuple[str, str], ...]


def machines(number: int, cpu: int) -> tuple[Machine, ...]:
    """Return equal nodes with twice as many GiB of memory as CPUs."""
    allocatable = {"cpu": cpu * MILLI, "memory": 2 * cpu * GIB}
    return tuple(Machine(f"node-{i}", allocatable) for i in range(number))


def pods_of(cpu: int) -> dict[str, int]:
    """Return what a pod of so many CPUs and GiB asks for."""
    return {"cpu": cpu * MILLI, "memory": cpu * GIB}


def job(name: str, cpu: int, workers: int, servers: int = 0) -> Job:
    """Return a job whose pods are all of one size, affine as Fig. 3 of the paper has it."""
    notes = {labels.AFFINITY: "ps,worker", labels.ANTI_AFFINITY: "ps"} if servers else {}
    return Job(
        name=name,
        namespace=name,  # each has a user of its own
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
    """Return the jobs submitted a second apart, in the order in which they stand."""
    return tuple(replace(one, submitted_at=float(i)) for i, one in enumerate(jobs))


def cycle(
    jobs: Sequence[Job], nodes: Sequence[Machine], params: EngineParameters
) -> tuple[Started, ...]:
    """Return what one cycle starts when all jobs wait, in the order in which it does."""
    store = ClusterStore(params.scheduler_name)
    for machine in nodes:
        store.apply(Upsert(objects.node(machine)))
    for namespace in objects.namespaces(jobs):
        store.apply(Upsert(namespace))
    for number, one in zip(count(), jobs, strict=False):
        for pod in objects.pods(one, number):
            store.apply(Upsert(pod))
    now = EPOCH_SECONDS + max(one.submitted_at for one in jobs) + 1.0
    found = queueing.cycle(store.snapshot(), Memory(), Reading(now, now), params)
    return tuple(_started(one) for one in found.commands if isinstance(one, ReleaseGang))


def _started(release: ReleaseGang) -> Started:
    pods = tuple((pod.pod.partition("/")[2], pod.node or "") for pod in release.pods)
    return Started(objects.job_name(JobKey(release.job)), pods)
