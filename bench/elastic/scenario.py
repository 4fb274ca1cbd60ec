"""The experiments of the DRS article in small: the simulator's jobs, as programs that train.

One simulated second takes ``scale`` seconds here. The trainer keeps the pace of the simulator's
speed model, A/w + b + d·w for w workers, in units in which a step with the job's initial workers
takes ``STEP_SECONDS``: so a job has the same scaled seconds of work as in the simulator.

The jobs have no servers: rank 0 does their work. The nodes are smaller by the servers' requests:
they have 7 CPU of the article's 8. Speed does not depend on the workers' nodes (λ = 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from extender.core.elastic.speed import Mode, Speed
from simulator.experiments.drs import setting
from simulator.experiments.drs.setting import Assumed
from simulator.models.parameter_server import Amounts, ServerJob

EXPERIMENTS: Final[Mapping[str, int]] = {"light": 1, "heavy": 2, "mixed": 3}
URGENT: Final = setting.URGENT
"""The late and most important job of ``mixed``."""
NODES: Final[Mapping[str, Amounts]] = {f"node-{i:04d}": (7000, 30 * setting.GIB) for i in range(3)}
STEP_SECONDS: Final = 0.3
_NEXT_TO_NOTHING: Final[Amounts] = (1, 1)


@dataclass(frozen=True)
class Pace:
    """Seconds of a step with w workers: ``compute/w + fixed + exchange·w``."""

    compute: float
    fixed: float
    exchange: float

    def seconds(self, workers: int) -> float:
        """Return the seconds of a step."""
        return self.compute / workers + self.fixed + self.exchange * workers

    def times(self, factor: float) -> "Pace":
        """Return the pace multiplied by a factor."""
        return Pace(self.compute * factor, self.fixed * factor, self.exchange * factor)


@dataclass(frozen=True)
class ElasticJob:
    """A job of the experiment.

    Attributes:
        simulated: The simulator's job, in simulated seconds.
        at_seconds: Submission, from the beginning of the run.
        pace: Of its steps.
        steps: Number of steps.
        seed: Of its data and initial parameters.
    """

    simulated: ServerJob
    at_seconds: float
    pace: Pace
    steps: int
    seed: int

    @property
    def name(self) -> str:
        """Unique in its run."""
        return self.simulated.name


def jobs(experiment: str, speed: str, seed: int, scale: float) -> tuple[ElasticJob, ...]:
    """Return the jobs of a run, the same for the same arguments.

    Args:
        experiment: A name of ``EXPERIMENTS``.
        speed: A name of the simulator's ``SPEEDS``.
        seed: Of the simulator's jobs.
        scale: Real seconds per simulated second.
    """
    simulated = setting.jobs(seed, EXPERIMENTS[experiment], speed, Assumed(near_cost=1.0))
    return tuple(_scaled(job, scale, seed + i) for i, job in enumerate(simulated))


def _scaled(job: ServerJob, scale: float, seed: int) -> ElasticJob:
    own = pace_of(job.speed)
    pace = own.times(STEP_SECONDS / own.seconds(job.wanted))
    alone = job.work / job.speed.rate(job.wanted, job.servers) * scale
    return ElasticJob(
        simulated=replace(job, server=_NEXT_TO_NOTHING),
        at_seconds=job.arrives_at * scale,
        pace=pace,
        steps=round(alone / STEP_SECONDS),
        seed=seed,
    )


def pace_of(speed: Speed) -> Pace:
    """Return the seconds of the work of one step of one worker, with one server.

    Workers with a batch of their own each (``ASYNC``) do the work of w steps in one, which equals w
    workers sharing one batch whose exchange takes equally long for any w.
    """
    step, exchange = speed.step, speed.step.exchange + speed.step.per_worker
    if speed.mode is Mode.SYNC:
        return Pace(step.compute, step.fixed + step.per_server, exchange)
    if speed.mode is Mode.ASYNC:
        return Pace(step.compute + step.fixed + step.per_server, exchange, 0.0)
    return Pace(step.compute + step.fixed, 0.0, 0.0)
