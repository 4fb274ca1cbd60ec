"""One run: submit the jobs, wait for them, and collect the results."""

import asyncio
import os
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.specon import outcome, testbed
from bench.specon.files import JobFiles
from bench.specon.jobs import program
from bench.specon.outcome import Moved, Outcome
from bench.specon.scenario import STEP_CPU_SECONDS, Arrival, arrivals, start_label
from devcluster.cluster import Cluster
from shared import labels
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.readapi import api
from shared.system_clock import SystemClock

NAMESPACE: Final = "default"
LOOK_SECONDS: Final = 0.2
MOST_SECONDS: Final = 1500.0
"""A longer run has lost a job."""
_CLOCK: Final = SystemClock()


@dataclass(frozen=True)
class Plan:
    """A run.

    Attributes:
        jobs: Number of jobs.
        scale: Real seconds per simulated second.
        gain_ratio: ``migration.minimum_gain_ratio``.
    """

    policy: str
    seed: int
    jobs: int
    scale: float
    gain_ratio: float


def run(plan: Plan, directory: Path) -> Outcome:
    """Run the scenario once on a separate cluster.

    Raises:
        TimeoutError: A job did not complete.
    """
    cluster = testbed.bring_up(directory)
    try:
        testbed.start(cluster, plan.policy, scale=plan.scale, gain_ratio=plan.gain_ratio)
        return asyncio.run(_watched(cluster, plan))
    finally:
        cluster.down()


async def _watched(cluster: Cluster, plan: Plan) -> Outcome:
    names = testbed.NODES.names()
    coming = arrivals(plan.jobs, len(names), seed=plan.seed, scale=plan.scale)
    volume, load = cluster.layout.volume / NAMESPACE, os.getloadavg()[0]
    files = {arrival.training.name: JobFiles(volume / arrival.training.name) for arrival in coming}
    submitted: dict[str, float] = {}
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        await client.post(paths.namespaced("/api/v1/configmaps", NAMESPACE), program())
        await _open_first_nodes(client, coming, names)
        begun_at = _CLOCK.now()
        async with asyncio.timeout(MOST_SECONDS), asyncio.TaskGroup() as group:
            for arrival in coming:
                group.create_task(_arrive(client, arrival, volume, begun_at, submitted))
            group.create_task(_all_done(list(files.values())))
    outcomes = [
        outcome.job_outcome(
            arrival,
            files[arrival.training.name],
            submitted_at=submitted[arrival.training.name],
            begun_at=begun_at,
        )
        for arrival in coming
    ]
    return Outcome(
        policy=plan.policy,
        seed=plan.seed,
        scale=plan.scale,
        load=round(load, 2),
        delivered_ratio=outcome.delivered_ratio(outcomes, STEP_CPU_SECONDS),
        jobs=tuple(outcomes),
        moves=await asyncio.to_thread(_moves, cluster.extender_url),
    )


async def _open_first_nodes(
    client: KubeClient, coming: Sequence[Arrival], names: Sequence[str]
) -> None:
    """Restrict each job to its first node."""
    for index, name in enumerate(names):
        first = {
            start_label(arrival.training.name): "" for arrival in coming if arrival.node == index
        }
        await client.patch(paths.node(name), {"metadata": {"labels": first}})


async def _arrive(
    client: KubeClient, arrival: Arrival, volume: Path, begun_at: float, submitted: dict[str, float]
) -> None:
    """Submit a job at its time; once it is bound, allow all nodes."""
    await asyncio.sleep(max(0.0, begun_at + arrival.at_seconds - _CLOCK.now()))
    name = arrival.training.name
    submitted[name] = _CLOCK.now()
    manifest = arrival.training.job(volume / name)
    await client.post(paths.namespaced(paths.JOBS, NAMESPACE), manifest)
    while not await _is_bound(client, name):  # noqa: ASYNC110 - it waits for other programs
        await asyncio.sleep(LOOK_SECONDS)
    body = {"metadata": {"labels": {start_label(name): ""}}}
    for node in testbed.NODES.names():
        await client.patch(paths.node(node), body)


async def _is_bound(client: KubeClient, job: str) -> bool:
    selector = {"labelSelector": f"{labels.JOB_NAME_LABEL}={job}"}
    answer = msgspec.json.decode(await client.get(paths.pods(NAMESPACE), selector))
    pods: list[dict[str, Any]] = answer["items"]
    return any(pod["spec"].get("nodeName") for pod in pods)


async def _all_done(files: Sequence[JobFiles]) -> None:
    while not all(job_files.done() for job_files in files):  # noqa: ASYNC110 - it waits for other programs
        await asyncio.sleep(LOOK_SECONDS)


def _moves(url: str) -> tuple[Moved, ...]:
    with urllib.request.urlopen(f"{url}/v1/migrations", timeout=10) as answer:  # noqa: S310 - our own
        migrations = msgspec.json.decode(answer.read(), type=api.MigrationsResponse)
    return tuple(outcome.moved(entry) for entry in migrations.entries)
