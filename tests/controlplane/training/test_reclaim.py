"""A team gets its guaranteed share back: a gang of the other one saves, leaves, and comes back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from devcluster.shuntyard.extender_process import merged
from shared import labels
from shared.kube import paths
from tests.controlplane.training.elastic_job import (
    MOST,
    PATIENCE_SECONDS,
    begin,
    elastic,
    important,
    losses_are_those_of_one_run,
    until_workers,
)
from tests.controlplane.training.parked import (
    SETTINGS,
    reached,
    record,
    shown,
    what_if_names,
    would_leave,
)
from tests.controlplane.training_yard import TrainingYard
from tests.controlplane.watching import node_of
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

WAIT_SECONDS: Final = 10
"""Meanwhile the owner's gang waits, and `explain` shows what will leave."""
RECLAIMS: Final = merged(
    SETTINGS,
    {
        "preemption": {"enabled": False, "least_wait_seconds": WAIT_SECONDS},
        "tenancy": {"fair_share": True, "reclaim": True},
    },
)
HALF: Final = {labels.GUARANTEED_SHARE: "0.5"}


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return RECLAIMS


async def test_a_team_gets_its_guaranteed_share_back_after_a_checkpoint_of_the_other(
    yard: TrainingYard, tmp_path: Path
) -> None:
    ours = await begin(yard, elastic())
    await until_workers(ours, MOST)
    owner = await yard.namespace("owner")
    await yard.client.patch(paths.namespace(owner), {"metadata": {"annotations": HALF}})
    wanted = important(MOST // 2)
    del wanted["spec"]["template"]["spec"]["priorityClassName"]
    await what_if_names(yard, tmp_path, wanted, "Share", owner)
    await yard.submit(wanted, to=owner)

    async def is_explained() -> bool:
        printed = await shown(yard, tmp_path, "explain", "important", "-n", owner)
        assert would_leave("Share") in printed, printed
        return True

    await eventually(is_explained, WAIT_SECONDS, "explain names the gang that will leave")
    await reached(yard, "Parked")
    (ack,) = ours.acks()
    parked = await record(yard)
    assert (parked["cause"], parked["starts"]) == ("Share", f"{owner}/job/important")

    async def owner_has_it() -> bool:
        pods = await yard.items(paths.namespaced(paths.PODS, owner))
        return sum(node_of(pod) is not None for pod in pods) == MOST // 2

    await eventually(owner_has_it, PATIENCE_SECONDS, "the owner's gang is bound")
    await reached(yard, "Resumed")
    await until_workers(ours, MOST)
    assert parked["step"] == ack.step
    await losses_are_those_of_one_run(ours, elastic())
