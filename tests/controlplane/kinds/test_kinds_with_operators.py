"""Jobs of real operators start whole: built from their modules, with their own webhooks."""

from collections.abc import Iterator
from typing import Any

import pytest

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from shared.kube.errors import ApiError
from tests.controlplane.watching import is_gated, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def cluster(cluster: Cluster) -> Iterator[Cluster]:
    with operators.running(cluster, operator_catalog.JOB_SET):
        yield cluster


def job_set(name: str) -> dict[str, Any]:
    """A JobSet of two Jobs of two pods, as its users write it, with our scheduler and gate."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    pods = {
        "metadata": {"annotations": {labels.SIMULATED_DURATION: "1h"}},
        "spec": {
            "schedulerName": labels.SCHEDULER_NAME,
            "schedulingGates": [{"name": labels.GATE}],
            "containers": [container],
        },
    }
    spec = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": pods}
    part = {"name": "workers", "replicas": 2, "template": {"spec": spec}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": [part]},
    }


async def test_a_job_set_of_two_by_two_pods_starts_whole(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="3"))
    collection = paths.namespaced(operator_catalog.JOB_SET.collection, yard.team)

    async def accepted() -> bool:
        try:
            return bool(await yard.client.post(collection, job_set("it")))
        except ApiError:  # its webhooks do not answer yet
            return False

    await eventually(accepted, PATIENCE_SECONDS)
    entry = await yard.until_waiting("it", "GangDoesNotFit")
    assert (entry.members, entry.kind) == (4, "jobset")
    pods = [pod for job in ("it-workers-0", "it-workers-1") for pod in yard.of(job)]
    assert [is_gated(pod) for pod in pods] == [True] * 4
    await yard.nodes(KwokNodes(1, cpu="3", first=1))
    for job in ("it-workers-0", "it-workers-1"):
        await eventually(lambda job=job: yard.bound(job) == 2, PATIENCE_SECONDS)
    pods = [pod for job in ("it-workers-0", "it-workers-1") for pod in yard.of(job)]
    assert len({pod["metadata"]["annotations"][labels.PLAN] for pod in pods}) == 1
    assert all(node_of(pod) for pod in pods)
