"""The real controllers remove the pods that we predict."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from devcluster.options import KwokNodes
from shared import labels
from shared.kube import resources
from shared.kube.resources import ResourceKind
from tests.controlplane.jobs import Manifest, deployment, job, stateful_set
from tests.controlplane.kinds.shrinking import Workers
from tests.controlplane.yard import Yard

pytestmark = pytest.mark.controlplane

SIZE = 6
STEPS = (4, 3, 1)


class Kind(NamedTuple):
    """A job of a kind, and the path of its owner."""

    manifest: Manifest
    owners: ResourceKind


KINDS: Mapping[str, Kind] = {
    "elastic-indexed-job": Kind(job("it", SIZE), resources.JOBS),
    "stateful-set": Kind(stateful_set("it", SIZE), resources.STATEFULSETS),
    "deployment": Kind(deployment("it", SIZE), resources.DEPLOYMENTS),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_the_predicted_pods_are_removed(yard: Yard, kind: Kind) -> None:
    await yard.nodes(KwokNodes(3, cpu="4"))
    await yard.submit(kind.manifest)
    workers = Workers(yard, kind.owners, "it")
    await workers.until_running(SIZE)
    for to in STEPS:
        should_stay, stayed = await workers.shrink(to)
        assert stayed == should_stay
        assert (await workers.count()).count == to


async def test_costs_that_a_user_wrote_are_respected(yard: Yard) -> None:
    await yard.nodes(KwokNodes(1, cpu="8"))
    await yard.submit(deployment("it", 4))
    workers = Workers(yard, resources.DEPLOYMENTS, "it")
    first, *_ = await workers.until_running(4)
    body: Any = {"metadata": {"annotations": {labels.POD_DELETION_COST: "-100"}}}
    await yard.client.patch(f"/api/v1/namespaces/{yard.team}/pods/{first.name}", body)
    should_stay, stayed = await workers.shrink(3)
    assert first.name not in stayed
    assert stayed == should_stay
