"""Checks that jobs train at their declared pace, also on full nodes; all other results rest on it.

Without a scheduler: the pods name their nodes. Three jobs of five workers and one of one nearly
fill the nodes; each trains at its declared pace if the processors keep up.
"""

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.elastic import manifests, outcome, scenario, testbed
from bench.elastic.manifests import NAMESPACE, Manifest
from bench.elastic.outcome import Step
from bench.elastic.scenario import NODES, ElasticJob
from shared.kube import auth, paths
from shared.kube.client import KubeClient

WORKERS: Final = (5, 5, 5, 1)
TOLERANCE: Final = 0.2
"""Share by which a step may take longer than declared."""
STEPS: Final = 20
"""Compared steps of each job, with all its workers."""
LOOK_SECONDS: Final = 0.2
MOST_SECONDS: Final = 180.0


class Measured(Struct, frozen=True):
    """Median seconds of a step, declared and measured."""

    workers: int
    declared: float
    measured: float

    @property
    def ratio(self) -> float:
        """Measured duration of a step divided by the declared one."""
        return self.measured / self.declared


def good(measured: Sequence[Measured]) -> bool:
    """Return True if every job is as fast as declared."""
    return all(job.ratio <= 1.0 + TOLERANCE for job in measured)


def calibrate(directory: Path) -> tuple[Measured, ...]:
    """Measure on a separate cluster.

    Raises:
        TimeoutError: The jobs did not train.
    """
    cluster = testbed.bring_up(directory)
    try:
        return asyncio.run(_measured(cluster.kubeconfig, cluster.layout.volume / NAMESPACE))
    finally:
        cluster.down()


async def _measured(kubeconfig: Path, volume: Path) -> tuple[Measured, ...]:
    nodes = [*NODES, *NODES]
    jobs = [_job(f"job-{i}", workers) for i, workers in enumerate(WORKERS)]
    async with KubeClient.connect(auth.load(kubeconfig)) as client:
        await manifests.prepare(client, jobs)
        for job, node in zip(jobs, nodes, strict=False):
            await client.post(paths.namespaced(paths.JOBS, NAMESPACE), _on(job, node, volume))
        async with asyncio.timeout(MOST_SECONDS):
            while not all(len(_complete(job, volume)) > STEPS for job in jobs):  # noqa: ASYNC110 - it waits for other programs
                await asyncio.sleep(LOOK_SECONDS)
    return tuple(_compared(job, _complete(job, volume)[: STEPS + 1]) for job in jobs)


def _job(name: str, workers: int) -> ElasticJob:
    """Return a job with a fixed number of workers that trains longer than the measurement."""
    model = scenario.jobs("light", "async", seed=1, scale=1.0)[0]
    simulated = replace(model.simulated, name=name, wanted=workers)
    return replace(model, simulated=simulated, steps=100_000)


def _on(job: ElasticJob, node: str, volume: Path) -> Manifest:
    manifest = manifests.job(job, volume / job.name, scaled_by_us=False, suspended=False)
    pod = manifest["spec"]["template"]["spec"]
    del pod["schedulingGates"]
    pod |= {"nodeName": node, "schedulerName": "none"}
    return manifest


def _complete(job: ElasticJob, volume: Path) -> Sequence[Step]:
    workers = job.simulated.wanted
    return [step for step in outcome.steps(volume / job.name) if step.workers == workers]


def _compared(job: ElasticJob, steps: Sequence[Step]) -> Measured:
    taken = [after.at - before.at for before, after in pairwise(steps)]
    workers = job.simulated.wanted
    return Measured(workers, job.pace.seconds(workers), statistics.median(taken))
