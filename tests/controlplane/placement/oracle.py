"""The real kube-scheduler as an oracle: the nodes that its own filters accept for a pod.

It calls an extender of this test, which records the names it is offered and refuses them all but
those that a test allows. A pod that is Unschedulable without a call had no node left.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from aiohttp import web
from msgspec import Raw, Struct

from devcluster.cluster import Cluster
from devcluster.programs import assets
from extender.core.cluster import pod_shape
from extender.store.store import ClusterStore
from shared.kube import auth, parse, paths, resources
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError
from shared.model import Delete, Node, Pod, Replace, ResourceSlice, Upsert
from tests.fakes.eventually import eventually

SCHEDULER_NAME: Final = "oracle"
NAMESPACE: Final = "default"
AGREEMENT_SECONDS: Final = 5.0
"""For how long a disagreement may come from a watch of kube-scheduler that lags behind."""

ANSWER_SECONDS: Final = 60.0
Manifest = Mapping[str, Any]


class _List(Struct):
    items: list[Raw]


class _Arguments(Struct, rename="pascal"):
    pod: Raw
    node_names: list[str] | None


@dataclass(frozen=True)
class Published:
    """An object of dynamic resource allocation: where it is made, and its status."""

    path: str
    manifest: Manifest
    status: Manifest = field(default_factory=dict)

    @property
    def own_path(self) -> str:
        return f"{self.path}/{self.manifest['metadata']['name']}"


@dataclass
class Oracle:
    """Queries kube-scheduler about pods; ``offered`` is what it offered last, by pod uid.

    ``allowed`` is the node that a pod may have, by its name; ``left_alone`` counts the probes of
    which we do not model everything.
    """

    client: KubeClient
    offered: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)
    allowed: dict[str, str] = field(default_factory=dict, repr=False)
    left_alone: int = 0

    async def filter(self, request: web.Request) -> web.Response:
        """Answer the filter verb: refuse every node that is not allowed."""
        arguments = msgspec.json.decode(await request.read(), type=_Arguments)
        names, pod = arguments.node_names or [], parse.decode_pod(arguments.pod)
        self.offered[pod.uid] = frozenset(names)
        passed = [name for name in names if name == self.allowed.get(pod.name)]
        refused = {name: "oracle: refused" for name in names if name not in passed}
        return web.json_response({"NodeNames": passed, "FailedNodes": refused})

    async def compare(
        self,
        nodes: Sequence[Manifest],
        placed: Sequence[Manifest],
        probes: Sequence[Manifest],
        published: Sequence[Published] = (),
    ) -> None:
        """Build the cluster, query both about every probe, and raise where they disagree.

        Raises:
            AssertionError: They disagree although kube-scheduler had time to see everything.
        """
        async with self._cluster(nodes, placed, published) as store:
            await _all(self._agree(probe, store) for probe in probes)

    async def fill(
        self, nodes: Sequence[Manifest], gang: Sequence[Manifest], published: Sequence[Published]
    ) -> int:
        """Let kube-scheduler place the pods of a gang where we would, one after the other.

        Each must get the node that our columns give it, and the first one that they have no room
        for must find none. Returns how many were placed; nothing is compared if we do not model
        all of the pods.

        Raises:
            AssertionError: kube-scheduler does otherwise.
        """
        async with self._cluster(nodes, (), published) as store:
            planned = _planned(store, gang)
            if planned is None:
                self.left_alone += 1
                return 0
            for pod, node in zip(gang, planned, strict=False):
                self.allowed[_pinned(pod, node)["metadata"]["name"]] = node
                await self._bound(_pinned(pod, node), node)
            for pod in gang[len(planned) : len(planned) + 1]:
                asked, _ = await self._ask(pod)
                assert self.offered.get(asked.uid, frozenset()) == frozenset(), _story(pod, store)
            return len(planned)

    async def _bound(self, pod: Manifest, node: str) -> None:
        await self.client.post(paths.pods(NAMESPACE), pod)
        path = paths.pod(NAMESPACE, pod["metadata"]["name"])

        async def bound() -> bool:
            raw = msgspec.json.decode(await self.client.get(path))
            assert raw["spec"].get("nodeName") == node, raw["status"]
            return True

        await eventually(bound, ANSWER_SECONDS, f"{path} is bound to {node}")

    @asynccontextmanager
    async def _cluster(
        self, nodes: Sequence[Manifest], placed: Sequence[Manifest], published: Sequence[Published]
    ) -> AsyncIterator[ClusterStore]:
        """Build the cluster, yield what the extender would hold of it, and take it away."""
        try:
            await _all(self._create_node(node) for node in nodes)
            await _all(self._place(pod) for pod in placed)
            await _all(self._publish(one) for one in published)
            yield await self._observed()
        finally:
            pods, everything = paths.pods(NAMESPACE), paths.NODES
            await self.client.delete(pods, grace_seconds=0)
            await self.client.delete(everything)
            await _all(self._withdraw(one) for one in published)

    async def _withdraw(self, one: Published) -> None:
        """Delete an object; no controller takes the finalizer of an allocated claim away."""
        if one.path.endswith("/resourceclaims"):
            await self.client.patch(one.own_path, {"metadata": {"finalizers": None}})
        await self.client.delete(one.own_path)

    async def _publish(self, one: Published) -> None:
        await self.client.post(one.path, one.manifest)
        if one.status:
            await self.client.patch(f"{one.own_path}/status", {"status": one.status})

    async def _create_node(self, node: Manifest) -> None:
        """Admission adds the not-ready taint to every new node: write the wanted taints again."""
        await self.client.post(paths.NODES, node)
        body = {"spec": {"taints": node["spec"]["taints"] or None}}
        await self.client.patch(paths.node(node["metadata"]["name"]), body)

    async def _place(self, pod: Manifest) -> None:
        """Create a pod that is bound already, and finish it or begin its end."""
        fate = pod["metadata"]["annotations"]["fate"]
        await self.client.post(paths.pods(NAMESPACE), pod)
        path = paths.pod(NAMESPACE, pod["metadata"]["name"])
        if fate == "deleting":
            await self.client.delete(path, grace_seconds=60)
        elif fate != "runs":
            await self.client.patch(f"{path}/status", {"status": {"phase": fate}})

    async def _observed(self) -> ClusterStore:
        """What the extender would hold, read from the API server as it reads it."""
        store = ClusterStore(SCHEDULER_NAME)
        nodes: list[Node] = [parse.decode_node(raw) for raw in await self._items(paths.NODES)]
        pods: list[Pod] = [parse.decode_pod(raw) for raw in await self._items(paths.PODS)]
        store.apply(Replace("Node", "Node", tuple(nodes)))
        store.apply(Replace("Pod", "Pod", tuple(pods)))
        rules = resources.DEVICE_TAINT_RULES
        for kind in (*resources.DEVICES, *([rules] if await self.serves(rules.path) else [])):
            found = tuple(kind.decode(raw) for raw in await self._items(kind.path))
            store.apply(Replace(kind.kind, kind.source, found))
        store.check_invariants()
        return store

    async def serves(self, path: str) -> bool:
        """Return True if the server has the collection."""
        try:
            await self.client.get(path)
        except NotFoundError:
            return False
        return True

    async def _items(self, path: str) -> list[Raw]:
        return msgspec.json.decode(await self.client.get(path), type=_List).items

    async def _agree(self, probe: Manifest, store: ClusterStore) -> None:
        async def agree() -> bool:
            pod, aborted = await self._ask(probe)
            ours = _accepted(store, pod)
            if ours is None:
                self.left_alone += 1
                return True
            theirs = self.offered.get(pod.uid, frozenset[str]())
            for node in store.snapshot().node_table.nodes if aborted else ():
                pinned, _ = await self._ask(_pinned(probe, node.name))
                theirs |= self.offered.get(pinned.uid, frozenset[str]())
            assert ours == theirs, f"{ours} is not {theirs}: {_story(probe, store)}"
            return True

        await eventually(agree, AGREEMENT_SECONDS, "ours == kube-scheduler's")

    async def _ask(self, probe: Manifest) -> tuple[Pod, bool]:
        """Create the probe, wait until kube-scheduler is through with it, remove it.

        Returns the pod, and True if kube-scheduler gave up: some errors of one node end the search
        on all of them. A pinned pod, such as we release, has one node only.
        """
        made = await self.client.post(paths.pods(NAMESPACE), probe)
        pod = parse.decode_pod(made)
        path = paths.pod(NAMESPACE, pod.name)

        async def refused() -> str:
            raw = msgspec.json.decode(await self.client.get(path))
            conditions = raw["status"].get("conditions") or ()
            found = [c for c in conditions if c["type"] == "PodScheduled"]
            return next((c["reason"] for c in found if c["status"] == "False"), "")

        try:
            what = f"kube-scheduler looked at {pod.name}"
            reason = await eventually(refused, ANSWER_SECONDS, what)
        finally:
            await self.client.delete(path, uid=pod.uid, grace_seconds=0)
        return pod, reason == "SchedulerError"


def _accepted(store: ClusterStore, pod: Pod) -> frozenset[str] | None:
    """Return the nodes that our masks accept; None if we do not model all of the pod."""
    store.apply(Upsert(pod))
    snapshot = store.snapshot()
    room, shape = snapshot.node_table, pod_shape.shape(snapshot, pod)
    store.apply(Delete("Pod", pod.key, pod.uid))
    if shape.unmodelled:
        return None
    mask = room.feasible(shape)
    return frozenset(n.name for n, feasible in zip(room.nodes, mask, strict=True) if feasible)


def _planned(store: ClusterStore, gang: Sequence[Manifest]) -> list[str] | None:
    """Return the nodes that our columns give pods in turn; None if we do not model them."""
    pods = [parse.decode_pod(msgspec.json.encode(_with_uid(pod))) for pod in gang]
    for pod in pods:
        store.apply(Upsert(pod))
    snapshot = store.snapshot()
    table, planned = snapshot.node_table, list[str]()
    for pod in pods:
        shape = pod_shape.shape(snapshot, pod)
        if shape.unmodelled:
            return None
        feasible = table.feasible(shape)
        if not feasible.any():
            break
        index = int(feasible.argmax())
        planned.append(table.nodes[index].name)
        table = table.with_pods([(shape, index)])
    return planned


def _pinned(pod: Manifest, node: str) -> Manifest:
    """Return another pod like it that may have one node only."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    metadata = {**pod["metadata"], "name": f"{pod['metadata']['name']}-{node}"}
    return {
        **pod,
        "metadata": metadata,
        "spec": {**pod["spec"], "affinity": {"nodeAffinity": required}},
    }


