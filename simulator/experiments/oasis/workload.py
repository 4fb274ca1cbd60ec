"""Jobs and servers drawn as the OASiS paper describes them, with calibrated additions.

The paper gives ranges but no distributions, and its ranges alone overload any cluster
(``ASSUMPTIONS``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.cluster.utility import Sigmoid
from extender.core.pricing.slots import FloatMatrix, SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.models.slot_placement import RESOURCES, IntVector
from simulator.models.slot_world import SlotWorkload

Range = tuple[float, float]

SLOT_SECONDS: Final = 3600.0
BANDWIDTH: Final[Range] = (20.0, 50.0)
"""Printed range of a server's network interface, Gbit/s."""
DISK_GB: Final = 1000.0

P2_G3: Final = ((1, 4, 61), (8, 32, 488), (16, 64, 732), (1, 16, 122), (2, 32, 244), (4, 64, 488))
"""GPUs, vCPUs, GiB of p2.xlarge, 8xlarge, 16xlarge and g3.4xlarge, 8xlarge, 16xlarge."""
C4: Final = ((0, 2, 3.75), (0, 4, 7.5), (0, 8, 15), (0, 16, 30), (0, 36, 60))
"""The five c4 sizes, large to 8xlarge."""

ASSUMPTIONS: Final = (
    "Every range of the paper is drawn uniformly; counts as integers.",
    "A slot is an hour; it matters only in 2e/b.",
    (
        "Workers run on p2 and g3 instances and parameter servers on c4: printed the other way "
        "round, but c4 has no GPU, and workers ask for GPUs. Each size is as likely as any other."
    ),
    "Servers have 1000 GB of disk, which never binds.",
    (
        "τ is drawn log-uniformly from the printed range and multiplied by 0.005 (calibrated): as "
        "printed, with hour slots, the demand is many times the cluster, and little can finish."
    ),
    (
        "Arrivals follow a pattern of 75 steps with 23 % of the jobs in step 2 and the rest even; "
        "a step is three slots at T = 300 (calibrated), one at T = 100."
    ),
    "Jobs that arrive in one slot are handled in random order.",
    "FIFO and RRH run a job at a width drawn from 1…30, at most N; servers ⌈width·b/B⌉.",
    "An unfinished job has utility 0.",
)


@dataclass(frozen=True)
class Setting:
    """Distributions of a workload; the defaults are those of the large figures.

    Attributes:
        jobs: Number of jobs.
        horizon: T.
        worker_servers: H.
        server_servers: K.
        worker_sizes: Sizes of worker servers: GPUs, vCPUs, GiB.
        server_sizes: Sizes of parameter-server servers.
        step_slots: Slots per step of the arrival pattern.
        steps: Number of steps.
        peak_step: The step with the peak, from 1; 0: no peak, arrivals are even.
        peak_share: Share of the jobs that arrive in the peak.
        epochs: Range of E.
        chunks: Range of N.
        batches: Range of M.
        tau: Range of τ in slots, log-uniform, before ``tau_scale``.
        tau_scale: Factor on τ.
        gradient_mb: Range of e.
        worker_gbps: Range of b.
        server_gbps: Range of B.
        priority: Range of γ1.
        target: Range of γ3.
        mix: Shares of insensitive, sensitive and critical jobs; the counts are rounded, not drawn.
        widest: Most workers of a fixed width.
    """

    jobs: int
    horizon: int = 300
    worker_servers: int = 50
    server_servers: int = 50
    worker_sizes: tuple[tuple[float, float, float], ...] = P2_G3
    server_sizes: tuple[tuple[float, float, float], ...] = C4
    step_slots: int = 3
    steps: int = 75
    peak_step: int = 2
    peak_share: float = 0.23
    epochs: Range = (50, 200)
    chunks: Range = (5, 100)
    batches: Range = (10, 100)
    tau: Range = (0.001, 0.1)
    tau_scale: float = 0.005
    gradient_mb: Range = (30.0, 575.0)
    worker_gbps: Range = (0.1, 5.0)
    server_gbps: Range = (5.0, 20.0)
    priority: Range = (1.0, 100.0)
    target: Range = (1.0, 15.0)
    mix: tuple[float, float, float] = (0.10, 0.55, 0.35)
    widest: int = 30


