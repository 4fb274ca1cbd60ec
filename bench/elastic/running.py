"""One run: submit the jobs, wait for them, and collect the results."""

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.elastic import dragon, manifests, outcome, references, scenario, testbed
from bench.elastic.manifests import NAMESPACE
from bench.elastic.outcome import JobOutcome, Outcome
from bench.elastic.scenario import ElasticJob
from bench.elastic.testbed import Contestant
from devcluster.cluster import Cluster
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock

LOOK_SECONDS: Final = 0.1
MOST_SECONDS: Final = 900.0
"""A longer run has lost a job."""
_CLOCK: Final = SystemClock()


@dataclass(frozen=True)
class Plan:
    """A run; ``scale``: real seconds per simulated second."""

    contestant: Contestant
    experiment: str
    speed: str
    seed: int
    scale: float


@dataclass
class Changes:
    """Observed changes of the Jobs, by name.

    Attributes:
        submitted: Submission, seconds since the epoch.
        workers: Numbers of workers in the Job's spec while it was not suspended.
    """

    submitted: dict[str, float] = field(default_factory=dict)
    workers: dict[str, list[int]] = field(default_factory=dict)

    def note(self, job: Mapping[str, Any]) -> None:
        """Record a version of a Job."""
        spec, numbers = job["spec"], self.workers.setdefault(job["metadata"]["name"], [])
        if not spec.get("suspend") and numbers[-1:] != [spec["parallelism"]]:
            numbers.append(spec["parallelism"])


def run(plan: Plan, directory: Path) -> Outcome:
    """Run an experiment once on a separate cluster.

    Raises:
        TimeoutError: A job did not complete.
    """
    cluster = testbed.bring_up(directory)
    try:
        testbed.start(cluster, plan.contestant, plan.scale)
        return asyncio.run(_watched(cluster, plan))
    finally:
        cluster.down()


async def _watched(cluster: Cluster, plan: Plan) -> Outcome:
    coming = scenario.jobs(plan.experiment, plan.speed, plan.seed, plan.scale)
    volume, changes, load = cluster.layout.volume / NAMESPACE, Changes(), os.getloadavg()[0]
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        await manifests.prepare(client, coming)
        begun_at = _CLOCK.now()
        async with asyncio.timeout(MOST_SECONDS), _helped(client, plan, coming, changes):
            async with asyncio.TaskGroup() as group:
                for job in coming:
                    group.create_task(_submit(client, job, plan, volume, begun_at, changes))
            await _until_done([volume / job.name for job in coming])
    outcomes = [_of(job, volume / job.name, changes, begun_at) for job in coming]
    return Outcome(
        contestant=plan.contestant,
        experiment=plan.experiment,
        speed=plan.speed,
        seed=plan.seed,
        scale=plan.scale,
        load=round(load, 2),
        simulated_makespan=round(references.makespan(plan.contestant, coming, plan.scale), 1),
        jobs=tuple(outcomes),
    )


@contextlib.asynccontextmanager
async def _helped(
    client: KubeClient, plan: Plan, coming: Sequence[ElasticJob], changes: Changes
) -> Any:
    """Record the numbers of workers meanwhile, and run DRAGON if it is the contestant."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_note(client, changes))]
        if plan.contestant is Contestant.DRAGON:
            tasks.append(group.create_task(dragon.drive(client, coming, plan.scale)))
        yield
        for task in tasks:
            task.cancel()


async def _note(client: KubeClient, changes: Changes) -> None:
    path = paths.namespaced(paths.JOBS, NAMESPACE)
    while True:
        for job in msgspec.json.decode(await client.get(path))["items"]:
            changes.note(job)
        await asyncio.sleep(LOOK_SECONDS)


async def _submit(
    client: KubeClient, job: ElasticJob, plan: Plan, volume: Path, begun_at: float, changes: Changes
) -> None:
    await asyncio.sleep(max(0.0, begun_at + job.at_seconds - _CLOCK.now()))
    changes.submitted[job.name] = _CLOCK.now()
    manifest = manifests.job(
        job,
        volume / job.name,
        scaled_by_us=plan.contestant.scaled_by_us,
        suspended=plan.contestant is Contestant.DRAGON,
    )
    await client.post(paths.namespaced(paths.JOBS, NAMESPACE), manifest)


async def _until_done(directories: Sequence[Path]) -> None:
    while not all(outcome.done(directory) for directory in directories):  # noqa: ASYNC110 - it waits for other programs
        await asyncio.sleep(LOOK_SECONDS)


def _of(job: ElasticJob, directory: Path, changes: Changes, begun_at: float) -> JobOutcome:
    steps = outcome.steps(directory)
    numbers = {step.number for step in steps}
    return JobOutcome(
        name=job.name,
        utility=job.simulated.utility,
        submitted=round(changes.submitted[job.name] - begun_at, 2),
        completed=round(outcome.done_at(directory) - begun_at, 2),
        steps=job.steps,
        missing_steps=job.steps - len(numbers),
        repeated_steps=len(steps) - len(numbers),
        rescales=len(changes.workers[job.name]) - 1,
        workers=outcome.workers_over_time(steps, begun_at),
        loss=steps[-1].loss,
        loss_alone=references.losses(job)[-1],
    )
