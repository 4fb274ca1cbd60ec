"""What the simulator says about the same jobs, for what stands beside a live run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bench.elastic.ground import Contestant
from bench.elastic.scenario import NODES, ElasticJob
from extender.engine.parameters import EngineParameters
from extender.policy.scaling import ScalingParameters
from simulator.baselines.dragon import Dragon
from simulator.baselines.tf_operator import TfOperator
from simulator.experiments.drs.scaler import Scaler
from simulator.experiments.drs.setting import TICK_SECONDS
from simulator.models.parameter_server import Scheduler, run

PLAIN: Final = replace(
    ScalingParameters(), marginal_gain=False, start_with_fewer=False, starvation_seconds=None
)


def makespan(contestant: Contestant, jobs: Sequence[ElasticJob], scale: float) -> float:
    """Return when the last job ends, in seconds of the live run.

    There speeds are known, workers move without delay, and a change stops a job for the
    simulator's pause.
    """
    done = run([job.simulated for job in jobs], NODES, _scheduler(contestant), TICK_SECONDS)
    return max(one.ended_at for one in done) * scale


def _scheduler(contestant: Contestant) -> Scheduler:
    if contestant is Contestant.FIXED:
        return TfOperator()
    if contestant is Contestant.DRAGON:
        return Dragon()
    how = PLAIN if contestant is Contestant.DRS else ScalingParameters()
    return Scaler(how, EngineParameters(), any_worker=False)
