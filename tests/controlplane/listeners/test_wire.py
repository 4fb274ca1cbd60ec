"""Our JSON with a real kube-scheduler as its client, in both modes of nodeCacheCapable."""

import asyncio
import copy
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from devcluster.programs import assets
from extender.core.scheduler.filtering import FilterVerdict
from extender.metrics.extender import ExtenderMetrics
from extender.servers.applications import create_runner, create_scheduler_app
from shared.kube import auth, paths, writes
from shared.kube.client import KubeClient
from shared.model import NodeName, Pod, PodKey, Uid
from tests.fakes.eventually import eventually
from tests.fakes.ports import REFUSED, FakeScheduler
from tests.golden.wire import record

pytestmark = pytest.mark.controlplane

INPUTS = Path(record.__file__).parent
PATIENCE_SECONDS = 60.0


@dataclass
class BindingScheduler(FakeScheduler):
    """Refuses the node that is first by name, prefers the last one, and really binds."""

    client: KubeClient | None = None

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        super().filter(pod, node_names)
        first, *others = sorted(node_names)
        return FilterVerdict(passed=tuple(others), failed={first: REFUSED})

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        super().prioritize(pod, node_names)
        return [(name, 10 if name == max(node_names) else 0) for name in node_names]

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> str:
        assert self.client is not None
        await writes.bind(self.client, PodKey(f"{namespace}/{name}"), Uid(uid), NodeName(node))
        return await super().bind(namespace, name, uid, node)


@asynccontextmanager
async def kube_scheduler(file: Path, port: int, *, names_only: bool) -> AsyncIterator[None]:
    """Run a kube-scheduler whose extender listens on ``port``."""
    configuration = json.dumps(record.configuration(port, names_only=names_only))
    await asyncio.to_thread(file.write_text, configuration)
    found = await asyncio.to_thread(assets.ensure, frozenset({"kube-scheduler"}))
    process = await asyncio.create_subprocess_exec(
        found["kube-scheduler"],
        f"--config={file}",
        "--secure-port=0",
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture
async def client(clean_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    monkeypatch.setenv("KUBECONFIG", str(clean_cluster.kubeconfig))
    await asyncio.to_thread(clean_cluster.add_kwok_nodes, KwokNodes(3))
    async with KubeClient.connect(auth.load(Path(os.environ["KUBECONFIG"]))) as client:
        yield client


@pytest.mark.parametrize("names_only", [True, False], ids=["names", "nodes"])
async def test_kube_scheduler_understands_our_answers(
    client: KubeClient, tmp_path: Path, names_only: bool
) -> None:
    port = BindingScheduler(client=client)
    runner = create_runner(create_scheduler_app(port, ExtenderMetrics()), drain_seconds=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    pod = copy.deepcopy(record.POD)
    path = paths.pod("default", pod["metadata"]["name"])
    address = runner.addresses[0][1]
    async with kube_scheduler(tmp_path / "config.yaml", address, names_only=names_only):
        await client.post(paths.pods("default"), pod)

        async def bound_to() -> str:
            return str(json.loads(await client.get(path))["spec"].get("nodeName") or "")

        node = await eventually(bound_to, PATIENCE_SECONDS)
    await runner.cleanup()
    assert node == "kwok-0002"
    verbs = [call[0] for call in port.calls]
    assert verbs == ["filter", "prioritize", "bind"]
    assert sorted(port.calls[0][2]) == ["kwok-0000", "kwok-0001", "kwok-0002"]  # type: ignore[call-overload]
    assert sorted(port.calls[1][2]) == ["kwok-0001", "kwok-0002"]  # type: ignore[call-overload]


async def test_the_recorded_calls_are_what_this_kube_scheduler_sends(client: KubeClient) -> None:
    """A new version that sends something else makes the golden inputs stale."""
    found = await asyncio.to_thread(assets.ensure, frozenset({"kube-scheduler"}))
    bodies = await record.record_all(client, str(found["kube-scheduler"]))
    for name, body in bodies.items():
        recorded = json.loads((INPUTS / f"{name}.input.json").read_bytes())
        assert shape_of(json.loads(body)) == shape_of(recorded), name


def shape_of(value: Any, depth: int = 2) -> Any:
    """Return keys and types, down to ``depth``; lists count as their first element's."""
    if isinstance(value, dict) and depth:
        return {key: shape_of(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list) and value:
        return [shape_of(value[0], depth)]
    return type(value).__name__
