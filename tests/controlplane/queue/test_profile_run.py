"""A job without a step time, on a real control plane: measured, then planned.

Half of a node of 8 CPUs belongs to jobs with a utility. The first run of a name is admitted like a
job without one, its simulated agents report steps, and it continues by a plan from the next slot;
the second run is priced before it starts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
import pytest

from devcluster.options import KwokNodes
from extender.core.records.profile import Profile
from extender.core.records.slot_plan import SlotPlan
from shared import labels
from shared.kube import paths
from shared.readapi import api
from tests.controlplane.jobs import Manifest, Pods, job
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

PATIENCE_SECONDS: Final = 300.0
"""Five intervals, each as long as two passes are apart, and a slot; three times that."""
SLOT_SECONDS: Final = 20.0
SETTINGS: Final[Mapping[str, Any]] = {
    "admission": {
        "enabled": True,
        "slot_seconds": SLOT_SECONDS,
        "horizon": 1000,
        "share": 0.5,
        "profile_spread": 0.5,  # a busy machine simulates agents unevenly
    },
    "migration": {"policy": "none"},
    "agent_reports": {"stale_seconds": 60},
}
STEPS: Final = 10_000
NODES: Final = KwokNodes(1, prefix="yard", cpu="8")
WORTH: Final = "sigmoid:1000,0,1000h"


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


@pytest.fixture
def kwok_nodes() -> Sequence[KwokNodes]:
    return (NODES,)


def undescribed(name: str) -> Manifest:
    """Two workers that train 20 000 mini-batches, without a time for one."""
    notes = {labels.UTILITY: WORTH, labels.TRAINING: "epochs=1,chunks=2,batches=10000"}
    return job(name, 2, replace(Pods(), annotations=notes, labels={"directory": name}))


async def test_the_first_run_is_measured_and_then_planned_and_the_second_is_priced_first(
    yard: Yard, agents: PlayedAgents
) -> None:
    agents.total_steps |= {"blind-1": STEPS, "blind-2": STEPS}
    await yard.submit(undescribed("blind-1"))
    await yard.until_bound("blind-1")
    assert labels.SLOT_PLAN not in await notes(yard, "blind-1")
    assert await eventually(lambda: yard.events("Profiling"), PATIENCE_SECONDS)

    async def timed() -> api.ExplainResponse | None:
        query = f"namespace={yard.team}&job=blind-1"
        text = await yard.read(f"/v1/explain?{query}")
        explained = msgspec.json.decode(text, type=api.ExplainResponse)
        entry = explained.admission.profile if explained.admission else None
        return explained if entry and entry.steps else None

    explained = await eventually(timed, PATIENCE_SECONDS, "steps are timed")
    assert explained is not None
    assert explained.reason in {"Profiling", "AwaitingPrice", ""}

    assert await eventually(lambda: yard.events("Admitted"), PATIENCE_SECONDS)
    annotations = await notes(yard, "blind-1")
    plan = msgspec.json.decode(annotations[labels.SLOT_PLAN], type=SlotPlan)
    run = msgspec.json.decode(annotations[labels.PROFILE], type=Profile)
    assert dict(plan.spans[0].workers) == {NODES.names()[0]: 2}
    assert plan.spans[0].first == plan.since
    assert run.step_seconds is not None
    # a step of the metrics is two mini-batches, of two workers
    assert run.batch_seconds == pytest.approx(run.step_seconds)
    assert yard.bound("blind-1") == 2
    assert await eventually(lambda: yard.events("Profiled"), PATIENCE_SECONDS)

    await yard.submit(undescribed("blind-2"))

    async def priced() -> dict[str, str]:
        annotations = await notes(yard, "blind-2")
        return annotations if labels.SLOT_PLAN in annotations else {}

    second = await eventually(priced, PATIENCE_SECONDS, "it has a plan")
    assert second is not None
    assert labels.PROFILE not in second
    request = msgspec.json.decode(second[labels.SLOT_PLAN], type=SlotPlan).request
    assert "whole-step=" in request.training


async def notes(yard: Yard, name: str) -> dict[str, str]:
    found = json.loads(await yard.client.get(paths.job(yard.team, name)))
    return dict(found["metadata"].get("annotations", {}))
