"""In-place resize on process nodes, by the real API server: shares follow requests."""

from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from shared import labels
from shared.kube import parse, paths, writes
from shared.model import Pod
from tests.controlplane.devcluster.process_yard import ProcessYard, own_process
from tests.controlplane.devcluster.test_process_node_modes import BUDGET_CORES, busy, measured
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.devcluster, pytest.mark.e2e]


@pytest.fixture
def cluster(clean_cluster: Cluster) -> Cluster:
    return clean_cluster


def trainer(name: str) -> dict[str, Any]:
    made = busy(name)
    made["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "500m"},
        "limits": {"cpu": "2"},
    }
    return made


async def read(yard: ProcessYard, name: str) -> Pod:
    return parse.decode_pod(await yard.client.get(paths.pod("default", name)))


async def resize(yard: ProcessYard, name: str, milli: int) -> None:
    """Record the grant, and change it, as the extender does."""

    async def attempt() -> bool:
        pod = await read(yard, name)
        note = {"metadata": {"annotations": {labels.CPU_GIVEN: "main=500m"}}}
        answer = await writes.patch_pod(
            yard.client, pod.key, pod.uid, note, resource_version=pod.resource_version
        )
        await writes.resize_cpu(
            yard.client,
            pod.key,
            pod.uid,
            container="main",
            request_milli=milli,
            resource_version=parse.decode_identity(answer).resource_version,
        )
        return True

    await eventually(attempt)


async def granted(yard: ProcessYard, name: str) -> tuple[str, str, int]:
    """Check the status, and return how much more the pod has than its grant."""
    raw = await yard.get(name)
    (status,) = raw["status"]["containerStatuses"]
    assert status["resources"]["limits"] == {"cpu": "2"}
    pod = await read(yard, name)
    amounts = (status["resources"]["requests"]["cpu"], status["allocatedResources"]["cpu"])
    return (*amounts, pod.borrowed_milli)


async def test_pods_resized_to_three_to_one_run_three_to_one(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Checked by the mechanism at hand; tests/unit/process_node compares both."""
    options = ("--cpu-budget-cores", str(BUDGET_CORES))
    async with own_process(cluster, tmp_path, *options) as yard:
        for name in ("more", "less"):
            await yard.create(trainer(name))
            await yard.until_phase(name, "Running")
        before = await measured(yard, ["more", "less"])
        assert before[1] / before[0] == pytest.approx(1.0, rel=0.15), before
        await resize(yard, "less", 250)
        await resize(yard, "more", 750)
        for name, cpu, more in (("more", "750m", 250), ("less", "250m", -250)):

            async def shown(name: str = name, cpu: str = cpu, more: int = more) -> bool:
                return await granted(yard, name) == (cpu, cpu, more)

            await eventually(shown)
        after = await measured(yard, ["more", "less"])
        assert after[1] / after[0] == pytest.approx(3.0, rel=0.15), after
        for name in ("more", "less"):
            (status,) = (await yard.get(name))["status"]["containerStatuses"]
            assert status["restartCount"] == 0
