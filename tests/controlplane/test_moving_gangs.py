"""A gang over two nodes moves to two others whose places are kept for it; real processes."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Final

import pytest

from bench.elastic.scenario import ElasticJob
from cli.__main__ import main
from devcluster.cluster import Cluster
from devcluster.options import ProcessNodes
from shared import labels
from shared.kube import paths
from tests.controlplane import training_yard
from tests.controlplane.jobs import Manifest
from tests.controlplane.test_elastic_training import (
    AGENT_SETTINGS,
    elastic,
    important,
    until_workers,
)
from tests.controlplane.test_parking import (
    PATIENCE_SECONDS,
    SETTINGS,
    begin,
    losses_are_those_of_one_run,
    reached,
)
from tests.controlplane.training_yard import TrainingYard
from tests.controlplane.watching import node_of
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

NODES: Final = ProcessNodes(4, cpu="200m", memory="1Gi", prefix="node")
"""Each has an agent and room for one worker."""
SIZE: Final = 2


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    with training_yard.training(control_plane, NODES, SETTINGS, AGENT_SETTINGS) as started:
        yield started


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with training_yard.lent(cluster, NODES.names()) as yard:
        yield yard


def gang() -> ElasticJob:
    job = elastic()
    return replace(job, simulated=replace(job.simulated, wanted=SIZE))


def rival() -> Manifest:
    """A gang of the same size, as important, that waits for the places which the first leaves."""
    made = important(SIZE)
    made["metadata"]["name"] = "rival"
    del made["spec"]["template"]["spec"]["priorityClassName"]
    made["spec"]["template"]["spec"]["containers"][0]["command"][-1] = "sleep 1000"
    return made


def nodes(yard: TrainingYard, job: str) -> set[str | None]:
    """Return the nodes of the job's living pods; None of one that has none yet."""
    return {node_of(pod) for pod in yard.history.of(f"{yard.team}/{job}")}


async def test_a_gang_over_two_nodes_moves_to_two_others_that_are_kept_for_it(
    yard: TrainingYard,
) -> None:
    ours = await begin(yard, gang())
    await until_workers(ours, SIZE)
    before = nodes(yard, gang().name)
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
    after = nodes(yard, gang().name)
    assert (len(after), after & before) == (SIZE, set())
    assert nodes(yard, "rival") == before
    (ack,) = ours.acks()
    assert (await until_workers(ours, SIZE)).number > ack.step
    await losses_are_those_of_one_run(ours, gang())
