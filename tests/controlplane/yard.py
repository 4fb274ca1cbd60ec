"""A running cluster for tests: submit, wait on the watch history, read the API."""

import asyncio
import itertools
import json
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from devcluster import emptying
from devcluster.cluster import Cluster
from devcluster.components.schedulers import LeaseTimes
from devcluster.options import KwokNodes
from devcluster.shuntyard.replicas import Replicas
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.readapi import api
from tests.controlplane import watching
from tests.controlplane.jobs import Manifest, gang_sizes, namespace
from tests.controlplane.watching import History, Object, recording
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 60.0
QUICK_LEASE: Final = Replicas(lease=LeaseTimes(retry_seconds=0.5))
"""The extender acts once it has seen the Lease renewed: that takes 2 to 4 s by the defaults."""
_SERIAL = itertools.count(1)
_COLLECTIONS: Final[Mapping[str, str]] = {
    "Pod": paths.PODS,
    "Job": paths.JOBS,
    "StatefulSet": paths.STATEFULSETS,
    "Deployment": paths.DEPLOYMENTS,
    "ResourceQuota": paths.RESOURCE_QUOTAS,
    "PriorityClass": paths.PRIORITY_CLASSES,
}
_CLUSTER_WIDE: Final = frozenset({"PriorityClass"})
Start = Callable[[Cluster], None]
"""Starts the programs that the tests of a module need on an empty control plane."""


@dataclass
class Yard:
    """See the module. A job is named ``namespace/name``, one of ``team`` by its name alone.

    Attributes:
        team: A namespace that no other test has used.
        sizes: Gang size of every job of ours that was submitted.
    """

    cluster: Cluster
    client: KubeClient
    history: History
    team: str = ""
    sizes: dict[str, int] = field(default_factory=dict)

    async def nodes(self, nodes: KwokNodes) -> tuple[str, ...]:
        """Create fake nodes and wait until pods can be bound to them."""
        await asyncio.to_thread(self.cluster.add_kwok_nodes, nodes)
        return nodes.names()

    async def cordon(self, names: Iterable[str], *, cordoned: bool = True) -> None:
        body = {"spec": {"unschedulable": cordoned or None}}
        for name in names:
            await self.client.patch(paths.node(name), body)

    async def namespace(self, name: str, user_priority: int | None = None) -> str:
        """Create a namespace and return its name, which has never been used.

        A name that comes again is not safe: the controller that cleans up after the first one may
        still be at work and empty the second. Pods are accepted in it when this returns.
        """
        name = f"{name}-{next(_SERIAL)}"
        await self.client.post(paths.NAMESPACES, namespace(name, user_priority))
        accounts = paths.namespaced("/api/v1/serviceaccounts", name)
        await eventually(lambda: self.items(accounts), PATIENCE_SECONDS, f"{name} has an account")
        return name

    async def submit(self, *manifests: Manifest, to: str = "") -> list[dict[str, Any]]:
        """Create objects one after the other, in ``team`` or in the namespace ``to``."""
        in_namespace = to or self.team
        self.sizes.update(gang_sizes(in_namespace, manifests))
        made = []
        for manifest in manifests:
            path = _COLLECTIONS[manifest["kind"]]
            if manifest["kind"] not in _CLUSTER_WIDE:
                path = paths.namespaced(path, in_namespace)
            made.append(json.loads(await self.client.post(path, manifest)))
        return made

    def key(self, job: str) -> str:
        return job if "/" in job else f"{self.team}/{job}"

    def of(self, job: str) -> list[Object]:
        """The pods of a job that exist now, by name."""
        return self.history.of(self.key(job))

    def bound(self, job: str) -> int:
        """How many of them are bound now."""
        return self.history.bound(self.key(job))

    async def until_there(self, *jobs: str) -> None:
        """Wait until all pods of the jobs exist."""
        await self._until(lambda job: len(self.history.of(job)), jobs, "there")

    async def until_bound(self, *jobs: str) -> None:
        """Wait until all pods that the gangs need are bound."""
        await self._until(self.history.bound, jobs, "bound")

    async def until_waiting(self, job: str, reason: str) -> api.QueueEntry:
        """Wait until the queue has that reason for the job."""

        async def entry() -> api.QueueEntry | None:
            found = await self.entries()
            return next((e for e in found if e.reason == reason and _is(e, self.key(job))), None)

        found = await eventually(entry, PATIENCE_SECONDS, f"{job} waits: {reason}")
        assert found is not None
        return found

    async def _until(self, count: Callable[[str], int], jobs: Iterable[str], what: str) -> None:
        sizes = {key: self.sizes[key] for key in map(self.key, jobs)}

        def all_are() -> bool:
            lacking = {k: f"{count(k)} of {n}" for k, n in sizes.items() if count(k) < n}
            assert not lacking, lacking
            return True

        await eventually(all_are, PATIENCE_SECONDS, what)

    async def entries(self) -> tuple[api.QueueEntry, ...]:
        return (await self.queue()).entries

    async def queue(self) -> api.QueueResponse:
        return msgspec.json.decode(await self.read("/v1/queue"), type=api.QueueResponse)

    async def read(self, path: str) -> bytes:
        """GET a path of the read API."""
        return await asyncio.to_thread(_get, f"{self.cluster.extender_url}{path}")

    async def events(self, reason: str, about: str = "") -> list[dict[str, Any]]:
        """The Events in ``team`` with that reason about objects of a kind; empty: of any."""
        found = await self.items(paths.namespaced(paths.EVENTS, self.team))
        return [
            event
            for event in found
            if event.get("reason") == reason and about in {"", event["regarding"]["kind"]}
        ]

    async def items(self, collection: str) -> list[dict[str, Any]]:
        return list(json.loads(await self.client.get(collection))["items"])

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
    """Yield the cluster to one test; afterwards no gang was partial, and the cluster is empty.

    What runs stays running: only objects are deleted.
    """
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    async with KubeClient.connect(credentials) as client:
        try:
            async with recording(client) as history:
                yard = Yard(cluster, client, history)
                yard.team = await yard.namespace("team")
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
    cluster.start_shuntyard(settings, QUICK_LEASE)


def _is(entry: api.QueueEntry, job: str) -> bool:
    return f"{entry.namespace}/{entry.job}" == job


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return bytes(answer.read())
