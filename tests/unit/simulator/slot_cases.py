"""Small clusters and jobs of the slot world, made by hand."""

import numpy as np

from extender.core.cluster.utility import Sigmoid
from extender.core.pricing.slots import SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.models.slot_world import SlotWorkload


def cluster(workers: list[float], servers: list[float], horizon: int = 10) -> SlotCluster:
    """Return servers with so many CPUs each and nothing else that limits."""
    return SlotCluster(
        np.array([[0.0, cpus, 0.0, 0.0, 0.0] for cpus in workers]),
        np.array([[0.0, cpus, 0.0, 0.0, 0.0] for cpus in servers]),
        horizon,
    )


def job(
    name: str,
    *,
    arrival: int = 1,
    work: int = 4,
    most: int = 4,
    cpu: float = 1.0,
    server_cpu: float = 1.0,
    ratio: float = 0.5,
    utility: Sigmoid | None = None,
) -> TrainingJob:
    """Return a job of ``work`` worker-slots; ``ratio`` is b/B."""
    return TrainingJob(
        name=name,
        arrival=arrival,
        epochs=1,
        chunks=most,
        batches=1,
        batch_slots=work / most,
        worker=(0.0, cpu, 0.0, 0.0, 0.0),
        server=(0.0, server_cpu, 0.0, 0.0, 0.0),
        worker_bandwidth=ratio,
        server_bandwidth=1.0,
        utility=utility or Sigmoid(10.0, 0.0, 5.0),
    )


def workload(
    jobs: list[TrainingJob], machines: SlotCluster, widths: list[int] | None = None
) -> SlotWorkload:
    """Return jobs with a width each; N where none is given."""
    return SlotWorkload(tuple(jobs), tuple(widths or [each.chunks for each in jobs]), machines)
