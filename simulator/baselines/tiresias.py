"""Tiresias: least attained service in two dimensions, without any knowledge of jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.baselines import by_order
from simulator.cluster.actions import Action
from simulator.cluster.decider import next_tick
from simulator.cluster.view import JobView, View


@dataclass(frozen=True)
class TiresiasParameters:
    """The two queues.

    Attributes:
        demotion_seconds: Workers times time executed after which a job is in the second queue;
            16 GPU-hours in AdaptDL's re-implementation.
        every_seconds: How often it looks.

    Source:
        Gu et al., NSDI 2019, Sect. 3.1; the number is AdaptDL's.
    """

    demotion_seconds: float = 16.0 * 3600.0
    every_seconds: float = 60.0


@dataclass
class Tiresias:
    """Jobs below the threshold first, in the order of submission, then the others, likewise.

    Source:
        Gu et al., NSDI 2019: Discretized 2D-LAS with two queues, without promotion.
    """

    parameters: TiresiasParameters = TiresiasParameters()
    oracle: Final = False

    def decide(self, view: View) -> Sequence[Action]:
        """Preempt whoever was served most."""

        def key(job: JobView) -> tuple[bool, float, int]:
            demoted = job.worker_seconds >= self.parameters.demotion_seconds
            return demoted, job.asked.submitted_at, job.asked.number

        return by_order.run(view, sorted((*view.running, *view.waiting), key=key))

    def wakes_at(self, now: float) -> float | None:
        """Jobs reach the threshold while they run."""
        return next_tick(now, self.parameters.every_seconds)
