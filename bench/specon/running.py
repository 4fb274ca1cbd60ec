"""One run: the jobs arrive, are watched to their end, and what became of them is collected."""

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
from shared import api, labels
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock

NAMESPACE: Final = "default"
LOOK_SECONDS: Final = 0.2
MOST_SECONDS: Final = 1500.0
"""A run that takes longer has lost a job."""
_CLOCK: Final = SystemClock()


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes:
        jobs: How many.
        scale: Seconds here for a simulated second.
        gain_ratio: ``migration.minimum_gain_ratio``.
    """

    policy: str
    seed: int
    jobs: int
    scale: float
    gain_ratio: float


def run(plan: Plan, directory: Path) -> Outcome:
    """Run the scenario once on a cluster of its own.

    Raises:
        TimeoutError: A job did not come to its end.
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
    files = {one.training.name: JobFiles(volume / one.training.name) for one in coming}
    submitted: dict[str, float] = {}
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        await client.post(paths.namespaced("/api/v1/configmaps", NAMESPACE), program())
        await _open_first_nodes(client, coming, names)
        begun_at = _CLOCK.now()
        async with asyncio.timeout(MOST_SECONDS), asyncio.TaskGroup() as group:
            for one in coming:
                group.create_task(_arrive(client, one, volume, begun_at, submitted))
            group.create_task(_all_done(list(files.values())))
    made = [
        outcome.job_outcome(
            one,
            files[one.training.name],
            submitted_at=submitted[one.training.name],
            begun_at=begun_at,
        )
        for one in coming
    ]
    return Outcome(
        policy=plan.policy,
        seed=plan.seed,
        scale=plan.scale,
        load=round(load, 2),
        delivered_ratio=outcome.delivered_ratio(made, STEP_CPU_SECONDS),
        jobs=tuple(made),
        moves=await asyncio.to_thread(_moves, cluster.extender_url),
    )


async def _open_first_nodes(
    client: KubeClient, coming: Sequence[Arrival], names: Sequence[str]
) -> None:
    """Let each job begin on its first node only."""
    for index, name in enumerate(names):
        first = {start_label(one.training.name): "" for one in coming if one.node == index}
        await client.patch(paths.node(name), {"metadata": {"labels": first}})


async def _arrive(
    client: KubeClient, one: Arrival, volume: Path, begun_at: float, submitted: dict[str, float]
) -> None:
    """Submit a job at its time; when it has its first node, all nodes are open to it."""
    await asyncio.sleep(max(0.0, begun_at + one.at_seconds - _CLOCK.now()))
    name = one.training.name
    submitted[name] = _CLOCK.now()
    manifest = one.training.job(volume / name)
    await client.post(paths.namespaced(paths.JOBS, NAMESPACE), manifest)
    while not await _is_bound(client, name):  # noqa: ASYNC110 - it waits for other programs
        await asyncio.sleep(LOOK_SECONDS)
    body = {"metadata": {"labels": {start_label(name): ""}}}
    for node in testbed.NODES.names():
        await client.patch(paths.node(node), body)


async def _is_bound(client: KubeClient, job: str) -> bool:
    selector = {"labelSelector": f"{labels.JOB_NAME_LABEL}={job}"}
    found = msgspec.json.decode(await client.get(paths.pods(NAMESPACE), selector))
    pods: list[dict[str, Any]] = found["items"]
    return any(pod["spec"].get("nodeName") for pod in pods)


async def _all_done(files: Sequence[JobFiles]) -> None:
    while not all(one.done() for one in files):  # noqa: ASYNC110 - it waits for other programs
        await asyncio.sleep(LOOK_SECONDS)


def _moves(url: str) -> tuple[Moved, ...]:
    with urllib.request.urlopen(f"{url}/v1/migrations", timeout=10) as answer:  # noqa: S310 - our own
        said = msgspec.json.decode(answer.read(), type=api.MigrationsResponse)
    return tuple(outcome.moved(entry) for entry in said.entries)