def _with_uid(pod: Manifest) -> Manifest:
    metadata = {**pod["metadata"], "namespace": NAMESPACE, "uid": pod["metadata"]["name"]}
    return {**pod, "metadata": metadata}


def _story(probe: Manifest, store: ClusterStore) -> str:
    nodes = [
        (n.name, dict(n.allocatable), dict(n.labels), n.taints, n.unschedulable)
        for n in store.snapshot().node_table.nodes
    ]
    slices = [(s.node, s.devices) for s in store.export().entities if isinstance(s, ResourceSlice)]
    used = store.snapshot().node_table.used.tolist()
    return f"{probe['spec']}\non {nodes}\nwith {used} used, devices {slices}"


async def _all(calls: Iterable[Any]) -> None:
    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(call)


@contextmanager
def running(cluster: Cluster, directory: Path) -> Iterator[tuple[asyncio.Runner, Oracle]]:
    """Start the extender and kube-scheduler; the extender answers while the runner runs.

    Without kube-controller-manager: it taints nodes that have no kubelet and evicts their pods.
    """
    cluster.stop("kube-controller-manager")
    try:
        with asyncio.Runner() as runner:
            stack = contextlib.AsyncExitStack()
            oracle, port = runner.run(stack.enter_async_context(_serving(cluster)))
            with _kube_scheduler(cluster, directory, port):
                yield runner, oracle
            runner.run(stack.aclose())
    finally:
        cluster.start("kube-controller-manager")


