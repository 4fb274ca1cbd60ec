"""One live run: submit the jobs, wait for them, and read what their programs wrote."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.elastic import manifests, outcome
from bench.elastic.manifests import Manifest
from bench.orders import simulated, testbed
from bench.orders.outcome import LIVE, JobOutcome, Outcome
from bench.orders.scenario import USERS, MixedJob
from extender.core.parameters.queue import Order
from shared import labels
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock

LOOK_SECONDS: Final = 0.2
MOST_SECONDS: Final = 600.0
"""A longer run has lost a job."""
_CLOCK: Final = SystemClock()
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass
class Seen:
    """When the pods of each job came to a node and left, seconds since the epoch.

    Attributes:
        placed: Of each job, when its first pod had a node.
        gone: Of each job, when its last pod was seen on a node.
        submitted: Of each job.
        parkings: Of each job, ids of its parkings that suspended it.
    """

    placed: dict[str, float] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    submitted: dict[str, float] = field(default_factory=dict)
    parkings: dict[str, set[str]] = field(default_factory=dict)

    def note(self, pods: Sequence[Manifest], owners: Sequence[Manifest], now: float) -> None:
        """Record the pods and the Jobs of a moment."""
        for pod in pods:
            name = (pod["metadata"].get("labels") or {}).get(labels.JOB_NAME_LABEL)
            placed = pod["spec"].get("nodeName") and pod["status"].get("phase") not in _ENDED
            if name and placed:
                self.placed.setdefault(name, now)
                self.gone[name] = now
        for owner in owners:
            text = (owner["metadata"].get("annotations") or {}).get(labels.PARKING)
            if text and owner["spec"].get("suspend"):
                name = owner["metadata"]["name"]
                self.parkings.setdefault(name, set()).add(msgspec.json.decode(text)["id"])


def run(
    order: Order, seed: int, jobs: Sequence[MixedJob], losses: Mapping[str, float], directory: Path
) -> Outcome:
    """Run the workload once on a separate cluster.

    Args:
        order: Of the queue.
        seed: Of the workload.
        jobs: The workload.
        losses: Of each job, the last loss of an undisturbed run.
        directory: Of the cluster.

    Raises:
        TimeoutError: A job did not complete.
    """
    load = os.getloadavg()[0]
    cluster = testbed.bring_up(directory, order)
    try:
        volume = cluster.layout.volume
        begun_at, seen = asyncio.run(_watched(cluster.kubeconfig, volume, jobs))
        found = tuple(_of(job, volume, seen, begun_at, losses[job.name]) for job in jobs)
    finally:
        cluster.down()
    return Outcome(how=LIVE, order=order.value, seed=seed, jobs=found, load=round(load, 2))


async def _watched(kubeconfig: Path, volume: Path, jobs: Sequence[MixedJob]) -> tuple[float, Seen]:
    seen = Seen()
    async with KubeClient.connect(auth.load(kubeconfig)) as client:
        await _prepare(client, jobs)
        begun_at = _CLOCK.now()
        async with asyncio.timeout(MOST_SECONDS), asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(_submit(client, job, volume, begun_at, seen))
            group.create_task(_until_over(client, volume, jobs, seen))
    return begun_at, seen


async def _prepare(client: KubeClient, jobs: Sequence[MixedJob]) -> None:
    for user, priority in USERS.items():
        notes = {labels.USER_PRIORITY: str(priority)}
        team = {"metadata": {"name": user, "annotations": notes}}
        body = {"apiVersion": "v1", "kind": "Namespace", **team}
        await client.post(paths.NAMESPACES, body)
        await client.post(paths.namespaced("/api/v1/configmaps", user), manifests.programs())
    for job in jobs:
        path = paths.namespaced("/api/v1/services", job.simulated.namespace)
        await client.post(path, manifests.service(job.name))


async def _submit(
    client: KubeClient, job: MixedJob, volume: Path, begun_at: float, seen: Seen
) -> None:
    await asyncio.sleep(max(0.0, begun_at + job.simulated.submitted_at - _CLOCK.now()))
    seen.submitted[job.name] = _CLOCK.now()
    path = paths.namespaced(paths.JOBS, job.simulated.namespace)
    await client.post(path, manifest(job, _directory(volume, job)))


def manifest(job: MixedJob, directory: Path) -> Manifest:
    """Return the Job: its workers, its utility, the fewest that it starts with, a stated length."""
    made = manifests.job(job.trained, directory, scaled_by_us=False, suspended=False)
    template = made["spec"]["template"]
    del template["spec"]["priorityClassName"]
    template["metadata"]["annotations"] |= {
        **job.simulated.annotations,
        labels.MIN_AVAILABLE: str(job.simulated.least_workers),
        labels.EXPECTED_DURATION: f"{job.simulated.expected_seconds}s",
    }
    return made


async def _until_over(
    client: KubeClient, volume: Path, jobs: Sequence[MixedJob], seen: Seen
) -> None:
    """Note pods and Jobs until every training is complete and no pod is left on a node."""
    while True:
        pods, owners = await _items(client, paths.PODS), await _items(client, paths.JOBS)
        now = _CLOCK.now()
        seen.note(pods, owners, now)
        done = all(outcome.done(_directory(volume, job)) for job in jobs)
        if done and now > max(seen.gone.values()) + LOOK_SECONDS:
            return
        await asyncio.sleep(LOOK_SECONDS)


async def _items(client: KubeClient, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(await client.get(path))["items"]
    return found


def _of(job: MixedJob, volume: Path, seen: Seen, begun_at: float, loss: float) -> JobOutcome:
    directory = _directory(volume, job)
    steps = outcome.steps(directory)
    times = Counter(step.number for step in steps)
    completed, submitted = outcome.done_at(directory), seen.submitted[job.name]
    return JobOutcome(
        name=job.name,
        submitted=round(submitted - begun_at, 2),
        completed=round(completed - begun_at, 2),
        worth=simulated.worth(job, completed - submitted),
        parkings=len(seen.parkings.get(job.name, ())),
        placed=round(seen.placed[job.name] - begun_at, 2),
        began=round(steps[0].at - job.trained.pace.seconds(steps[0].workers) - begun_at, 2),
        gone=round(seen.gone[job.name] - begun_at, 2),
        missing_steps=job.trained.steps - len(times),
        repeated_steps=len(steps) - len(times),
        loss_difference=abs(steps[-1].loss - loss),
    )


def _directory(volume: Path, job: MixedJob) -> Path:
    return volume / job.simulated.namespace / job.name
