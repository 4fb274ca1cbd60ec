"""Observation of pods that become bound, in benchmarks."""

import asyncio

from bench.gang.binding import _Watch
from shared.kube import paths
from shared.kube.client import KubeClient
from tests.fakes import kube_faults
from tests.fakes.kube import FakeKube

PATIENCE_SECONDS = 60.0


def put(fake: FakeKube, name: str, node: str = "") -> None:
    spec = {"containers": [{"name": "main", "image": "x"}], "nodeName": node}
    fake.put(paths.PODS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


async def test_a_watch_with_an_expired_version_lists_and_continues() -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        put(fake, "a", node="n")
        put(fake, "b")
        fake.faults.order("watch", "*/pods", kube_faults.GoneEvent())
        watch = _Watch(client, wanted=2, version="1")
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            group.create_task(watch.run())
            while "a" not in watch.bound_at:
                await asyncio.sleep(0.01)
            put(fake, "b", node="n")
    assert set(watch.bound_at) == {"a", "b"}
