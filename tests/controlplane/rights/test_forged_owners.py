"""Pods that claim an owner of another namespace change nothing of it (defect A1).

The real garbage collector deletes such pods some time after their creation: so the test recreates
them until an honest StatefulSet has grown, which the same passes of the extender decide.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from shared.kube.errors import AlreadyExistsError
from tests.controlplane.jobs import Manifest, Pods, pod, stateful_set
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

PATIENCE_SECONDS = 60.0
REPLICAS, MOST = 2, 5
NODES = KwokNodes(1, cpu="32", prefix="forged")
SETTINGS = {
    "scaling": {"interval_seconds": 0.3, "cooldown_seconds": 0},
    "queue": {"settle_seconds": 0.05},
}
ASKS = {
    labels.WORKERS: f"1..{MOST}",
    labels.SHRINK: "terminate",
    labels.CHECKPOINT: "",
    labels.UTILITY: "sigmoid:1000,0,1000h",
    labels.TRAINING: "epochs=1,chunks=4,batches=100,step=3s",
}


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


@pytest.fixture
def kwok_nodes() -> Sequence[KwokNodes]:
    return (NODES,)


def forged(index: int, victim: Mapping[str, Any], node: str) -> Manifest:
    """Return a pod with every field chosen to look like the victim's, already on a node."""
    made = pod(f"db-{index}", Pods(gated=False, annotations=ASKS, spec={"nodeName": node}))
    meta = victim["metadata"]
    marks = {"app": meta["name"], labels.STATEFULSET_INDEX_LABEL: str(index)}
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True}
    made["metadata"] |= {
        "labels": {**marks, labels.ROLE: "worker"},
        "ownerReferences": [{**reference, "name": meta["name"], "uid": meta["uid"]}],
    }
    return made


async def test_a_stateful_set_of_another_namespace_keeps_its_replicas(yard: Yard) -> None:
    (node,) = NODES.names()
    prod, evil = await yard.namespace("prod"), await yard.namespace("evil")
    plain = Pods(gated=False, scheduler="none")
    (victim,) = await yard.submit(stateful_set("db", REPLICAS, plain), to=prod)
    path = paths.namespaced(paths.STATEFULSETS, prod, "db")
    honest = paths.namespaced(paths.STATEFULSETS, yard.team, "j")
    await yard.submit(stateful_set("j", REPLICAS, Pods().annotated(ASKS)))
    yard.sizes.pop(yard.key("j"))  # a gang of one, whatever its number of workers
    seen: set[str] = set()

    async def grown() -> bool:
        for index in range(REPLICAS):
            with contextlib.suppress(AlreadyExistsError):
                made = await yard.client.post(paths.pods(evil), forged(index, victim, node))
                seen.add(json.loads(made)["metadata"]["uid"])
        found = json.loads(await yard.client.get(honest))
        return int(found["spec"]["replicas"]) == MOST == yard.bound("j")

    await eventually(grown, PATIENCE_SECONDS, "the honest one grows into the room")
    now = json.loads(await yard.client.get(path))
    assert now["spec"]["replicas"] == REPLICAS
    assert now["metadata"]["generation"] == 1  # the server counts each change of the spec
    assert not [key for key in now["metadata"].get("annotations", {}) if labels.DOMAIN in key]
    assert len(seen) >= REPLICAS
