"""Price alone changes the node of a gang, on a real control plane.

A gang of two pods of 1 CPU; node ``a`` has 8 CPUs, 4 of them taken; node ``b`` has 4, 1 taken. With
the gang each would keep a quarter free, so best fit leaves both. Packing is for ``a`` (5/8 full
with one pod against 2/4), price for ``b``, which is less in use (1/4 against 4/8).
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import labels
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Manifest, Pods, job, pod
from tests.controlplane.watching import annotation, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

A, B = "a-0000", "b-0000"


@dataclass(frozen=True)
class Case:
    """A weight of the price, the node of the gang then, and the terms of that node."""

    weight: float
    node: str
    terms: dict[str, float]


CASES: dict[str, Case] = {
    "price-counts-nothing": Case(
        0.0, A, {"affinity": 0.0, "locality": 0.0, "packing": 0.625, "price": 0.0}
    ),
    "price-counts": Case(1.0, B, {"affinity": 0.0, "locality": 0.0, "packing": 0.5, "price": 1.0}),
}


@pytest.fixture(params=list(CASES.values()), ids=list(CASES))
def case(request: pytest.FixtureRequest, clean_cluster: Cluster) -> Case:
    found: Case = request.param
    yards.start(clean_cluster, {"scoring": {"price": found.weight}})
    return found


@pytest.fixture
async def yard(case: Case, clean_cluster: Cluster) -> AsyncIterator[Yard]:
    async with yards.opened(clean_cluster) as yard:
        yield yard


async def test_the_weight_of_the_price_alone_moves_a_gang(yard: Yard, case: Case) -> None:
    await yard.nodes(KwokNodes(1, prefix="a", cpu="8"))
    await yard.nodes(KwokNodes(1, prefix="b", cpu="4"))
    await yard.submit(foreign("on-a", "4", A), foreign("on-b", "1", B))
    await eventually(lambda: used_milli_cpu(yard, {A: 4000, B: 1000}))

    await yard.submit(job("it", 2))
    await yard.until_bound("it")

    pods = yard.of("it")
    assert [node_of(found) for found in pods] == [case.node] * 2
    decisions = [json.loads(annotation(found, labels.DECISION)) for found in pods]
    assert (
        decisions
        == [
            {"rule": "one-node", "v": 0.0, "bucket": None, "terms": case.terms},
        ]
        * 2
    )


def foreign(name: str, cpu: str, node: str) -> Manifest:
    """Return a pod that another scheduler has put there."""
    return pod(name, Pods(cpu=cpu, spec={"nodeName": node}).for_baseline())


async def used_milli_cpu(yard: Yard, expected: dict[str, int]) -> bool:
    """Return True if the extender counts these requests on the nodes."""
    entries: list[dict[str, Any]] = json.loads(await yard.read("/v1/nodes"))["entries"]
    return {entry["name"]: entry["used"].get("cpu", 0) for entry in entries} == expected
