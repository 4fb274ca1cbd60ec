"""Faults on a real control plane, at a chosen step: the watch that sees the step acts at once."""

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from devcluster import emptying
from devcluster.cluster import Cluster
from devcluster.errors import ComponentError
from shared import labels
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.kube.errors import (
    ApiError,
    ConflictError,
    ConnectionLostError,
    NotFoundError,
    transient,
)
from tests.controlplane import watching
from tests.controlplane.jobs import Manifest, Pods, job, pod
from tests.controlplane.watching import Event, History, Object
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 60.0
REST_SECONDS: Final = 60.0
"""A gang that is neither unbound nor whole for longer than this counts as partial: longer than an
outage, the burst after it, and the dissolution of what cannot be completed."""

HISTORIES: Final = os.environ.get("SHUNTYARD_STORM_HISTORIES")
"""A folder that takes the last history of each collection; None: none is kept."""

SUPERVISED: Final = (
    "kube-apiserver",
    "kube-controller-manager",
    "kwok",
    "extender",
    "kube-scheduler",
)
"""What a kubelet or a service manager would restart, in the order of need."""


@asynccontextmanager
async def troubled(cluster: Cluster) -> AsyncIterator[Yard]:
    """Lend the cluster to one test; afterwards no gang was partial at rest, and everything runs."""
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    async with KubeClient.connect(credentials) as client:
        try:
            async with enduring(client) as history:
                yard = Yard(cluster, client, history)
                yard.team = await yard.namespace("team")
                yield yard
                await history.caught_up(client)
                assert watching.partial_gangs(history, yard.sizes, REST_SECONDS) == ()
                assert watching.bound_twice(history) == ()
        finally:
            await revive(cluster)
            await emptying.empty(client)


@asynccontextmanager
async def enduring(client: KubeClient, collection: str = paths.PODS) -> AsyncIterator[History]:
    """Record like ``watching.recording``, also across restarts of the API server.

    A restarted server answers no watch from before its start. Its list replaces the changes in
    between; no client could write while it was down. Objects of another collection stand in the
    history in the place of pods.
    """
    history = History()
    task = asyncio.create_task(_record(client, history, collection), name="watch history")
    await eventually(lambda: history.version > 0, PATIENCE_SECONDS)
    try:
        yield history
    finally:
        if HISTORIES:
            history.write(Path(HISTORIES) / f"{collection.rpartition('/')[2]}.jsonl")
        assert not task.done(), task
        task.cancel()
        await asyncio.wait([task])


async def _record(client: KubeClient, history: History, collection: str) -> None:
    while True:
        try:
            page = json.loads(await client.get(collection))
            _relist(history, page)
            version = page["metadata"]["resourceVersion"]
            params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3600"}
            async for line in client.stream(collection, params):
                change = json.loads(line)
                if change["type"] == "ERROR":
                    break
                _note(history, change["type"], change["object"])
        except ApiError as error:
            if not transient(error):
                raise
        await asyncio.sleep(0.05)


def _relist(history: History, page: Mapping[str, Any]) -> None:
    listed = {found["metadata"]["uid"]: found for found in page["items"]}
    for uid, found in list(history.pods.items()):
        if uid not in listed:
            _note(history, "DELETED", found)
    for uid, found in listed.items():
        if history.pods.get(uid) != found:
            _note(history, "MODIFIED", found)
    history.version = int(page["metadata"]["resourceVersion"])


def _note(history: History, kind: str, found: Object) -> None:
    version = int(found["metadata"]["resourceVersion"])
    history.add(Event(kind, version, time.monotonic(), found))


async def revive(cluster: Cluster) -> None:
    """Resume frozen processes, and start those that have ended."""
    for component in SUPERVISED:
        if cluster.runs(component):
            cluster.kill(component, signal.SIGCONT)
        else:
            await eventually(partial(_starts, cluster, component), PATIENCE_SECONDS)


async def _starts(cluster: Cluster, component: str) -> bool:
    """Retry the start: a killed process may hold its port for a moment."""
    try:
        await asyncio.to_thread(cluster.start, component)
    except ComponentError as error:
        raise AssertionError(error) from error
    return True


def sending(cluster: Cluster, component: str, number: signal.Signals) -> Callable[[], None]:
    """Return a function that sends the signal without a search, so that it is quick."""
    pid = cluster.pid(component)
    return lambda: os.kill(pid, number)


