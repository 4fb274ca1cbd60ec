"""A node announces that it leaves: its jobs save, leave together, and start elsewhere."""

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from extender.core.records.parking import Cause, Phase
from shared import labels
from shared.kube import paths, stamps
from shared.objects.disruptions import RESPONDER
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
from tests.fakes import kube_faults
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


def eviction(fake: FakeKube, name: str, state: str) -> None:
    """Put an Eviction of a pod in which we are a responder, as its controller does."""
    pod = fake.object(paths.PODS, name, "default")
    assert pod is not None
    target = {"pod": {"name": name, "uid": pod["metadata"]["uid"]}}
    at = stamps.seconds(time.time())  # noqa: TID251 - that of the controller
    responders = [{"name": "acme.io/other"}, {"name": RESPONDER, "startTime": at}]
    turns = [
        {"name": "acme.io/other", "state": "Completed", "priority": 30000},
        {"name": RESPONDER, "state": state, "priority": 20000},
    ]
    status = {"targetResponders": turns, "responders": responders}
    metadata = {"name": "e", "namespace": "default"}
    fake.put(paths.EVICTIONS, {"metadata": metadata, "spec": {"target": target}, "status": status})


def report(fake: FakeKube) -> dict[str, Any]:
    found = fake.object(paths.EVICTIONS, "e", "default")
    assert found is not None
    ours: dict[str, Any] = found["status"]["responders"][1]
    return ours


async def test_a_pod_is_not_evicted_before_its_gang_has_saved_and_left(fake: FakeKube) -> None:
    fake.install(paths.EVICTIONS)
    put_job(fake, 2)
    async with yard(fake) as (training, _):
        await trains(training, count=2)
        eviction(fake, training.pods(JOB)[0]["metadata"]["name"], "Active")
        resumed = await reached(fake, Phase.RESUMED)
        await trains(training, count=2)
        assert resumed.cause is Cause.DRAIN
        await eventually(lambda: "completionTime" in report(fake), PATIENCE_SECONDS)
        assert report(fake)["message"] == "the pod is gone"


async def test_an_eviction_goes_on_if_the_job_cannot_save(fake: FakeKube) -> None:
    fake.install(paths.EVICTIONS)
    put_job(fake, checkpoint=False)
    async with yard(fake) as (training, _):
        await trains(training)
        eviction(fake, training.pods(JOB)[0]["metadata"]["name"], "Active")
        await eventually(lambda: "completionTime" in report(fake), PATIENCE_SECONDS)
        assert "shuntyard.io/checkpoint is missing" in report(fake)["message"]
        assert not is_suspended(fake)


STOPS = {"before": kube_faults.Slow, "after": kube_faults.LostAnswer}


@pytest.mark.parametrize("how", STOPS)
async def test_killed_at_a_report_the_next_extender_reports(fake: FakeKube, how: str) -> None:
    fake.install(paths.EVICTIONS)
    put_job(fake, checkpoint=False)
    async with yard(fake) as (training, running):
        await trains(training)
        fake.faults.order("patch", "*/evictions/*", STOPS[how]())
        eviction(fake, training.pods(JOB)[0]["metadata"]["name"], "Active")
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        await running.kill()
    async with yard(fake):
        await eventually(lambda: "completionTime" in report(fake), PATIENCE_SECONDS)
