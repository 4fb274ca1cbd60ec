"""A made-up cluster of GPU and CPU machines, and jobs whose pods have one GPU, eight, or none."""

import numpy as np

from extender.core.parameters.combined import CoreParameters
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.records import Run
from simulator.cluster.run import simulate
from simulator.seeds import generator
from simulator.traces.shapes import Proportional
from simulator.workload import GIB, GPU, Job, Machine, Workload

GPUS = 8
GPU_MACHINES, CPU_MACHINES = 8, 6
_STREAM = 83


def fleet(seed: int, *, jobs: int = 120, seconds: float = 7200.0) -> Workload:
    """Half the jobs are gangs of 1 to 32 GPUs; the others are up to 24 pods without GPUs."""
    rng = generator(seed, _STREAM)
    times = np.sort(rng.uniform(0.0, seconds, jobs)).tolist()
    made = [
        (_gpu_job if rng.uniform() < 0.5 else _cpu_job)(number, at, rng)
        for number, at in enumerate(times)
    ]
    gpu = {"cpu": 64_000, "memory": 512 * GIB, GPU: GPUS, "pods": 110}
    cpu = {"cpu": 32_000, "memory": 128 * GIB, "pods": 110}
    machines = [Machine(f"gpu-{i}", gpu) for i in range(GPU_MACHINES)]
    machines += [Machine(f"cpu-{i}", cpu) for i in range(CPU_MACHINES)]
    return Workload(tuple(made), tuple(machines), f"fleet, seed {seed}")


def _gpu_job(number: int, at: float, rng: np.random.Generator) -> Job:
    gpus = int(rng.choice([1, 2, 4, 8, 16, 32], p=[0.25, 0.2, 0.2, 0.15, 0.1, 0.1]))
    each = GPUS if gpus >= GPUS and rng.uniform() < 0.7 else 1
    return _job(f"gpu-{number:03}", at, gpus // each, each, rng)


def _cpu_job(number: int, at: float, rng: np.random.Generator) -> Job:
    return _job(f"cpu-{number:03}", at, int(rng.choice([1, 4, 8, 16, 24])), 0, rng)


def _job(name: str, at: float, pods: int, gpus: int, rng: np.random.Generator) -> Job:
    seconds = float(np.clip(900.0 * rng.lognormal(0.0, 0.9), 60.0, 7200.0))
    request = {"cpu": 6000 * gpus, "memory": 40 * GIB * gpus, GPU: gpus} if gpus else {}
    return Job(
        name=name,
        submitted_at=at,
        workers=pods,
        worker=request or {"cpu": 4000, "memory": 8 * GIB},
        work=seconds * pods,
        speed=Proportional(1.0, GPUS),
        expected_seconds=seconds,
    )


def run(seed: int, params: CoreParameters, **sizes: int) -> tuple[Workload, Run]:
    """Simulate the extender's own scheduler on the fleet of a seed."""
    workload = fleet(seed, **sizes)
    return workload, simulate(workload, EngineDecider(params))
