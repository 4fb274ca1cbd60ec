"""Small workloads and views for the compared schedulers."""

from dataclasses import replace

from simulator.cluster.decider import Decider
from simulator.cluster.records import JobRecord, Run
from simulator.cluster.run import simulate
from simulator.traces.shapes import Proportional
from simulator.workload import GIB, GPU, Job, Machine, Workload, equal_machines

WORKER = {"cpu": 1000, "memory": GIB, GPU: 1}


def machines(count: int, gpus: int = 4) -> tuple[Machine, ...]:
    return equal_machines(count, gpus=gpus, cpu_milli=16_000, memory=64 * GIB)


def job(name: str, at: float, seconds: float, workers: int = 1, **more) -> Job:
    """A job that takes ``seconds`` with its requested workers; proportional, movable."""
    made = Job(
        name,
        at,
        workers,
        more.pop("worker", WORKER),
        seconds * workers,
        Proportional(),
        movable=more.pop("movable", True),
    )
    return replace(made, **more)


def run(decider: Decider, jobs: list[Job], on: tuple[Machine, ...]) -> dict[str, JobRecord]:
    return by_name(simulate(Workload(tuple(jobs), on), decider))


def by_name(found: Run) -> dict[str, JobRecord]:
    return {record.name: record for record in found.jobs}


def order_of_starts(found: dict[str, JobRecord]) -> list[str]:
    started = [(r.started_at, name) for name, r in found.items() if r.started_at is not None]
    return [name for _, name in sorted(started)]
