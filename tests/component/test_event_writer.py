"""What waits to be written: reasons of pods that still wait, and not too many Events."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from extender.core.cluster.commands import (
    EmitEvent,
    OpenGate,
    ReleaseGang,
    ReleasePod,
    SetQueuedCondition,
)
from extender.core.cluster.reasons import Reason
from extender.metrics.extender import ExtenderMetrics
from extender.store.store import ClusterStore
from extender.writers.decision_log.recorder import Recorder
from extender.writers.events import EventWriter
from extender.writers.execute import Executor
from extender.writers.leader_writer import LeaderWriter
from shared import labels
from shared.health import Health
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.model import NodeName, OwnerReference, PodKey, Uid
from shared.system_clock import SystemClock
from tests.component.shell import pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube


@pytest.fixture
def executor(client: KubeClient) -> Executor:
    clock, metrics = SystemClock(), ExtenderMetrics()
    beat = Health(clock.monotonic).heartbeat("any", max_age_seconds=60.0)
    store = ClusterStore(labels.SCHEDULER_NAME)
    recorder = Recorder(store, clock, metrics, beat, None, "hash")
    events = EventWriter(client, clock, metrics, beat, "me")
    return Executor(LeaderWriter(client, lambda: True), recorder, events, metrics, parallelism=4)


def waits(manifest: dict[str, Any]) -> SetQueuedCondition:
    meta = manifest["metadata"]
    key = PodKey(f"default/{meta['name']}")
    return SetQueuedCondition(key, Uid(meta["uid"]), Reason.AWAITING_ROOM, "no room")


def releases(manifest: dict[str, Any]) -> ReleaseGang:
    key, uid = PodKey(f"default/{manifest['metadata']['name']}"), Uid(manifest["metadata"]["uid"])
    released = ReleasePod(key, uid, "", NodeName("a"), "plan", 1, (), None, "{}")
    return ReleaseGang("default/job/j", (released,), 0)


def opens(manifest: dict[str, Any]) -> OpenGate:
    key, uid = PodKey(f"default/{manifest['metadata']['name']}"), Uid(manifest["metadata"]["uid"])
    return OpenGate("default/job/j", ((key, uid),))


def pods_with_reason(fake: FakeKube) -> list[str]:
    return [
        manifest["metadata"]["name"]
        for manifest in fake.objects(paths.PODS)
        if any(
            c["type"] == labels.QUEUED_CONDITION for c in manifest["status"].get("conditions", [])
        )
    ]


@pytest.mark.parametrize("start", [releases, opens])
async def test_a_queued_reason_of_a_released_pod_is_not_written(
    fake: FakeKube, executor: Executor, start: Callable[[dict[str, Any]], ReleaseGang | OpenGate]
) -> None:
    going, waiting = (fake.put(paths.PODS, pod(name)) for name in ("going", "waiting"))
    await executor.carry_out([waits(going), waits(waiting)])
    await executor.carry_out([start(going)])
    task = asyncio.create_task(executor.events.run())
    await eventually(lambda: "waiting" in pods_with_reason(fake))
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert pods_with_reason(fake) == ["waiting"]


async def test_events_about_bindings_that_are_too_many_are_dropped_and_counted(
    fake: FakeKube,
    executor: Executor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("extender.writers.events.MOST_UNHURRIED", 2)
    for name in ("a", "b", "c", "d"):
        about = OwnerReference("v1", "Pod", name, Uid(f"uid-{name}"))
        executor.events.enqueue_unhurried(EmitEvent("default", about, "Scheduled", "bound"))
    task = asyncio.create_task(executor.events.run())
    await eventually(lambda: "2 Events about Bindings were dropped" in caplog.text)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert [event["regarding"]["name"] for event in fake.objects(paths.EVENTS)] == ["a", "b"]
