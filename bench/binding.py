"""Creates pods and watches until all are bound: how long from the first create to the last bind."""

import asyncio
import time
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec

from shared.kube import paths
from shared.kube.client import KubeClient

NAMESPACE = "default"
CREATORS = 32
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes:
        pods: How many were bound.
        seconds: From the first create to the last bind, as the watch saw it.
        created_seconds: How much of that the creating took.
    """

    pods: int
    seconds: float
    created_seconds: float

    @property
    def pods_per_second(self) -> float:
        """Pods bound per second."""
        return self.pods / self.seconds


async def measure(client: KubeClient, manifests: Iterable[dict[str, Any]]) -> Measured:
    """Create all pods, wait until all are bound, delete them.

    Raises:
        TimeoutError: Not all are bound after ``PATIENCE_SECONDS``.
    """
    pods = list(manifests)
    version = msgspec.json.decode(await client.get(paths.pods(NAMESPACE)))["metadata"]
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
        bound = group.create_task(_all_bound(client, len(pods), version["resourceVersion"]))
        begun = time.monotonic()
        await _create(client, pods)
        created_seconds = time.monotonic() - begun
        ended = await bound
    await _delete(client)
    return Measured(len(pods), ended - begun, created_seconds)


async def _create(client: KubeClient, pods: list[dict[str, Any]]) -> None:
    waiting = iter(pods)

    async def creator() -> None:
        for manifest in waiting:
            await client.post(paths.pods(NAMESPACE), manifest)

    async with asyncio.TaskGroup() as group:
        for _ in range(CREATORS):
            group.create_task(creator())


async def _all_bound(client: KubeClient, count: int, version: str) -> float:
    """Return when the last pod was seen bound.

    The server ends a watch that lags behind, as ours may while it creates pods: it goes on from
    the last version seen.
    """
    bound: set[str] = set()
    while True:
        params = {"watch": "true", "resourceVersion": version}
        async with aclosing(client.stream(paths.pods(NAMESPACE), params)) as lines:
            async for line in lines:
                pod = msgspec.json.decode(line)["object"]
                version = pod["metadata"]["resourceVersion"]
                if pod.get("spec", {}).get("nodeName"):
                    bound.add(pod["metadata"]["name"])
                    if len(bound) == count:
                        return time.monotonic()


async def _delete(client: KubeClient) -> None:
    await client.delete(paths.pods(NAMESPACE), grace_seconds=0)
    while msgspec.json.decode(await client.get(paths.pods(NAMESPACE)))["items"]:  # noqa: ASYNC110 - it waits for another program
        await asyncio.sleep(0.05)
