"""The testbed of the OASiS paper: nine servers, twelve jobs, ten slots of 20 minutes."""

from typing import Final

import numpy as np

from extender.core.cluster.utility import Sigmoid
from extender.core.pricing.slots import SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.experiments.oasis.workload import Range
from simulator.models.slot_placement import RESOURCES
from simulator.models.slot_world import SlotWorkload

JOBS: Final = 12
HORIZON: Final = 10
LAST_ARRIVAL: Final = 9
IMAGES: Final = 200
CHUNK_IMAGES: Final = (20, 30)
BATCH_IMAGES: Final = 10
SLOTS: Final[Range] = (2, 6)
"""Range of run times: 40 minutes to two hours."""
WIDTHS: Final[Range] = (1, 3)
EXCHANGE_SHARE: Final = 0.5
MIX: Final = (0.10, 0.55, 0.35)

ASSUMPTIONS: Final = (
    (
        "Seven worker servers (32 cores, 80 GB, 600 GB, 20 Gbit/s; one GPU on four of them) and "
        "two servers for parameter servers (8 cores, 32 GB, 1500 GB, 20 Gbit/s), as printed."
    ),
    (
        "Containers of workers and servers: 1…5 cores, 2…10 GB, 1…3 Gbit/s, workers 0 or 1 GPU, as "
        "printed; 5 GB of disk; a job's b is at most its B, because a server must carry a worker."
    ),
    "200 images in chunks of 20 or 30 make N = 10 or 7; 4…30 epochs, mini-batches of 10 images.",
    (
        "A printed run of 40 minutes to two hours is taken to be 2…6 slots at the job's asked "
        "width of 1…3 workers; the widths are ours; FIFO and RRH keep to them, others take up to N."
    ),
    (
        "Arrivals are even over the first nine slots; γ1 in 1…100, kinds of jobs as in the large "
        "figures, drawn one by one; γ3 in 2…6 slots, as long as the jobs run."
    ),
    (
        "The paper's twelve jobs are unknown; with other draws everything here changes. An "
        "unfinished job has utility 0, and counts as completing at T where lateness is shown."
    ),
)


def draw(rng: np.random.Generator) -> SlotWorkload:
    """Return twelve jobs on the testbed; the same generator state gives the same ones."""
    arrivals = sorted(int(slot) for slot in rng.integers(1, LAST_ARRIVAL, JOBS, endpoint=True))
    widths = [_whole(WIDTHS, rng) for _ in arrivals]
    jobs = tuple(
        _job(number, arrival, width, rng)
        for number, (arrival, width) in enumerate(zip(arrivals, widths, strict=True), 1)
    )
    return SlotWorkload(jobs, tuple(widths), cluster())


def cluster() -> SlotCluster:
    """Return the nine servers."""
    worker = [[gpus, 32.0, 80.0, 600.0, 20.0] for gpus in (1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)]
    server = [[0.0, 8.0, 32.0, 1500.0, 20.0]] * 2
    return SlotCluster(
        np.array(worker), np.array(server), HORIZON, network=RESOURCES.index("bandwidth")
    )


def _job(number: int, arrival: int, width: int, rng: np.random.Generator) -> TrainingJob:
    chunk = CHUNK_IMAGES[int(rng.integers(0, len(CHUNK_IMAGES)))]
    chunks, batches = -(-IMAGES // chunk), chunk // BATCH_IMAGES
    epochs = int(rng.integers(4, 30, endpoint=True))
    work = width * _whole(SLOTS, rng)
    batch_slots = work / (epochs * chunks * batches)
    gbps, server_gbps = sorted(rng.uniform(1.0, 3.0, 2).tolist())
    kind = rng.choice(3, p=MIX)
    decay = (0.0, rng.uniform(0.01, 1.0), rng.uniform(4.0, 6.0))[kind]
    return TrainingJob(
        name=f"job-{number:02d}",
        arrival=arrival,
        epochs=epochs,
        chunks=chunks,
        batches=batches,
        batch_slots=batch_slots,
        worker=(float(rng.integers(0, 1, endpoint=True)), *_container(rng), gbps),
        server=(0.0, *_container(rng), server_gbps),
        worker_bandwidth=gbps,
        server_bandwidth=server_gbps,
        utility=Sigmoid(rng.uniform(1.0, 100.0), decay, rng.uniform(*SLOTS)),
        exchange_slots=EXCHANGE_SHARE * batch_slots,
    )


def _container(rng: np.random.Generator) -> tuple[float, float, float]:
    cores = rng.integers(1, 5, endpoint=True)
    memory = rng.integers(2, 10, endpoint=True)
    return float(cores), float(memory), 5.0


def _whole(ends: Range, rng: np.random.Generator) -> int:
    return int(rng.integers(int(ends[0]), int(ends[1]), endpoint=True))