@asynccontextmanager
async def _serving(cluster: Cluster) -> AsyncIterator[tuple[Oracle, int]]:
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        oracle = Oracle(client)
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/filter", oracle.filter)
        server = web.AppRunner(app)
        await server.setup()
        site = web.TCPSite(server, "127.0.0.1", 0)
        await site.start()
        try:
            yield oracle, server.addresses[0][1]
        finally:
            await server.cleanup()


@contextmanager
def _kube_scheduler(cluster: Cluster, directory: Path, port: int) -> Iterator[None]:
    program = assets.ensure(frozenset({"kube-scheduler"}), kubernetes=cluster.state().kubernetes)
    kubeconfig = cluster.kubeconfig_for("system:kube-scheduler")
    configuration = directory / "oracle.yaml"
    configuration.write_text(yaml.safe_dump(_configuration(kubeconfig, port)))
    with (directory / "kube-scheduler.log").open("wb") as log:
        process = subprocess.Popen(
            [program["kube-scheduler"], f"--config={configuration}", "--secure-port=0"],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _configuration(kubeconfig: Path, port: int) -> Manifest:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000},
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": 100,
        "profiles": [
            {
                "schedulerName": SCHEDULER_NAME,
                "plugins": {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}},
            }
        ],
        "extenders": [
            {
                "urlPrefix": f"http://127.0.0.1:{port}",
                "filterVerb": "filter",
                "nodeCacheCapable": True,
                "httpTimeout": "30s",
            }
        ],
    }