@dataclass
class Step:
    """Run ``act`` at once when the ``count``-th pod of a namespace is released, or bound."""

    phase: str
    count: int
    act: Callable[[], None]
    seen: set[str] = field(default_factory=set)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, found: Object) -> None:
        bound = watching.node_of(found) is not None
        if bound if self.phase == "bind" else not watching.is_gated(found):
            self.seen.add(str(found["metadata"]["uid"]))
        if len(self.seen) >= self.count and not self.reached.is_set():
            self.act()
            self.reached.set()


@asynccontextmanager
async def at(yard: Yard, step: Step) -> AsyncIterator[None]:
    """Wait for the step at the end of the block; what leads to the step belongs inside."""
    path = paths.pods(yard.team)
    listed = json.loads(await yard.client.get(path))
    for found in listed["items"]:
        step.take(found)
    version = listed["metadata"]["resourceVersion"]
    task = asyncio.create_task(_follow(yard.client, path, version, step), name="step")
    try:
        yield
        async with asyncio.timeout(PATIENCE_SECONDS):
            await step.reached.wait()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _follow(client: KubeClient, path: str, version: str, step: Step) -> None:
    params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "600"}
    try:
        async for line in client.stream(path, params):
            step.take(json.loads(line)["object"])
    except ConnectionLostError:
        assert step.reached.is_set()


def gang(name: str, size: int, pods: Pods | None = None) -> Manifest:
    """Return a Job whose pods come back soon after any dissolution (docs/faults.md, "Jobs").

    A deleted pod counts as failed for a Job. Counted together, a gang's pods would use up its
    ``backoffLimit`` at once, and its back-off would be minutes; counted by index it is 10 s.
    """
    manifest = job(name, size, pods or Pods())
    manifest["spec"]["backoffLimitPerIndex"] = 100
    return manifest


def foreigner(node: str, cpu: int) -> Manifest:
    """Return a pod for the default scheduler that fits only ``node``."""
    selector = {"nodeSelector": {labels.HOSTNAME_LABEL: node}}
    return pod("foreign", replace(Pods(cpu=str(cpu)).for_baseline(), spec=selector))


async def until_acting(yard: Yard) -> None:
    """Wait until kube-scheduler renews its Lease: the extender then acts for 15 s more."""

    async def acts() -> bool:
        return (await yard.queue()).acting

    await eventually(acts, PATIENCE_SECONDS, "the extender acts")


async def until_foreign_is_bound(yard: Yard) -> None:
    await eventually(
        lambda: yard.bound("foreign") == 1, PATIENCE_SECONDS, "the foreign pod is bound"
    )


async def until_released(yard: Yard, name: str, size: int) -> str:
    """Wait until the whole gang is released, unbound, and planned on one node; return the node."""

    def planned() -> str:
        pods = yard.of(name)
        nodes = {watching.annotation(found, labels.NODE) for found in pods}
        assert len(pods) == size
        assert not any(map(watching.is_gated, pods))
        assert not any(map(watching.node_of, pods))
        (node,) = nodes
        return node

    return await eventually(planned, PATIENCE_SECONDS, f"{name} is released")


async def until_whole(yard: Yard, name: str, size: int) -> set[str]:
    """Wait until the gang is bound to nodes that exist; return them.

    Pods on vanished nodes are deleted as the controller manager does, which waits for 40 s first.
    """

    async def whole() -> set[str]:
        nodes = {item["metadata"]["name"] for item in await yard.items(paths.NODES)}
        placed = [found for found in yard.of(name) if watching.node_of(found)]
        for found in placed:
            if watching.node_of(found) not in nodes:
                await _collect(yard.client, found)
        used = [node for found in placed if (node := watching.node_of(found)) in nodes]
        assert len(used) == size, f"{len(used)} of {size} on {sorted(nodes)}"
        return {node for node in used if node}

    return await eventually(whole, PATIENCE_SECONDS, f"{name} is whole")


async def _collect(client: KubeClient, found: Object) -> None:
    meta = found["metadata"]
    with contextlib.suppress(NotFoundError, ConflictError):
        await client.delete(
            paths.pod(meta["namespace"], meta["name"]), uid=meta["uid"], grace_seconds=0
        )
