"""A queue of a real Kueue in a test's namespace, and checks of its state."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import pytest

from devcluster.cluster import Cluster
from shared import labels
from shared.kube import paths
from shared.kube.errors import ApiError
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Manifest
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 60.0
QUOTA: Final = 4
KUEUE: Final = "/apis/kueue.x-k8s.io/v1beta2"
ELASTIC: Final = {labels.WORKERS: "1..8", labels.SHRINK: "terminate"}
CAN_RUN: Final = pytest.mark.skipif(
    os.geteuid() != 0,
    reason="Kueue reads a certificate from /etc/kueue, where only root can put one",
)


@asynccontextmanager
async def opened(cluster: Cluster) -> AsyncIterator[Yard]:
    """Yield a yard whose namespace has a queue of Kueue with a quota of ``QUOTA`` CPUs."""
    async with yards.opened(cluster) as yard:
        await prepare(yard)
        yield yard
        await yard.client.delete(f"{KUEUE}/clusterqueues/{yard.team}")


async def prepare(yard: Yard) -> None:
    flavor = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": str(QUOTA)}]}
    spec = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
    }
    urgent = {"metadata": {"name": "urgent"}, "value": 1000}
    local = f"{KUEUE}/namespaces/{yard.team}/localqueues"
    await made(yard, f"{KUEUE}/resourceflavors", "ResourceFlavor", name("any"))
    await made(yard, f"{KUEUE}/workloadpriorityclasses", "WorkloadPriorityClass", urgent)
    await made(yard, f"{KUEUE}/clusterqueues", "ClusterQueue", {**name(yard.team), "spec": spec})
    queue = {**name("team-queue"), "spec": {"clusterQueue": yard.team}}
    await made(yard, local, "LocalQueue", queue)

    async def active() -> bool:
        found = json.loads(await yard.client.get(f"{local}/team-queue"))
        conditions = {
            c["type"]: c["status"] for c in found.get("status", {}).get("conditions") or ()
        }
        return conditions.get("Active") == "True"

    await eventually(active, PATIENCE_SECONDS, "Kueue admits from the queue")


def name(of: str) -> Manifest:
    return {"metadata": {"name": of}}


async def made(yard: Yard, collection: str, kind: str, manifest: Manifest) -> None:
    """Create an object that may exist already, as soon as Kueue's webhooks answer."""
    body = {"apiVersion": paths.group_version(KUEUE + "/x"), "kind": kind, **manifest}

    async def there() -> bool:
        with suppress(ApiError):
            return bool(await yard.client.get(f"{collection}/{manifest['metadata']['name']}"))
        with suppress(ApiError):
            await yard.client.post(collection, body)
        return False

    await eventually(there, PATIENCE_SECONDS, f"{kind} is made")


def queued(manifest: Manifest, **more: str) -> Manifest:
    """Return the job in Kueue's queue, elastic for us."""
    marks = {labels.KUEUE_QUEUE: "team-queue", **more}
    metadata = {"labels": marks, "annotations": ELASTIC, **manifest["metadata"]}
    return {**manifest, "metadata": metadata}


async def stored(yard: Yard, collection: str, of: str) -> dict[str, Any]:
    return dict(json.loads(await yard.client.get(paths.namespaced(collection, yard.team, of))))


async def untouched(yard: Yard, collection: str, of: str) -> bool:
    """Return True if Kueue holds the object, it has no pods, and we have not written to it."""
    seen = await stored(yard, collection, of)
    ours = [
        key for key in seen["metadata"]["annotations"] if key in {labels.RESCALE, labels.SLOT_PLAN}
    ]
    waiting = [e.job for e in await yard.entries() if e.namespace == yard.team and e.job == of]
    return (seen["spec"].get("suspend"), yard.of(of), ours, waiting) == (True, [], [], [])
