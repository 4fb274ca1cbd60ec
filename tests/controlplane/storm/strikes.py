"""The faults of the storm. Each fault ends with everything running again."""

import asyncio
import contextlib
import json
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, NotFoundError
from tests.controlplane.faults import PATIENCE_SECONDS, revive, sending
from tests.controlplane.storm.laws import Known, Outage
from tests.controlplane.storm.proxy import LOST, FaultyWay
from tests.controlplane.watching import History, Object, job_of, node_of
from tests.fakes.eventually import eventually

CPU: Final = 12
NODES: Final = 6
VERBS: Final = ("GET", "POST", "PATCH", "PUT", "DELETE")
STATUSES: Final = (409, 429, 500, 503, LOST)
LONGEST_WINDOW_SECONDS: Final = 3.0
LONGEST_PAUSE_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.01
BESIDE: Final = 0.5
"""Part of the strikes that come with a window of errors: two faults at once find more."""
LONGEST_FREEZE_SECONDS: Final = 6.0
EDITED: Final = (labels.NODE, labels.PLAN, labels.PLAN_SIZE, labels.DECISION)


@dataclass
class Strikes:
    """See the module.

    Attributes:
        count: How often each strike was done.
        refused: Edits that the API server refused.
        ended: Times when the extender was found to have ended by itself.
        made_of: Returns the nodes from one number to before another.
    """

    cluster: Cluster
    client: KubeClient
    way: FaultyWay
    history: History
    known: Known
    namespace: str
    rng: random.Random
    count: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    ended: int = 0
    made_of: Callable[[int, int], KwokNodes] = field(default_factory=lambda: nodes)
    _missing: set[str] = field(default_factory=set)

    async def strike(self) -> None:
        """Do one strike, chosen at random, and repair what it broke."""
        if not self.cluster.runs("extender"):
            self.ended += 1
            await revive(self.cluster)
        await self._until_binding()
        if self.rng.random() < BESIDE:
            verb = self.rng.choice((*VERBS, *("DELETE",) * len(VERBS)))
            self.way.fail(verb, self.rng.choice(STATUSES), LONGEST_WINDOW_SECONDS)
        kinds = self._kinds()
        name = self.rng.choice(sorted(kinds))
        self.count[name] += 1
        with contextlib.suppress(ApiError):  # it may find the API server down: no strike then
            await kinds[name]()
        await revive(self.cluster)
        await self.restore_nodes()

    def _kinds(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {
            "kill extender": lambda: self.kill("extender"),
            "kill kube-scheduler": lambda: self.kill("kube-scheduler"),
            "kill kube-apiserver": lambda: self.kill("kube-apiserver"),
            "kill kube-controller-manager": lambda: self.kill("kube-controller-manager"),
            "freeze extender": lambda: self._freeze("extender"),
            "freeze kube-scheduler": lambda: self._freeze("kube-scheduler"),
            "errors": self._errors,
            "errors on deletes": lambda: self._errors("DELETE"),
            "cut": self._cut,
            "delete node": self._delete_any_node,
            "delete member": self._delete_member,
            "edit annotation": self._edit,
            "quota": self._quota,
        }

    async def _until_binding(self) -> None:
        """Return in the middle of a burst of Bindings, or after a while without one."""
        deadline = time.monotonic() + LONGEST_PAUSE_SECONDS
        seen = len(self.history.events)
        while time.monotonic() < deadline:
            new, seen = self.history.events[seen:], len(self.history.events)
            if any(node_of(event.pod) for event in new):
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def kill(self, component: str) -> None:
        """Kill a process; it runs again after `revive`."""
        if self.cluster.runs(component):
            sending(self.cluster, component, signal.SIGKILL)()
            if component == "kube-apiserver":
                self.known.outages.append(Outage(time.monotonic()))
        await self._pause(2.0)

    async def _freeze(self, component: str) -> None:
        if not self.cluster.runs(component):
            return
        sending(self.cluster, component, signal.SIGSTOP)()
        await self._pause(LONGEST_FREEZE_SECONDS)
        sending(self.cluster, component, signal.SIGCONT)()

    async def _errors(self, verb: str = "") -> None:
        seconds = self.rng.uniform(0.3, LONGEST_WINDOW_SECONDS)
        self.way.fail(verb or self.rng.choice(VERBS), self.rng.choice(STATUSES), seconds)
        await asyncio.sleep(seconds)

    async def _cut(self) -> None:
        seconds = self.rng.uniform(0.0, LONGEST_WINDOW_SECONDS)
        self.way.cut(seconds)
        await asyncio.sleep(seconds)

    async def _delete_any_node(self) -> None:
        await self.delete_node(self.rng.choice(sorted(self.known.cpu)))

    async def delete_node(self, name: str) -> None:
        """Delete a node and its pods, as the node and pod collectors do; it is made anew later."""
        self._missing.add(name)
        await self.client.delete(paths.node(name))
        await self._collect(name)
        await self._pause(2.0)

    async def restore_nodes(self) -> None:
        """Make the deleted nodes anew."""
        for name in sorted(self._missing):
            await self._collect(name)
            number = int(name.rpartition("-")[2])
            await asyncio.to_thread(self.cluster.add_kwok_nodes, self.made_of(number, number + 1))
            self._missing.discard(name)

    async def _collect(self, node: str) -> None:
        listed = json.loads(await self.client.get(paths.PODS))["items"]
        for found in listed:
            if node_of(found) == node:
                await self._delete(found, grace_seconds=0)

    async def _delete_member(self) -> None:
        bound = [found for found in self._ours() if node_of(found)]
        for found in self.rng.sample(bound, min(len(bound), self.rng.choice((1, 1, 2, 5)))):
            await self._delete(found, grace_seconds=None)

    async def _delete(self, found: Object, grace_seconds: int | None) -> None:
        meta = found["metadata"]
        self.known.struck.add(str(meta["uid"]))
        self.known.struck_jobs.add(job_of(found))
        path = paths.pod(meta["namespace"], meta["name"])
        with contextlib.suppress(ApiError):
            await self.client.delete(path, uid=meta["uid"], grace_seconds=grace_seconds)

    async def _edit(self) -> None:
        """Remove or change one of our annotations, as a user with every right may."""
        pods = [p for p in self._ours() if set(EDITED) & set(p["metadata"].get("annotations", {}))]
        for found in self.rng.sample(pods, min(len(pods), 3)):
            meta = found["metadata"]
            key = self.rng.choice(sorted(set(EDITED) & set(meta["annotations"])))
            value = self.rng.choice((None, "edited"))
            body = {"metadata": {"uid": meta["uid"], "annotations": {key: value}}}
            try:
                await self.client.patch(paths.pod(meta["namespace"], meta["name"]), body)
            except ApiError:
                self.refused += 1

    async def _quota(self) -> None:
        """Let the namespace have hardly more pods than now: members of gangs cannot be made."""
        there = len(self._ours())
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "few-pods"},
            "spec": {"hard": {"pods": str(there + self.rng.randint(0, 4))}},
        }
        path = paths.namespaced(paths.RESOURCE_QUOTAS, self.namespace)
        try:
            await self.client.post(path, quota)
            await self._pause(LONGEST_WINDOW_SECONDS)
        finally:  # an answer that was lost may have made it
            await eventually(lambda: self._is_gone(f"{path}/few-pods"), PATIENCE_SECONDS)

    async def _is_gone(self, path: str) -> bool:
        try:
            await self.client.delete(path)
        except NotFoundError:
            return True
        except ApiError as error:
            raise AssertionError(error) from error
        return True

    def _ours(self) -> list[Object]:
        pods = (self.history.pods[uid] for uid in sorted(self.history.pods))
        return [
            p
            for p in pods
            if p["metadata"]["namespace"] == self.namespace
            and p["spec"]["schedulerName"] == labels.SCHEDULER_NAME
        ]

    async def _pause(self, most_seconds: float) -> None:
        await asyncio.sleep(self.rng.uniform(0.0, most_seconds))


def nodes(first: int, end: int) -> KwokNodes:
    """Return the storm's nodes from one number to before another."""
    return KwokNodes(end - first, cpu=str(CPU), first=first)
