"""Faults on a real control plane at a chosen step: the step is seen in the watch, not waited for."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from devcluster import emptying
from devcluster.cluster import Cluster
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ConnectionLostError
from tests.controlplane import watching
from tests.controlplane.jobs import Manifest, Pods, job
from tests.controlplane.watching import Object, recording
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 90.0
REST_SECONDS: Final = 60.0
"""A gang that is neither unbound nor whole for longer rests in that state. Longer than an outage of
a component, the burst after it and the dissolution of what cannot be completed."""

RESTARTED: Final = ("kube-apiserver", "kube-controller-manager", "kwok", "extender", "kube-scheduler")
"""What a kubelet or a service manager would start again, in the order of need."""


@dataclass
class Steps:
    """Counts releases and Bindings of a namespace as they are seen; acts at once at the chosen one.

    ``act`` runs inside the watch: what it freezes or kills has done nothing more than it could in
    the time of one event.
    """

    namespace: str
    wanted: int
    act: Callable[[], None]
    seen: set[tuple[str, str]] = field(default_factory=set)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, pod: Object, phase: str) -> None:
        if pod["metadata"]["namespace"] != self.namespace or self.reached.is_set():
            return
        done = watching.node_of(pod) if phase == "bind" else not watching.is_gated(pod)
        if done:
            self.seen.add((phase, str(pod["metadata"]["uid"])))
        if len(self.seen) >= self.wanted:
            self.act()
            self.reached.set()


@asynccontextmanager
async def at_step(yard: Yard, phase: str, count: int, act: Callable[[], None]) -> AsyncIterator[Steps]:
    """Do ``act`` when the ``count``-th pod of ``team`` is seen released ("release") or bound.

    Submit inside the block; the step is reached when it ends.
    """
    steps = Steps(yard.team, count, act)
    listed = json.loads(await yard.client.get(paths.pods(yard.team)))
    task = asyncio.create_task(_follow(yard, phase, listed["metadata"]["resourceVersion"], steps))
    try:
        yield steps
        async with asyncio.timeout(PATIENCE_SECONDS):
            await steps.reached.wait()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _follow(yard: Yard, phase: str, version: str, steps: Steps) -> None:
    params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "600"}
    try:
        async for line in yard.client.stream(paths.pods(yard.team), params):
            steps.take(json.loads(line)["object"], phase)
    except ConnectionLostError:
        assert steps.reached.is_set()
