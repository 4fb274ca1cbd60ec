"""The changes that the read API offers to a waiting job, made through the API server: it runs."""

import msgspec
import pytest

from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from shared.readapi import api
from shared.readapi.explanation import Change, StepKind
from tests.controlplane.jobs import Pods, job
from tests.controlplane.yard import PATIENCE_SECONDS, Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane


async def offered(yard: Yard, name: str, kind: StepKind) -> Change:
    """Return the change of that kind, once the explanation has one."""

    async def found() -> Change | None:
        body = await yard.read(f"/v1/explain?namespace={yard.team}&job={name}")
        explained = msgspec.json.decode(body, type=api.ExplainResponse)
        return next((change for change in explained.changes if change.kind is kind), None)

    change = await eventually(found, PATIENCE_SECONDS, f"{kind} is offered to {name}")
    assert change is not None
    return change


async def test_a_gang_runs_once_the_nodes_of_its_explanation_are_uncordoned(
    yard: Yard,
) -> None:
    nodes = await yard.nodes(KwokNodes(4, cpu="4"))
    await yard.cordon(nodes[1:])
    await yard.submit(job("wide", 6, Pods(cpu="2")))
    await yard.until_waiting("wide", "GangDoesNotFit")
    change = await offered(yard, "wide", StepKind.UNCORDON)
    assert len(change.steps) == 2
    assert yard.bound("wide") == 0
    await yard.cordon([step.subject for step in change.steps], cordoned=False)
    await yard.until_bound("wide")


async def test_a_gang_runs_with_the_size_that_its_explanation_offers(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(1, cpu="4"))
    await yard.submit(job("large", 3, Pods(cpu="1500m")))
    await yard.until_waiting("large", "GangDoesNotFit")
    change = await offered(yard, "large", StepKind.LOWER_MIN_AVAILABLE)
    size = change.steps[0].after
    assert size == "2"
    path = f"{paths.namespaced(paths.JOBS, yard.team)}/large"
    yard.sizes[yard.key("large")] = int(size)
    await yard.client.patch(path, {"metadata": {"annotations": {labels.MIN_AVAILABLE: size}}})
    await yard.until_bound("large")
    assert yard.bound("large") == int(size)
