"""A generated workload with a mix of jobs that no public trace has; not measured anywhere.

Three kinds of jobs on two kinds of machines:

* *value*: gangs of 1 to 8 GPUs that state a utility, a sigmoid as OASiS has it;
* *elastic*: GPU jobs that train with 1 to 8 workers, speed by Amdahl's law, with a loss;
* *shared*: one worker with CPU alone, which uses several times its request where it can, so that
  such jobs slow each other on one machine (SpeCon's situation), with a loss.

Each kind brings about the same load; users have priorities, and a third of the jobs a maximum wait.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from extender.core.cluster.utility import Sigmoid
from simulator.seeds import generator
from simulator.traces.shapes import Exponential, Proportional
from simulator.workload import GIB, GPU, Job, Machine, Workload

_STREAM = 82
_USERS = {"ada": 9, "ben": 5, "cid": 2}
_GPU_MACHINES, _GPUS, _CPU_MACHINES = 6, 4, 4
_GPU_CPU, _CPU_CPU = 32_000, 16_000
_POOL = "example.com/shared-pool"
"""Only machines without GPUs have it, so that jobs that share CPU disturb no other jobs."""


@dataclass(frozen=True)
class Amdahl:
    """Speed of w workers: 1 / ((1 - part) + part/w), less a tenth for each node but the first.

    Attributes:
        part: Share of the work that can be parallelised, 0…1.
    """

    part: float

    def rate(self, workers: int, nodes: int) -> float:
        """Return seconds of work of one worker per second; see ``workload.Speed``."""
        if workers <= 0:
            return 0.0
        return 0.9 ** max(0, nodes - 1) / ((1.0 - self.part) + self.part / workers)


def mixed(seed: int, jobs: int = 120, seconds: float = 7200.0) -> Workload:
    """Return a workload; the same seed gives the same.

    Args:
        seed: Of all draws: kinds, sizes, times, users, utilities, curves.
        jobs: Number of jobs.
        seconds: Duration of the submissions.
    """
    rng = generator(seed, _STREAM)
    times = np.sort(rng.uniform(0.0, seconds, jobs)).tolist()
    drawn = tuple(_job(i, at, rng) for i, at in enumerate(times))
    return Workload(drawn, tuple(_machines()), f"mixed, seed {seed}")


def _machines() -> Iterator[Machine]:
    for number in range(_GPU_MACHINES):
        has = {"cpu": _GPU_CPU, "memory": 128 * GIB, GPU: _GPUS, "pods": 110}
        yield Machine(f"gpu-{number}", has)
    for number in range(_CPU_MACHINES):
        yield Machine(
            f"cpu-{number}", {"cpu": _CPU_CPU, "memory": 64 * GIB, "pods": 110, _POOL: 64}
        )


def _job(number: int, at: float, rng: np.random.Generator) -> Job:
    kind = ("value", "elastic", "shared")[int(rng.integers(0, 3))]
    user = sorted(_USERS)[int(rng.integers(0, len(_USERS)))]
    hurried = float(rng.uniform()) < 1.0 / 3.0
    wait = float(rng.uniform(120.0, 3600.0))
    job = {"value": _value, "elastic": _elastic, "shared": _shared}[kind](number, at, rng)
    return replace(
        job,
        namespace=user,
        user_priority=_USERS[user],
        max_wait_seconds=wait if hurried else None,
    )


def _seconds(rng: np.random.Generator, typical: float) -> float:
    """Return a length around ``typical``; one in ten is more than three times as long."""
    return float(np.clip(typical * rng.lognormal(0.0, 0.9), 60.0, 8.0 * typical))


def _value(number: int, at: float, rng: np.random.Generator) -> Job:
    workers = int(rng.choice([1, 2, 4, 8], p=[0.4, 0.3, 0.2, 0.1]))
    seconds = _seconds(rng, 700.0)
    slack = seconds * float(rng.uniform(1.3, 5.0))
    worth = Sigmoid(float(rng.uniform(1.0, 100.0)), 10.0 / slack, slack)
    return Job(
        name=f"value-{number:04}",
        submitted_at=at,
        workers=workers,
        worker={"cpu": 4000, "memory": 8 * GIB, GPU: 1},
        work=seconds * workers,
        speed=Proportional(0.9, _GPUS),
        expected_seconds=seconds,
        worth=worth,
        deadline_seconds=slack,
        movable=True,
        pause_seconds=15.0,
    )


def _elastic(number: int, at: float, rng: np.random.Generator) -> Job:
    speed = Amdahl(float(rng.uniform(0.7, 0.98)))
    workers = int(rng.choice([1, 2, 4]))
    seconds = _seconds(rng, 700.0)
    return Job(
        name=f"elastic-{number:04}",
        submitted_at=at,
        workers=workers,
        least_workers=1,
        most_workers=8,
        worker={"cpu": 4000, "memory": 8 * GIB, GPU: 1},
        work=seconds * speed.rate(workers, math.ceil(workers / _GPUS)),
        speed=speed,
        expected_seconds=seconds,
        curve=Exponential(float(rng.uniform(4.0, 20.0)), float(rng.uniform(0.1, 0.6))),
        movable=True,
        pause_seconds=15.0,
    )


def _shared(number: int, at: float, rng: np.random.Generator) -> Job:
    seconds = _seconds(rng, 500.0)
    return Job(
        name=f"shared-{number:04}",
        submitted_at=at,
        workers=1,
        worker={"cpu": 2000, "memory": 2 * GIB, _POOL: 1},
        work=seconds,
        speed=Proportional(),
        expected_seconds=seconds,
        curve=Exponential(float(rng.uniform(4.0, 20.0)), float(rng.uniform(0.1, 0.6))),
        movable=True,
        pause_seconds=5.0,
        demand_milli=_CPU_CPU,
    )
