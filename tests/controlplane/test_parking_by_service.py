"""A long gang leaves for a job that needs less (order `service`), and comes back: real runs."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import pytest

from devcluster.cluster import Cluster
from devcluster.extender_process import merged
from shared import labels
from tests.controlplane import training_yard
from tests.controlplane.test_elastic_training import (
    AGENT_SETTINGS,
    MOST,
    NODES,
    elastic,
    important,
    until_workers,
)
from tests.controlplane.test_parking import (
    SETTINGS,
    begin,
    losses_are_those_of_one_run,
    reached,
    record,
    what_if_names,
)
from tests.controlplane.training_yard import TrainingYard

pytestmark = pytest.mark.controlplane

BY_SERVICE: Final = merged(
    SETTINGS, {"queue": {"order": "service"}, "preemption": {"restart_seconds": 1}}
)
SHORT: Final = {labels.EXPECTED_DURATION: "3s"}


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    with training_yard.training(control_plane, NODES, BY_SERVICE, AGENT_SETTINGS) as started:
        yield started


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with training_yard.lent(cluster, NODES.names()) as yard:
        yield yard


async def test_a_long_gang_leaves_for_a_short_one_that_what_if_names_and_resumes_at_its_step(
    yard: TrainingYard, tmp_path: Path
) -> None:
    ours = await begin(yard, elastic())
    await until_workers(ours, MOST)
    short = important(MOST)
    del short["spec"]["template"]["spec"]["priorityClassName"]
    short["metadata"]["annotations"] = SHORT
    await what_if_names(yard, tmp_path, short, "Order", yard.team)
    await yard.submit(short)
    await reached(yard, "Parked")
    (ack,) = ours.acks()
    parked = await record(yard)
    assert (parked["cause"], parked["starts"]) == ("Order", f"{yard.team}/job/important")
    assert parked["step"] == ack.step
    await yard.until_bound("important")
    await reached(yard, "Resumed")
    await until_workers(ours, MOST)
    await losses_are_those_of_one_run(ours, elastic())
