"""A running cluster as a test uses it: submit, wait on the watch history, ask the read API."""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from devcluster import api as devcluster_api
from devcluster import emptying, kwok
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import api
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from tests.controlplane import watching
from tests.controlplane.jobs import Manifest, gang_sizes, namespace
from tests.controlplane.watching import History, recording
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 45.0
_COLLECTIONS: Final[Mapping[str, str]] = {
    "Pod": paths.PODS,
    "Job": paths.JOBS,
    "StatefulSet": paths.STATEFULSETS,
    "ResourceQuota": paths.RESOURCE_QUOTAS,
    "Namespace": paths.NAMESPACES,
    "PriorityClass": paths.PRIORITY_CLASSES,
}


@dataclass
class Yard:
    """See the module.

    Attributes:
        sizes: Gang size of every job of ours that was submitted.
    """

    cluster: Cluster
    client: KubeClient
    history: History
    sizes: dict[str, int] = field(default_factory=dict)

    async def nodes(self, nodes: KwokNodes) -> tuple[str, ...]:
        """Create fake nodes and wait until pods can be bound to them."""
        await kwok.create(self.client, nodes)
        await devcluster_api.wait_until_usable(self.client, frozenset(nodes.names()))
        return nodes.names()

    async def cordon(self, names: Iterable[str], *, cordoned: bool = True) -> None:
        body = {"spec": {"unschedulable": cordoned or None}}
        for name in names:
            await self.client.patch(paths.node(name), body)

    async def namespace(self, name: str, user_priority: int | None = None) -> str:
        """Create a namespace; ServiceAccount admission accepts pods in it when this returns."""
        await self.client.post(paths.NAMESPACES, namespace(name, user_priority))
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        await devcluster_api.wait_for(self.client, account, PATIENCE_SECONDS)
        return name

    async def submit(self, in_namespace: str, *manifests: Manifest) -> list[dict[str, Any]]:
        """Create objects one after the other; what they are for the gangs is noted in ``sizes``."""
        self.sizes.update(gang_sizes(in_namespace, manifests))
        made = []
        for manifest in manifests:
            path = _COLLECTIONS[manifest["kind"]]
            if manifest["kind"] not in {"Namespace", "PriorityClass"}:
                path = paths.namespaced(path, in_namespace)
            made.append(json.loads(await self.client.post(path, manifest)))
        return made

    async def until_there(self, *jobs: str) -> None:
        """Wait until all pods of the jobs exist."""
        await eventually(
            lambda: all(len(self.history.of(job)) >= self.sizes[job] for job in jobs),
            PATIENCE_SECONDS,
            f"pods of {jobs} exist",
        )

    async def until_bound(self, *jobs: str, count: int | None = None) -> None:
        """Wait until the jobs are bound, as many pods as their gangs need or ``count`` of each."""
        await eventually(
            lambda: all(
                self.history.bound(job) >= (self.sizes[job] if count is None else count)
                for job in jobs
            ),
            PATIENCE_SECONDS,
            f"{jobs} are bound",
        )

    async def until_waiting(self, job: str, reason: str) -> api.QueueEntry:
        """Wait until the queue gives that reason for the job."""

        async def entry() -> api.QueueEntry | None:
            return next((e for e in await self.entries() if e.reason == reason and _is(e, job)), None)

        found = await eventually(entry, PATIENCE_SECONDS, f"{job} waits: {reason}")
        assert found is not None
        return found

    async def entries(self) -> tuple[api.QueueEntry, ...]:
        return (await self.queue()).entries

    async def queue(self) -> api.QueueResponse:
        return msgspec.json.decode(await self.read("/v1/queue"), type=api.QueueResponse)

    async def read(self, path: str) -> bytes:
        """GET a path of the read API."""
        return await asyncio.to_thread(_get, f"{self.cluster.extender_url}{path}")

    async def events(self, in_namespace: str, reason: str) -> list[dict[str, Any]]:
        path = paths.namespaced(paths.EVENTS, in_namespace)
        found = await devcluster_api.items(self.client, path)
        return [event for event in found if event.get("reason") == reason]

    async def after_this_second(self) -> None:
        """Wait until the server stamps a later creation second than it does now."""
        first = await self._stamp()

        async def later() -> bool:
            return await self._stamp() > first

        await eventually(later, PATIENCE_SECONDS)

    async def _stamp(self) -> str:
        body = {"metadata": {"generateName": "clock-"}}
        made = await self.client.post(
            "/api/v1/namespaces/default/configmaps", body, params={"dryRun": "All"}
        )
        return str(json.loads(made)["metadata"]["creationTimestamp"])


@asynccontextmanager
async def opened(cluster: Cluster) -> AsyncIterator[Yard]:
    """Lend the cluster to one test; afterwards no gang was partial, and the cluster is empty.

    What runs stays running: only objects are deleted.
    """
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    async with KubeClient.connect(credentials) as client:
        try:
            async with recording(client) as history:
                yard = Yard(cluster, client, history)
                yield yard
                await history.caught_up(client)
                assert watching.partial_gangs(history, yard.sizes) == ()
                assert watching.bound_twice(history) == ()
        finally:
            await emptying.empty(client)


def start(cluster: Cluster, settings: Mapping[str, Any] | None = None) -> None:
    """Start kwok and our pair with these settings on a cluster that may run it with others."""
    for component in ("kube-scheduler", "extender"):
        if cluster.runs(component):
            cluster.stop(component)
    cluster.add_kwok_nodes(KwokNodes(0))
    cluster.start_shuntyard(settings)


def _is(entry: api.QueueEntry, job: str) -> bool:
    return f"{entry.namespace}/{entry.job}" == job


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return bytes(answer.read())
