"""A gang over two nodes moves to two others whose places are kept for it; real processes."""

import asyncio
import json

import pytest

from cli.__main__ import main
from devcluster.options import ProcessNodes
from shared import labels
from shared.kube import paths
from tests.controlplane.jobs import Manifest
from tests.controlplane.training.elastic_job import (
    PATIENCE_SECONDS,
    begin,
    important,
    losses_are_those_of_one_run,
    until_workers,
)
from tests.controlplane.training.gang_of_two import FOUR_NODES, SIZE, gang, nodes_of
from tests.controlplane.training.parked import reached
from tests.controlplane.training_yard import TrainingYard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def nodes() -> ProcessNodes:
    return FOUR_NODES


def rival() -> Manifest:
    """A gang of the same size, as important, that waits for the places which the first leaves."""
    made = important(SIZE)
    made["metadata"]["name"] = "rival"
    del made["spec"]["template"]["spec"]["priorityClassName"]
    made["spec"]["template"]["spec"]["containers"][0]["command"][-1] = "sleep 1000"
    return made


async def test_a_gang_over_two_nodes_moves_to_two_others_that_are_kept_for_it(
    yard: TrainingYard,
) -> None:
    ours = await begin(yard, gang())
    await until_workers(ours, SIZE)
    before = nodes_of(yard, gang().name)
    assert len(before) == SIZE
    where = ["-n", yard.team, "--kubeconfig", str(yard.cluster.kubeconfig)]
    assert await asyncio.to_thread(main, ["move", gang().name, *where]) == 0

    async def is_asked() -> bool:
        notes = json.loads(await yard.client.get(paths.job(yard.team, gang().name)))["metadata"]
        return labels.PARKING in (notes.get("annotations") or {})

    await eventually(is_asked, PATIENCE_SECONDS, "it is asked for a checkpoint")
    await yard.submit(rival())
    await reached(yard, "Resumed")
    await yard.until_bound("rival")
    after = nodes_of(yard, gang().name)
    assert (len(after), after & before) == (SIZE, set())
    assert nodes_of(yard, "rival") == before
    (ack,) = ours.acks()
    assert (await until_workers(ours, SIZE)).number > ack.step
    await losses_are_those_of_one_run(ours, gang())