def draw(setting: Setting, rng: np.random.Generator) -> SlotWorkload:
    """Return a workload; the same generator state gives the same one."""
    cluster = SlotCluster(
        _servers(setting.worker_servers, setting.worker_sizes, rng),
        _servers(setting.server_servers, setting.server_sizes, rng),
        setting.horizon,
        network=RESOURCES.index("bandwidth"),
    )
    arrivals = sorted(_arrivals(setting, rng))
    kinds = rng.permutation(_kinds(setting))
    jobs = tuple(
        _job(number, arrival, int(kind), setting, rng)
        for number, (arrival, kind) in enumerate(zip(arrivals, kinds, strict=True), 1)
    )
    widths = rng.integers(1, setting.widest, len(jobs), endpoint=True)
    requested = tuple(min(int(width), job.chunks) for width, job in zip(widths, jobs, strict=True))
    return SlotWorkload(jobs, requested, cluster)


def _servers(
    count: int, sizes: Sequence[tuple[float, float, float]], rng: np.random.Generator
) -> FloatMatrix:
    chosen = np.array(sizes, dtype=np.float64)[rng.integers(0, len(sizes), count)]
    disk = np.full((count, 1), DISK_GB)
    network = rng.uniform(*BANDWIDTH, (count, 1))
    return np.hstack([chosen, disk, network])


def _arrivals(setting: Setting, rng: np.random.Generator) -> list[int]:
    share = np.full(setting.steps, 1.0 / setting.steps)
    if setting.peak_step:
        share[:] = (1.0 - setting.peak_share) / (setting.steps - 1)
        share[setting.peak_step - 1] = setting.peak_share
    steps = rng.choice(setting.steps, setting.jobs, p=share)
    within = rng.integers(1, setting.step_slots, setting.jobs, endpoint=True)
    return [int(slot) for slot in steps * setting.step_slots + within]


def _kinds(setting: Setting) -> IntVector:
    """Return the kind of each job: insensitive (0), sensitive (1) or critical (2)."""
    ends = np.rint(np.cumsum(setting.mix) * setting.jobs).astype(np.int64)
    return np.repeat(np.arange(3), np.diff(ends, prepend=0))


def _job(
    number: int, arrival: int, kind: int, setting: Setting, rng: np.random.Generator
) -> TrainingJob:
    least, most = (math.log(end) for end in setting.tau)
    tau = setting.tau_scale * math.exp(rng.uniform(least, most))
    gbps = rng.uniform(*setting.worker_gbps)
    server_gbps = rng.uniform(*setting.server_gbps)
    exchange = 2.0 * rng.uniform(*setting.gradient_mb) * 8.0 / (gbps * 1000.0) / SLOT_SECONDS
    return TrainingJob(
        name=f"job-{number:03d}",
        arrival=arrival,
        epochs=_whole(setting.epochs, rng),
        chunks=_whole(setting.chunks, rng),
        batches=_whole(setting.batches, rng),
        batch_slots=tau + exchange,
        worker=(float(rng.integers(0, 4, endpoint=True)), *_demand(rng), gbps),
        server=(0.0, *_demand(rng), server_gbps),
        worker_bandwidth=gbps,
        server_bandwidth=server_gbps,
        exchange_slots=exchange,
        utility=_utility(kind, setting, rng),
    )


def _demand(rng: np.random.Generator) -> tuple[float, float, float]:
    """Return vCPUs, GiB and GB of disk: the same ranges for a worker and a parameter server."""
    return (
        float(rng.integers(1, 10, endpoint=True)),
        float(rng.integers(2, 32, endpoint=True)),
        float(rng.integers(5, 10, endpoint=True)),
    )


def _utility(kind: int, setting: Setting, rng: np.random.Generator) -> Sigmoid:
    decay = (0.0, rng.uniform(0.01, 1.0), rng.uniform(4.0, 6.0))[kind]
    return Sigmoid(rng.uniform(*setting.priority), decay, rng.uniform(*setting.target))


def _whole(ends: Range, rng: np.random.Generator) -> int:
    return int(rng.integers(int(ends[0]), int(ends[1]), endpoint=True))
