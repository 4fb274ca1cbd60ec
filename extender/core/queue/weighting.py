"""Which waiting job goes first: by utility, then by size (docs/policies/weighting.md).

An order of its own beside ``priority``; job level only, as that one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from extender.core.parameters.queue import WeightingParameters
from shared.model import JobKey, Uid


@dataclass(frozen=True)
class Waiting:
    """A waiting job, as far as its place in the order depends on it.

    Attributes:
        job: The job.
        uid: Last key of the order; the uid of the job's first pod or owner.
        created_at: Seconds since the epoch.
        user_priority: u of its namespace, 1…10, checked where it was read.
        class_value: Value of the job's PriorityClass; 0 without one.
        cpu_milli: What all its pods request together, in milli-CPU.
        memory_bytes: The same of memory.
        gpu_parts: The same of GPUs, in parts of a device; 0 where GPUs do not come first.
    """

    job: JobKey
    uid: Uid
    created_at: float
    user_priority: int
    class_value: int
    cpu_milli: int
    memory_bytes: int
    gpu_parts: int = 0


@dataclass(frozen=True)
class Capacity:
    """What the cluster has on all nodes together; ``gpu_parts`` is 0 where GPUs come not first."""

    cpu_milli: int
    memory_bytes: int
    gpu_parts: int = 0


@dataclass(frozen=True)
class Weight:
    """The key of one job.

    Attributes:
        job: The job.
        utility: U; larger goes first.
        cpu_ratio: Its CPU request as a part of the cluster; above 1 it can never run.
        memory_ratio: The same of memory.
        size: Their sum, or ``gpu_ratio`` where GPUs come first; between jobs of equal utility the
            larger goes first.
        gpu_ratio: Its GPUs as a part of the cluster's; 0 where GPUs do not come first.
    """

    job: JobKey
    utility: int
    cpu_ratio: float
    memory_ratio: float
    size: float
    gpu_ratio: float = 0.0


def weights(
    jobs: Iterable[Waiting], capacity: Capacity, params: WeightingParameters
) -> tuple[Weight, ...]:
    """Return the keys of all waiting jobs, in the order in which they should start.

    ``key(j) = (U_j, cpu_j / cpu_total + mem_j / mem_total)``, the larger first, then earlier
    creation, then smaller uid: total, and the same for every order of ``jobs``. Sizes are compared
    as integers, so that jobs that are equal by calculation are equal in the machine. Where GPUs
    come first, the share of the GPUs is the size, and that sum decides between equal ones.

    Args:
        jobs: All waiting jobs; unlike V the key of one does not depend on the others.
        capacity: Of all nodes; a resource that no node has counts for nothing.
        params: What U is made of.

    Source:
        DRS (F. Bestari 2020), algorithm 1, in its corrected form: the printed one inserts the job
        on the wrong side, does not use its own tie-break and adds cores to bytes.
    """
    cpu_total, memory_total = max(1, capacity.cpu_milli), max(1, capacity.memory_bytes)
    has_cpu, has_memory = capacity.cpu_milli > 0, capacity.memory_bytes > 0
    ranked = []
    for job in jobs:
        cpu, memory = job.cpu_milli * has_cpu, job.memory_bytes * has_memory
        utility = params.class_weight * job.class_value + params.user_weight * job.user_priority
        scaled = cpu * memory_total + memory * cpu_total  # size over one common denominator
        gpus = job.gpu_parts if capacity.gpu_parts else 0
        gpu_ratio = gpus / max(1, capacity.gpu_parts)
        size = gpu_ratio if capacity.gpu_parts else scaled / (cpu_total * memory_total)
        ratios = (cpu / cpu_total, memory / memory_total)
        weight = Weight(job.job, utility, *ratios, size, gpu_ratio)
        ranked.append((-utility, -gpus, -scaled, job.created_at, job.uid, weight))
    ranked.sort(key=lambda one: one[:-1])
    return tuple(weight for *_, weight in ranked)
