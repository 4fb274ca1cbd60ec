"""One mixed workload, for programs that train and for the simulator: the same jobs, the same times.

A third each of gangs with a utility, jobs that begin with one worker and take more as room comes
free, and jobs of one CPU; of three users with priorities of their own. Seconds are real ones: jobs
last some ten seconds here, real ones hours; the extender's limits are in proportion (``testbed``).

A step with w workers takes ``Pace.seconds(w)`` (``bench.elastic``), also in the simulator.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from bench.elastic import scenario as elastic
from bench.elastic.scenario import ElasticJob, Pace
from extender.core.cluster.utility import utility_of
from shared import labels
from simulator.models.parameter_server import ServerJob
from simulator.traces.shapes import Exponential
from simulator.workload import GIB, Job, Machine, Workload

NODES: Final = 3
SLOTS: Final = 4
"""Workers that fit on a node."""
WORKER_MILLI: Final = 1000
USERS: Final = {"ada": 9, "ben": 5, "cid": 2}
STEP_SECONDS: Final = 0.4
TYPICAL_SECONDS: Final = 11.0
SPREAD: Final = 0.6
SHORTEST_SECONDS: Final = 5.0
LONGEST_SECONDS: Final = 40.0
STATED_ERROR: Final = 0.15
"""Owners state a length that is wrong by at most this part."""
_MEMORY: Final = 64 * 2**20
_KINDS: Final = ("value", "elastic", "shared")
_CURVE: Final = Exponential(5.0, 0.2)
"""Only that there is a loss counts: then agents predict the end."""


@dataclass(frozen=True)
class Paced:
    """The speed of a job in steps per second."""

    pace: Pace

    def rate(self, workers: int, nodes: int) -> float:  # noqa: ARG002 - a parameter of the protocol
        """Return it; the nodes do not matter, since they are on one machine."""
        return 1.0 / self.pace.seconds(workers) if workers > 0 else 0.0


@dataclass(frozen=True)
class MixedJob:
    """One job, as it trains and as the simulator has it.

    Attributes:
        simulated: The simulator's job; its work counts in steps.
        trained: The program's numbers.
    """

    simulated: Job
    trained: ElasticJob

    @property
    def name(self) -> str:
        """Unique in its run."""
        return self.simulated.name

    @property
    def seconds(self) -> float:
        """How long its steps take with the workers that it requests."""
        return self.simulated.work / self.simulated.speed.rate(self.simulated.workers, 1)


def mixed(seed: int, count: int, arrive_seconds: float) -> tuple[MixedJob, ...]:
    """Return the jobs of a run by submission; the same arguments give the same.

    Args:
        seed: Of all draws.
        count: Number of jobs.
        arrive_seconds: How long jobs are submitted.
    """
    rng = random.Random(seed)  # noqa: S311 - a scenario, nothing secret
    kinds = [_KINDS[number % len(_KINDS)] for number in range(count)]
    rng.shuffle(kinds)
    times = sorted(rng.uniform(0.0, arrive_seconds) for _ in kinds)
    first = times[0] if times else 0.0
    drawn = zip(kinds, times, strict=True)
    return tuple(_job(f"{k}-{i:02d}", k, at - first, rng) for i, (k, at) in enumerate(drawn))


def workload(jobs: tuple[MixedJob, ...], *, start_seconds: float, pause_seconds: float) -> Workload:
    """Return the jobs for the simulator.

    Args:
        jobs: Of a run.
        start_seconds: From a worker's place on a node to its first step, as measured live.
        pause_seconds: What a parking costs a job that leaves, likewise.
    """
    simulated = (
        replace(
            job.simulated,
            work=job.simulated.work
            + start_seconds * job.simulated.speed.rate(job.simulated.workers, 1),
            pause_seconds=pause_seconds,
        )
        for job in jobs
    )
    return Workload(tuple(simulated), tuple(_machines()), "mixed, small")


def _machines() -> Iterator[Machine]:
    for number in range(NODES):
        has = {"cpu": SLOTS * WORKER_MILLI, "memory": GIB, "pods": 110}
        yield Machine(f"node-{number:04d}", has)


def _job(name: str, kind: str, at: float, rng: random.Random) -> MixedJob:
    drawn = TYPICAL_SECONDS * rng.lognormvariate(0.0, SPREAD)
    steps = round(min(LONGEST_SECONDS, max(SHORTEST_SECONDS, drawn)) / STEP_SECONDS)
    workers = 1 if kind == "shared" else rng.choice((1, 2, 2, 4) if kind == "value" else (2, 4))
    least = 1 if kind == "elastic" else workers
    part = rng.uniform(0.7, 0.95)
    own = Pace(part, 1.0 - part, 0.002)
    pace = own.times(STEP_SECONDS / own.seconds(workers))
    seconds = steps * STEP_SECONDS
    user = rng.choice(sorted(USERS))
    stated = seconds * (1.0 + rng.uniform(-STATED_ERROR, STATED_ERROR))
    slack = 5.0 + seconds * rng.uniform(1.3, 4.0)
    text = f"sigmoid:{rng.uniform(1.0, 100.0):.1f},{10.0 / slack * 3600.0:.1f},{slack:.1f}s"
    shared: dict[str, Any] = {"workers": workers, "least_workers": least, "most_workers": workers}
    simulated = Job(
        name=name,
        submitted_at=at,
        worker={"cpu": WORKER_MILLI, "memory": _MEMORY},
        work=steps,
        speed=Paced(pace),
        namespace=user,
        user_priority=USERS[user],
        class_value=0,
        expected_seconds=round(stated, 1),
        worth=utility_of(text) if kind == "value" else None,
        annotations={labels.UTILITY: text} if kind == "value" else {},
        curve=_CURVE,
        movable=True,
        **shared,
    )
    trained = ElasticJob(_server_job(simulated), at, pace, steps, rng.randrange(2**31))
    return MixedJob(simulated, trained)


def _server_job(job: Job) -> ServerJob:
    """Return the job as manifests read it: names, numbers and requests."""
    model = elastic.jobs("light", "async", seed=1, scale=1.0)[0].simulated
    return replace(
        model,
        name=job.name,
        worker=(WORKER_MILLI, _MEMORY),
        least=job.least_workers,
        wanted=job.workers,
        most=job.most_workers,
        work=job.work,
    )
