"""What docs/install.md says of jobs that wait when Shuntyard is removed, with real kubectl."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared.kube import paths
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Pods, job
from tests.controlplane.watching import is_gated
from tests.controlplane.yard import PATIENCE_SECONDS, Yard
from tests.deploy.rendering import needs_kubectl
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, needs_kubectl]

SIZE = 2
GATED = Pods()
WITHOUT_THE_LINES = GATED.for_baseline()
WAITING = ("--field-selector", "spec.schedulerName=shuntyard,spec.nodeName=")


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    """The control plane with the plain kube-scheduler beside our pair."""
    control_plane.empty()
    yards.start(control_plane)
    control_plane.start_default_scheduler()
    yield control_plane
    control_plane.empty()


async def kubectl(yard: Yard, *arguments: str) -> str:
    way = ("--kubeconfig", str(yard.cluster.kubeconfig), "--namespace", yard.team)
    process = await asyncio.create_subprocess_exec(
        "kubectl", *way, *arguments, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, arguments
    return printed.decode()


async def test_a_gated_job_runs_elsewhere_once_its_manifest_lacks_the_two_lines(
    yard: Yard, tmp_path: Path
) -> None:
    nodes = await yard.nodes(KwokNodes(SIZE))
    await yard.cordon(nodes)
    await yard.submit(job("waits", SIZE, GATED))
    await yard.until_there("waits")
    await asyncio.to_thread(yard.cluster.stop, "kube-scheduler")
    await asyncio.to_thread(yard.cluster.stop, "extender")
    await yard.cordon(nodes, cordoned=False)

    listed = await kubectl(yard, "get", "pods", "--output", "name", *WAITING)
    assert len(listed.split()) == SIZE
    (first, *_) = listed.split()
    no_gates = [{"op": "remove", "path": "/spec/schedulingGates"}]
    await kubectl(yard, "patch", first, "--type", "json", "--patch", json.dumps(no_gates))
    assert sorted(map(is_gated, yard.of("waits"))) == [False, True]
    assert yard.bound("waits") == 0  # a pod without the gate waits for our kube-scheduler still

    file = tmp_path / "job.json"
    file.write_text(json.dumps(job("waits", SIZE, WITHOUT_THE_LINES)))
    await kubectl(yard, "replace", "--force", "--filename", str(file))
    await eventually(lambda: yard.bound("waits") == SIZE, PATIENCE_SECONDS, "both are bound")
    assert await kubectl(yard, "get", "pods", "--output", "name", *WAITING) == ""
    await yard.client.delete(paths.job(yard.team, "waits"), propagation="Background")
