"""A node announces that it leaves: its jobs save, leave together, and start elsewhere."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from extender.core.records.parking import Cause, Phase
from shared import labels
from shared.kube import paths
from tests.component.moving_yard import PATIENCE_SECONDS
from tests.component.parking_yard import (
    JOB,
    is_suspended,
    noted,
    parking_of,
    put_job,
    reached,
    trains,
    yard,
)
from tests.component.shell import lease, node
from tests.component.test_parking import events
from tests.component.training import Training
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

A, B = "a", "b"


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server, lease(server):
        server.put(paths.NODES, node(A))
        yield server


def changed(fake: FakeKube, name: str, part: str, **fields: Any) -> None:
    """Change fields of a node, as an administrator or a controller does."""
    found = fake.object(paths.NODES, name)
    assert found is not None
    fake.put(paths.NODES, {**found, part: {**found.get(part, {}), **fields}})


ANNOUNCEMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a cordon": ("spec", {"unschedulable": True}),
    "a taint of Karpenter": (
        "spec",
        {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]},
    ),
    "a condition of Azure": (
        "status",
        {"conditions": [{"type": "PreemptScheduled", "status": "True"}]},
    ),
    "our annotation": ("metadata", {"annotations": {labels.LEAVING: "2030-01-01T00:00:00Z"}}),
}


@pytest.mark.parametrize(("part", "fields"), ANNOUNCEMENTS.values(), ids=ANNOUNCEMENTS)
async def test_a_gang_saves_and_starts_elsewhere(
    fake: FakeKube, part: str, fields: dict[str, Any]
) -> None:
    put_job(fake, 2)
    async with yard(fake) as (training, _):
        await trains(training, count=2)
        fake.put(paths.NODES, node(B))
        changed(fake, A, part, **fields)
        resumed = await reached(fake, Phase.RESUMED)
        await trains(training, count=2)
        assert (resumed.cause, nodes(training)) == (Cause.DRAIN, {B})
        trainer = training.trainer_of(JOB)
        assert trainer is not None
        assert trainer.resumed_step == training.directories[JOB].saved_step


def nodes(training: Training) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in training.pods(JOB)}


async def test_without_room_elsewhere_it_waits_saved_until_the_cordon_ends(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, _):
        await trains(training)
        changed(fake, A, "spec", unschedulable=True)
        parked = await reached(fake, Phase.PARKED)
        assert (parked.step, training.pods(JOB)) == (training.directories[JOB].saved_step, [])
        changed(fake, A, "spec", unschedulable=False)
        await reached(fake, Phase.RESUMED)
        await trains(training)


async def test_a_job_without_an_answer_stays_until_the_nodes_owner_ends_it(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake, checkpoint_seconds=1.0) as (training, _):
        training.deaf.add(JOB)
        await trains(training)
        changed(fake, A, "spec", unschedulable=True)
        await reached(fake, Phase.ABORTED, why="CheckpointTimeout")
        assert (is_suspended(fake), len(training.pods(JOB))) == (False, 1)


REFUSED = {
    "without a checkpoint": ({}, False, "shuntyard.io/checkpoint is missing"),
    "that is never to be parked": ({labels.PREEMPTIBLE: "never"}, True, "shuntyard.io/preemptible"),
}


@pytest.mark.parametrize(("notes", "checkpoint", "text"), REFUSED.values(), ids=REFUSED)
async def test_a_job_stays_and_its_owner_learns_why(
    fake: FakeKube, notes: dict[str, str], checkpoint: bool, text: str
) -> None:
    put_job(fake, checkpoint=checkpoint, notes=notes)
    async with yard(fake) as (training, _):
        await trains(training)
        changed(fake, A, "spec", unschedulable=True)
        await eventually(lambda: any(text in e for e in events(fake)), PATIENCE_SECONDS)
        assert (parking_of(fake), is_suspended(fake)) == (None, False)


async def test_a_job_on_another_node_stays(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, _):
        await trains(training)
        fake.put(paths.NODES, node(B))
        changed(fake, B, "spec", unschedulable=True)
        noted(fake, labels.PARK, "false")
        put_job(fake, name="other")
        await trains(training, "other")
        assert (parking_of(fake), nodes(training)) == (None, {A})
