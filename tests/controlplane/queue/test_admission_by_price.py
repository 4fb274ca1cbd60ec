"""Admission by price on a real control plane: a job that pays runs, another waits with a reason.

One node of 8 CPUs, of which 4 belong to jobs with a utility; slots of a day, so that no slot ends.
The rights are those of the extender's service account: it writes the plan on the Job, and what it
learned into its one ConfigMap.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from extender.core.pricing import history
from extender.core.records.slot_plan import SlotPlan
from extender.writers.history import KEY, NAME
from shared import labels
from shared.kube import paths
from shared.readapi import api
from shared.readapi.pricing import PricesResponse
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Pods, job
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

SETTINGS = {"admission": {"enabled": True, "slot_seconds": 86400.0, "horizon": 10, "share": 0.5}}
HALF_A_DAY = "epochs=1,chunks=4,batches=14400,step=3s"
HISTORY = paths.namespaced(paths.CONFIG_MAPS, "shuntyard-system", NAME)


@pytest.fixture
def admitting(clean_cluster: Cluster) -> Cluster:
    yards.start(clean_cluster, SETTINGS)
    return clean_cluster


@pytest.fixture
async def yard(admitting: Cluster) -> AsyncIterator[Yard]:
    async with yards.opened(admitting) as yard:
        await yard.nodes(KwokNodes(1, prefix="a", cpu="8"))
        yield yard


def worth(utility: str) -> Pods:
    return replace(Pods(), annotations={labels.UTILITY: utility, labels.TRAINING: HALF_A_DAY})


async def test_a_job_that_pays_runs_by_its_plan_and_another_gets_a_reason(yard: Yard) -> None:
    await yard.submit(job("rich", 4, worth("sigmoid:1000,0,1000h")))
    await yard.until_bound("rich")
    path = paths.job(yard.team, "rich")
    found = json.loads(await yard.client.get(path))["metadata"]["annotations"]
    plan = msgspec.json.decode(found[labels.SLOT_PLAN], type=SlotPlan)
    assert dict(plan.spans[0].workers) == {"a-0000": 4}
    assert await eventually(lambda: yard.events("Admitted"))

    await yard.submit(job("poor", 4, worth("sigmoid:0.001,0,1000h")), job("free", 4))
    await yard.until_bound("free")  # the other half of the node is for jobs without a utility

    async def bargain() -> api.AdmissionEntry | None:
        # A job without a plan waits for this reason at once; its offers come with a later pass.
        return (await yard.until_waiting("poor", "PayoffTooLow")).admission

    offered = await eventually(bargain)
    assert offered is not None
    assert offered.payoff < 0
    query = f"namespace={yard.team}&job=poor"
    explained = msgspec.json.decode(
        await yard.read(f"/v1/explain?{query}"), type=api.ExplainResponse
    )
    assert (explained.cause, bool(explained.price), bool(explained.changes)) == (
        "price",
        True,
        True,
    )

    slot_prices = msgspec.json.decode(await yard.read("/v1/prices?slots=true"), type=PricesResponse)
    assert slot_prices.slots is not None
    assert slot_prices.slots.rows[0].prices["cpu"][0] == 1.0

    async def learned() -> list[str]:
        text = json.loads(await yard.client.get(HISTORY)).get("data", {}).get(KEY, "")
        return [one.request.utility for one in history.read(text, field="").jobs]

    assert "sigmoid:1000,0,3600000s" in await eventually(learned)
