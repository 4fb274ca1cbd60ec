"""A node is cordoned under real training: the job saves, leaves, and goes on at its saved step."""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, Final

import pytest

from bench.specon.files import overlaps, repeated
from bench.specon.jobs import Training
from devcluster.cluster import Cluster
from shared import labels
from shared.kube import paths
from tests.controlplane import training_yard
from tests.controlplane.training_yard import NODES, SETTINGS, TrainingYard, lent
from tests.controlplane.yard import Start
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

SOURCE, TARGET = NODES
PATIENCE_SECONDS: Final = 60.0
DRAINING: Final[Mapping[str, Any]] = {
    **SETTINGS,
    "migration": {**SETTINGS["migration"], "policy": "none"},
    "preemption": {"interval_seconds": 0.5, "checkpoint_seconds": 20, "hold_seconds": 20},
}


@pytest.fixture(scope="module")
def start() -> Start:
    return partial(training_yard.start, settings=DRAINING)


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with lent(cluster) as yard:
        yield yard


async def test_a_cordoned_node_loses_its_job_after_a_checkpoint_and_no_step_is_lost(
    yard: TrainingYard,
) -> None:
    training = Training("it", steps=300, save_seconds=0.5, poll_seconds=0.2, step_cpu_seconds=0.015)
    await yard.begin_alone_on(SOURCE, training)
    files = yard.files("it")

    def trains() -> bool:
        assert len(files.steps()) > 10
        return True

    await eventually(trains, PATIENCE_SECONDS, "it trains")
    await yard.cordon([SOURCE])
    await yard.until_done("it")
    before, after = files.lives()
    (ack,) = files.acks()
    steps = files.steps()
    assert (before.node, after.node) == (SOURCE, TARGET)
    assert overlaps([before, after]) == ()
    assert yard.jobs.first(lambda job: job["spec"].get("suspend")) > ack.written_at
    assert max(step.step for step in steps if step.at < after.begun_at) == ack.step
    assert [step.step for step in steps] == list(range(1, training.steps + 1))
    assert repeated(steps) == 0
    starts = await _generations(yard)
    assert len(starts) == 2
    assert starts == sorted(set(starts))
    await _nothing_of_it_is_left(yard)


async def _generations(yard: TrainingYard) -> list[int]:
    """Return the generations of the job's pods, in the order in which the pods were seen."""
    seen: dict[str, int] = {}
    for _, pod in yard.pods.seen:
        notes = pod["metadata"].get("annotations") or {}
        if pod["metadata"]["name"].startswith("it-") and labels.GENERATION in notes:
            seen[pod["metadata"]["uid"]] = int(notes[labels.GENERATION])
    return list(seen.values())


async def _nothing_of_it_is_left(yard: TrainingYard) -> None:
    """Check what `kubectl drain` would find on the node: no pod of the job."""
    pods = await yard.items(paths.PODS)
    left = [
        pod["metadata"]["name"]
        for pod in pods
        if pod["spec"].get("nodeName") == SOURCE and pod["metadata"]["name"].startswith("it-")
    ]
    assert left == []
