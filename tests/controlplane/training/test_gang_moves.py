"""The extender itself moves a gang that is spread over racks into one; real processes."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from devcluster.options import ProcessNodes
from devcluster.shuntyard.extender_process import merged
from extender.core.parameters.placement import LEVELS
from shared import labels
from shared.kube import paths
from tests.controlplane.training.elastic_job import (
    PATIENCE_SECONDS,
    begin,
    losses_are_those_of_one_run,
    until_workers,
)
from tests.controlplane.training.gang_of_two import FOUR_NODES, SIZE, gang, nodes_of
from tests.controlplane.training.parked import SETTINGS, reached, record
from tests.controlplane.training_yard import TrainingYard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

GANGS_MOVE: Final = merged(SETTINGS, {"migration": {"gangs": True}})
RACK: Final = next(level.label for level in LEVELS if level.name == "rack")
RACKS: Final = dict(zip(FOUR_NODES.names(), ("r1", "r2", "r3", "r3"), strict=True))
FURTHER_STEPS: Final = 30
"""Meanwhile the extender searches for moves many times."""


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return GANGS_MOVE


@pytest.fixture(scope="module")
def nodes() -> ProcessNodes:
    return FOUR_NODES


async def test_a_gang_over_two_racks_goes_into_one_at_its_step_and_stays(
    yard: TrainingYard,
) -> None:
    for name, rack in RACKS.items():
        await yard.client.patch(paths.node(name), {"metadata": {"labels": {RACK: rack}}})
    apart = {name for name, rack in RACKS.items() if rack != "r3"}
    together = set(RACKS) - apart
    await yard.cordon(together)
    ours = await begin(yard, gang())
    wish = {
        "metadata": {
            "annotations": {labels.PREFERRED_TOPOLOGY: "rack", labels.SPREAD_SPEEDS: "rack=0.9"}
        }
    }
    await yard.client.patch(paths.job(yard.team, gang().name), wish)
    await until_workers(ours, SIZE)
    assert nodes_of(yard, gang().name) == apart
    await yard.cordon(together, cordoned=False)
    await reached(yard, "Resumed")
    assert nodes_of(yard, gang().name) == together
    (ack,) = ours.acks()

    async def has_trained() -> bool:
        step = await until_workers(ours, SIZE)
        return step.number > ack.step + FURTHER_STEPS

    await eventually(has_trained, PATIENCE_SECONDS, f"{FURTHER_STEPS} more steps")
    moved = await record(yard)
    assert (moved["cause"], moved["phase"], moved["step"]) == ("Move", "Resumed", ack.step)
    assert (moved.get("count", 1), nodes_of(yard, gang().name)) == (1, together)
    await losses_are_those_of_one_run(ours, gang())
