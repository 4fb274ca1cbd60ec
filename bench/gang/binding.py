"""Creates pods, watches until all are bound, and measures times and partly bound gangs."""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bench.gang.shapes import NAMESPACE, Kind, Shape
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ConnectionLostError

CREATORS = 32
DELETE_SECONDS = 600.0
DELETE_AGAIN_SECONDS = 1.0
BOUND_PODS = {"fieldSelector": "spec.nodeName!="}
"""Watch of bound pods only: a pod appears when it is bound."""
WATCHED = {**BOUND_PODS, "watch": "true", "allowWatchBookmarks": "true"}


@dataclass(frozen=True)
class Measured:
    """One run; times in seconds since its first create.

    Attributes:
        wanted: Number of pods to bind.
        created_at: Time of each pod's create request, by name.
        bound_at: Time at which the watch showed each pod bound, by name.
        partial_gangs: Gangs with bound and unbound pods at the end.
    """

    wanted: int
    created_at: Mapping[str, float]
    bound_at: Mapping[str, float]
    partial_gangs: int = 0

    @property
    def pods(self) -> int:
        """Number of bound pods."""
        return len(self.bound_at)

    @property
    def seconds(self) -> float:
        """From the first create to the last bind."""
        return max(self.bound_at.values(), default=0.0)

    @property
    def created_seconds(self) -> float:
        """From the first create to the last one."""
        return max(self.created_at.values(), default=0.0)

    @property
    def pods_per_second(self) -> float:
        """Pods bound per second."""
        return self.pods / self.seconds if self.bound_at else 0.0

    def tenths_per_second(self) -> tuple[float, float]:
        """Return the pods bound per second in the first and in the last tenth of the bound pods."""
        at = sorted(self.bound_at.values())
        tenth = len(at) // 10
        if not tenth:
            return self.pods_per_second, self.pods_per_second
        return tenth / at[tenth - 1], tenth / (at[-1] - at[-1 - tenth])

    def waited_seconds(self, share: float) -> float:
        """Return the quantile ``share`` of the times from a pod's create to its bind."""
        waits = sorted(at - self.created_at[name] for name, at in self.bound_at.items())
        return waits[max(0, math.ceil(share * len(waits)) - 1)] if waits else 0.0


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Event(msgspec.Struct):
    type: str
    object: _Object


class _List(msgspec.Struct):
    metadata: _Meta
    items: list[_Object]


_EVENT = msgspec.json.Decoder(_Event)
_LIST = msgspec.json.Decoder(_List)


@dataclass
class _Watch:
    """Watches pods become bound."""

    client: KubeClient
    wanted: int
    version: str
    bound_at: dict[str, float] = field(default_factory=dict)

    async def run(self) -> None:
        """Return when all pods are bound.

        The server ends a watch that lags behind, as ours may while it creates pods; it continues
        from the last version. If nothing is bound for minutes, that version expires, and the pods
        are listed.
        """
        while len(self.bound_at) < self.wanted:
            params = {**WATCHED, "resourceVersion": self.version}
            async with aclosing(self.client.stream(paths.pods(NAMESPACE), params)) as lines:
                async for line in lines:
                    event = _EVENT.decode(line)
                    if event.type == "ERROR":
                        await self._list()
                        break
                    if self._saw(event):
                        return

    async def _list(self) -> None:
        pods = _LIST.decode(await self.client.get(paths.pods(NAMESPACE), BOUND_PODS))
        self.version = pods.metadata.resource_version
        for pod in pods.items:
            self.bound_at.setdefault(pod.metadata.name, time.monotonic())

    def _saw(self, event: _Event) -> bool:
        meta = event.object.metadata
        self.version = meta.resource_version or self.version
        if event.type in {"ADDED", "MODIFIED"}:
            self.bound_at.setdefault(meta.name, time.monotonic())
        return len(self.bound_at) >= self.wanted


async def measure(
    client: KubeClient,
    shape: Shape,
    kind: Kind,
    prefix: str,
    patience_seconds: float,
    *,
    groups: str = "",
) -> Measured:
    """Create all pods, wait until all are bound or patience ends, delete them.

    PodGroups, where the scheduler needs them, are created at the path ``groups`` before the clock
    starts.
    """
    if groups:
        path, api = paths.namespaced(groups, NAMESPACE), paths.group_version(groups)
        await _post_all(client, path, list(shape.groups(kind, prefix, api)), {})
    pods = list(shape.manifests(kind, prefix))
    listed = msgspec.json.decode(await client.get(paths.pods(NAMESPACE), {"limit": "1"}))
    watch = _Watch(client, len(pods), listed["metadata"]["resourceVersion"])
    begun = time.monotonic()
    created_at: dict[str, float] = {}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_seconds), asyncio.TaskGroup() as group:
            group.create_task(watch.run())
            await create(client, pods, created_at)
    partial = await _partial_gangs(client, shape) if len(watch.bound_at) < len(pods) else 0
    await delete_all(client, groups=groups)
    return Measured(
        len(pods),
        {name: at - begun for name, at in created_at.items()},
        {name: at - begun for name, at in watch.bound_at.items()},
        partial,
    )


async def create(
    client: KubeClient,
    pods: Sequence[dict[str, Any]],
    sent_at: dict[str, float] | None = None,
) -> None:
    """Create pods, ``CREATORS`` at a time; record in ``sent_at`` the time of each, by name."""
    await _post_all(client, paths.pods(NAMESPACE), pods, {} if sent_at is None else sent_at)


async def _post_all(
    client: KubeClient, path: str, bodies: Sequence[dict[str, Any]], sent_at: dict[str, float]
) -> None:
    waiting = iter(bodies)

    async def creator() -> None:
        for body in waiting:
            sent_at[body["metadata"]["name"]] = time.monotonic()
            await client.post(path, body)

    async with asyncio.TaskGroup() as group:
        for _ in range(CREATORS):
            group.create_task(creator())


async def _partial_gangs(client: KubeClient, shape: Shape) -> int:
    """Return the number of partly bound gangs; call it when binding has stopped."""
    listed = msgspec.json.decode(await client.get(paths.pods(NAMESPACE)))["items"]
    return partial_gangs(listed, shape.pods)


def partial_gangs(pods: Sequence[Mapping[str, Any]], size: int) -> int:
    """Return the number of gangs of ``size`` with some but not all pods bound."""
    bound = Counter(
        pod["metadata"]["labels"][labels.JOB] for pod in pods if pod["spec"].get("nodeName")
    )
    return sum(count < size for count in bound.values())


async def delete_all(client: KubeClient, *, groups: str = "") -> None:
    """Delete the pods, then their groups at that path, and wait until no pod is left.

    Deletes repeatedly: the extender recreates bare pods that it gives up, and the server may need
    longer for thousands of pods than one request may take.
    """
    async with asyncio.timeout(DELETE_SECONDS):
        while True:
            with contextlib.suppress(ConnectionLostError):
                await client.delete(paths.pods(NAMESPACE), grace_seconds=0)
            left = await client.get(paths.pods(NAMESPACE), {"limit": "1"})
            if not msgspec.json.decode(left)["items"]:
                break
            await asyncio.sleep(DELETE_AGAIN_SECONDS)
        if groups:
            await client.delete(paths.namespaced(groups, NAMESPACE))
