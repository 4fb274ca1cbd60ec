"""Effect of the writes of CPU weights on a real kubelet, and how its status is read."""

from collections.abc import AsyncIterator, Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, RealNodes
from shared import labels
from shared.kube import parse, paths, writes
from shared.kube.errors import ConflictError
from shared.model import Pod
from tests.controlplane.devcluster.real_yard import (
    FIRST,
    RealYard,
    container,
    opened,
    pod,
    real_cluster,
)
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

RUN_ON = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
NODE_CPU = "1"
PATIENCE_SECONDS = 60.0
SHARES = "/sys/fs/cgroup/cpu/cpu.shares"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    options = ClusterOptions(real=RealNodes(1, cpu=NODE_CPU))
    with real_cluster(tmp_path_factory, options) as cluster:
        yield cluster


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[RealYard]:
    async with opened(cluster) as yard:
        for name in ("x", "y"):
            resources = {"requests": {"cpu": "200m", "memory": "16Mi"}, "limits": {"cpu": "950m"}}
            await yard.create(pod(name, container(RUN_ON, resources=resources), node=FIRST))
            await yard.until_phase(name, "Running")
        yield yard
        for name in ("x", "y"):
            await yard.remove(name)


async def read(yard: RealYard, name: str) -> Pod:
    return parse.decode_pod(await yard.client.get(paths.pod("default", name)))


async def resize(yard: RealYard, name: str, milli: int) -> None:
    """Write as the extender does; its kubelet may have written in between."""

    async def attempt() -> bool:
        found = await read(yard, name)
        note = {"metadata": {"annotations": {labels.CPU_GIVEN: "main=200m"}}}
        try:
            answer = await writes.patch_pod(
                yard.client, found.key, found.uid, note, resource_version=found.resource_version
            )
            await writes.resize_cpu(
                yard.client,
                found.key,
                found.uid,
                container="main",
                request_milli=milli,
                resource_version=parse.decode_identity(answer).resource_version,
            )
        except ConflictError:
            return False
        return True

    await eventually(attempt, PATIENCE_SECONDS)


async def shown(yard: RealYard, name: str, want: tuple[int, str]) -> None:
    """Wait until the pod counts so much more than its grant, with or without a deferred resize."""

    async def check() -> bool:
        found = await read(yard, name)
        assert (found.borrowed_milli, found.resize_pending) == want
        assert dict(found.shape.requests)["cpu"] == 200
        return True

    await eventually(check, PATIENCE_SECONDS)


async def test_requests_become_kernel_weights_and_a_deferred_resize_is_reported(
    yard: RealYard,
) -> None:
    await resize(yard, "y", 100)
    await resize(yard, "x", 300)
    await shown(yard, "x", (100, ""))
    await shown(yard, "y", (-100, ""))
    for name, weight in (("x", 307), ("y", 102)):  # 1024 a CPU
        assert await yard.execute(name, "cat", SHARES) == (0, f"{weight}\n")
    await resize(yard, "x", 940)  # with y's 100 m more than the node has
    await shown(yard, "x", (740, "Deferred"))
    await resize(yard, "y", 50)
    await shown(yard, "x", (740, ""))
    for name in ("x", "y"):
        (status,) = (await yard.get(name))["status"]["containerStatuses"]
        assert status["restartCount"] == 0
