"""Workers come and leave under the real controllers, as our writes intend.

kwok simulates the nodes; the jobs need no checkpoint, everything else is real. With trainers that
save: ``test_elastic_training``.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from tests.controlplane.jobs import Manifest, Pods, deployment, job, priority_class, stateful_set
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

PATIENCE_SECONDS = 60.0
MOST, LEFT = 6, 2
NODES = KwokNodes(1, cpu=str(MOST), prefix="elastic")
SETTINGS = {
    "scaling": {"interval_seconds": 0.3, "cooldown_seconds": 0, "grow_seconds": 5},
    "queue": {"settle_seconds": 0.05},
}
ELASTIC = Pods().annotated({labels.WORKERS: f"1..{MOST}", labels.SHRINK: "terminate"})


OWNERS: dict[str, tuple[Manifest, str, str]] = {
    "indexed job": (job("j", LEFT, ELASTIC), paths.JOBS, "parallelism"),
    "stateful set": (stateful_set("j", LEFT, ELASTIC), paths.STATEFULSETS, "replicas"),
    "deployment": (deployment("j", LEFT, ELASTIC), paths.DEPLOYMENTS, "replicas"),
}
PARAMETERS = [
    pytest.param(*owner, marks=[pytest.mark.e2e] if name == "deployment" else [], id=name)
    for name, owner in OWNERS.items()
]


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


@pytest.fixture
def kwok_nodes() -> Sequence[KwokNodes]:
    return (NODES,)


@pytest.mark.parametrize(("manifest", "collection", "number"), PARAMETERS)
async def test_a_job_grows_into_free_room_yields_it_and_grows_again(
    yard: Yard, manifest: Manifest, collection: str, number: str
) -> None:
    path = paths.namespaced(collection, yard.team, "j")

    async def wanted() -> int:
        return int(json.loads(await yard.client.get(path))["spec"][number])

    async def settled(workers: int) -> bool:
        return await wanted() == workers == len(yard.of("j")) == yard.bound("j")

    await yard.submit(manifest)
    yard.sizes.pop(yard.key("j"))  # a gang of one, whatever its number of workers
    await eventually(lambda: settled(MOST), PATIENCE_SECONDS, "it grows into the room")
    before = uids(yard)
    high = job("s", MOST - LEFT, Pods(spec={"priorityClassName": "high"}))
    await yard.submit(priority_class("high", 1000), high)
    await yard.until_bound("s")
    await eventually(lambda: settled(LEFT), PATIENCE_SECONDS, "it has made room")
    if collection == paths.DEPLOYMENTS:
        assert marked(yard) == before - uids(yard)
    else:
        assert {index(one) for one in yard.of("j")} == set(range(LEFT))
    await yard.client.delete(paths.namespaced(paths.JOBS, yard.team, "s"), propagation="Background")
    await eventually(lambda: settled(MOST), PATIENCE_SECONDS, "it has its room again")
    await eventually(lambda: yard.events("Rescaled"))  # written after it
    entries = json.loads(await yard.read("/v1/rescales"))["entries"]
    causes = [one["cause"] for one in entries if one["job"].endswith("j")]
    assert "MoreImportant" in causes


def index(pod: Mapping[str, Any]) -> int:
    marks = pod["metadata"]["labels"]
    return int(marks.get(labels.JOB_INDEX_LABEL) or marks[labels.STATEFULSET_INDEX_LABEL])


def uids(yard: Yard) -> set[str]:
    return {str(pod["metadata"]["uid"]) for pod in yard.of("j")}


def marked(yard: Yard) -> set[str]:
    """Return the pods that ever had a deletion cost."""
    noted = ((one.uid, one.pod["metadata"].get("annotations", {})) for one in yard.history.events)
    return {uid for uid, notes in noted if labels.POD_DELETION_COST in notes}
