"""References for a live run: the losses of a job alone, and the simulated makespan."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.elastic import outcome
from bench.elastic.manifests import EXAMPLES, environment
from bench.elastic.scenario import NODES, ElasticJob
from bench.elastic.testbed import Contestant
from devcluster.local.ports import free_ports
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.elastic import ScalingParameters
from simulator.baselines.dragon import Dragon, TfOperator
from simulator.experiments.drs.scaler import Scaler
from simulator.experiments.drs.setting import TICK_SECONDS
from simulator.models.parameter_server import Scheduler, run

MOST_SECONDS = 120.0


def losses(elastic: ElasticJob) -> tuple[float, ...]:
    """Train the job in this process tree without a pace, and return the loss of each step.

    Raises:
        subprocess.SubprocessError: The program failed.
    """
    with tempfile.TemporaryDirectory(prefix="shuntyard-alone-") as directory:
        metrics = Path(directory) / "metrics/alone.jsonl"
        environ = {
            **os.environ,
            **environment(elastic),
            "PORT": str(free_ports(1)[0]),
            "SHUNTYARD_METRICS_FILE": str(metrics),
            "OPENBLAS_NUM_THREADS": "1",
        }
        environ |= dict.fromkeys(("COMPUTE_SECONDS", "FIXED_SECONDS", "EXCHANGE_SECONDS"), "0")
        program = [sys.executable, str(EXAMPLES / "training/elastic.py")]
        subprocess.run(  # noqa: S603 - our own program
            program, env=environ, check=True, timeout=MOST_SECONDS, stdout=subprocess.DEVNULL
        )
        return tuple(step.loss for step in outcome.steps(Path(directory)))


PLAIN: Final = replace(
    ScalingParameters(), marginal_gain=False, start_with_fewer=False, starvation_seconds=None
)


def makespan(contestant: Contestant, jobs: Sequence[ElasticJob], scale: float) -> float:
    """Return the simulator's makespan, in seconds of the live run.

    In the simulator speeds are known, workers start at once, and a change pauses a job for the
    simulator's pause.
    """
    done = run([job.simulated for job in jobs], NODES, _scheduler(contestant), TICK_SECONDS)
    return max(job.ended_at for job in done) * scale


def _scheduler(contestant: Contestant) -> Scheduler:
    if contestant is Contestant.FIXED:
        return TfOperator()
    if contestant is Contestant.DRAGON:
        return Dragon()
    how = PLAIN if contestant is Contestant.DRS else ScalingParameters()
    return Scaler(how, CoreParameters(), any_worker=False)
