"""Killed at any write of a change of workers, the extender continues; no number is rewritten."""

from dataclasses import dataclass
from typing import Any

import pytest

from extender.core.records.rescale import Phase
from shared.kube import paths
from tests.component.elastic_workers import (
    CHECKPOINT,
    JOB,
    PATIENCE_SECONDS,
    TERMINATE,
    ElasticWorkers,
    elastic_cluster,
    life,
    put_job,
)
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")

LONG: dict[str, Any] = {"checkpoint_seconds": 30.0, "hold_seconds": 30.0}
"""No deadline passes while the extender is down."""


@dataclass(frozen=True)
class Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


WAYS = {
    "checkpoint": (CHECKPOINT, ("grow", "grown", "ask", "shrink", "shrunk")),
    "terminate": (TERMINATE, ("grow", "grown", "shrink", "shrunk")),
}
CASES = {
    f"{way}-{how}-{step}": (notes, number, how)
    for way, (notes, steps) in WAYS.items()
    for number, step in enumerate(steps, start=1)
    for how in ("before", "after")
}


def _is_settled(workers: ElasticWorkers) -> bool:
    one = workers.rescale()
    closed = one is None or not one.open
    return (
        closed
        and workers.running_workers() == workers.wanted() == workers.running_workers("s") == 2
    )


async def _grows_and_makes_room(fake: FakeKube, workers: ElasticWorkers) -> None:
    """Let ``j`` grow, then put the job to which it yields room."""
    await eventually(
        lambda: workers.running_workers() == 4 or not fake.faults.left, PATIENCE_SECONDS
    )
    put_job(fake, 2, {}, name="s", span="", priority=1000)


@pytest.mark.parametrize(("notes", "count", "how"), CASES.values(), ids=CASES)
async def test_a_change_continues_wherever_the_extender_is_killed(
    fake: FakeKube, notes: dict[str, str], count: int, how: str
) -> None:
    """Before a write: it never happens. After it: it happened, and its answer was lost."""
    put_job(fake, 2, notes)
    stop = kube_faults.Slow() if how == "before" else kube_faults.LostAnswer()
    async with elastic_cluster(fake, **LONG) as (workers, first):
        fake.faults.order("patch", f"*/jobs/{JOB}", *[Undisturbed()] * (count - 1), stop)
        await _grows_and_makes_room(fake, workers)
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS, str(workers.rescale()))
        await first.kill()
        async with life(fake, workers, **LONG):
            await eventually(lambda: _is_settled(workers), PATIENCE_SECONDS, str(workers.rescale()))
    assert workers.written in ([2, 4, 2], [2, 2], [2])
    assert notes is TERMINATE or workers.lost == []


async def test_a_write_with_an_outdated_version_is_not_made(fake: FakeKube) -> None:
    put_job(fake, 2, CHECKPOINT)
    held = kube_faults.Slow()
    async with elastic_cluster(fake, **LONG) as (workers, _):
        fake.faults.order("patch", f"*/jobs/{JOB}", held)
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        by_hand(fake, 3)
        held.gate.set()
        await eventually(lambda: workers.running_workers() == 4, PATIENCE_SECONDS)
    assert workers.written == [2, 3, 4]


def by_hand(fake: FakeKube, number: int) -> None:
    job = fake.object(paths.JOBS, JOB, "default")
    assert job is not None
    fake.put(
        paths.JOBS, {**job, "spec": {**job["spec"], "parallelism": number, "completions": number}}
    )


async def _asked(fake: FakeKube, workers: ElasticWorkers) -> None:
    await eventually(lambda: workers.running_workers() == 4, PATIENCE_SECONDS)
    put_job(fake, 2, {}, name="s", span="", priority=1000)
    await eventually(
        lambda: (one := workers.rescale()) is not None and one.phase is Phase.ASKED,
        PATIENCE_SECONDS,
    )


async def _ended(workers: ElasticWorkers, *why: str) -> None:
    await eventually(
        lambda: (
            (one := workers.rescale()) is not None and one.phase is Phase.ABORTED and one.why in why
        ),
        PATIENCE_SECONDS,
        str(workers.rescale()),
    )


async def test_a_trainer_that_does_not_answer_keeps_its_workers(fake: FakeKube) -> None:
    put_job(fake, 2, CHECKPOINT)
    async with elastic_cluster(fake, checkpoint_seconds=1.0, cooldown_seconds=60.0) as (workers, _):
        workers.deaf = True
        await _asked(fake, workers)
        await _ended(workers, "CheckpointTimeout")
        assert workers.running_workers() == 4
    assert (workers.written, workers.lost) == ([2, 4], [])


async def test_a_trainer_that_cannot_save_keeps_its_workers(fake: FakeKube) -> None:
    put_job(fake, 2, CHECKPOINT)
    async with elastic_cluster(fake, cooldown_seconds=60.0) as (workers, _):
        workers.unable = True
        await _asked(fake, workers)
        await _ended(workers, "CheckpointFailed")
    assert (workers.written, workers.lost) == ([2, 4], [])


async def test_a_silent_agent_keeps_the_workers_running(fake: FakeKube) -> None:
    put_job(fake, 2, CHECKPOINT)
    limits = {"stale_seconds": 1.0, "checkpoint_seconds": 5.0, "cooldown_seconds": 60.0}
    async with elastic_cluster(fake, **limits) as (workers, _):
        workers.deaf = True
        await _asked(fake, workers)
        workers.silent = True
        await _ended(workers, "AgentStale")
    assert (workers.written, workers.lost) == ([2, 4], [])


async def test_a_number_changed_by_hand_prevails(fake: FakeKube) -> None:
    put_job(fake, 2, CHECKPOINT)
    async with elastic_cluster(fake, cooldown_seconds=60.0, **LONG) as (workers, _):
        workers.deaf = True
        await _asked(fake, workers)
        by_hand(fake, 3)
        await _ended(workers, "OwnerChanged")
        assert workers.wanted() == 3


async def test_a_pod_deleted_during_its_checkpoint_request_ends_the_change(fake: FakeKube) -> None:
    put_job(fake, 2, CHECKPOINT)
    async with elastic_cluster(fake, cooldown_seconds=60.0, **LONG) as (workers, _):
        workers.deaf = True
        await _asked(fake, workers)
        first = next(p for p in fake.objects(paths.PODS) if p["metadata"]["name"].startswith("j-0"))
        fake.remove(paths.PODS, first["metadata"]["name"], "default")
        await _ended(workers, "PodGone")
    assert workers.written == [2, 4]


async def test_new_workers_without_room_are_removed_again(fake: FakeKube) -> None:
    """The foreign pod comes while the growth is being written: the extender cannot see it yet."""
    put_job(fake, 2, CHECKPOINT)
    held = kube_faults.Slow()
    async with elastic_cluster(fake, grow_seconds=1.0, cooldown_seconds=60.0) as (workers, _):
        fake.faults.order("patch", f"*/jobs/{JOB}", held)
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        put_foreign(fake, 2)
        held.gate.set()
        await eventually(
            lambda: workers.written == [2, 4, 2], PATIENCE_SECONDS, str(workers.rescale())
        )
        assert workers.lost == []


def put_foreign(fake: FakeKube, cpu: int) -> None:
    """Put a pod of another scheduler on the node."""
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": str(cpu)}}}]
    spec = {"nodeName": "a", "schedulerName": "default-scheduler", "containers": containers}
    manifest = {"metadata": {"name": "foreign", "namespace": "default"}, "spec": spec}
    fake.put(paths.PODS, {**manifest, "status": {"phase": "Running"}})
