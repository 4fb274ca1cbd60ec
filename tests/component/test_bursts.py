"""Bursts through every part of the extender, over the fake API server."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from extender.app import replay
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from shared.system_clock import SystemClock
from tests.component.shell import QUICK, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube


@pytest.fixture
async def fake():
    async with FakeKube.running() as server, lease(server):
        server.actions.now = SystemClock().now()
        for name in ("a", "b"):
            server.put(paths.NODES, node(name))
        yield server


def put(fake, name, **fields):
    """A pod without the gate."""
    manifest = pod(name, **fields)
    del manifest["spec"]["schedulingGates"]
    fake.put(paths.PODS, manifest)


def put_gang(fake, job="j", size=4):
    for i in range(size):
        put(fake, f"{job}-{i}", job=job, size=size)


@contextlib.asynccontextmanager
async def scheduled(fake, before=lambda: None, **changes):
    """An extender that has run a pass, and a kube-scheduler; ``before`` runs before its start."""
    async with extender(fake, **changes) as running:
        queue = next(loop for loop in running.parts.loops if hasattr(loop, "may_plan"))
        await eventually(lambda: queue.last is not None)
        before()
        bursts = next(loop for loop in running.parts.loops if hasattr(loop, "keep_apart"))
        await eventually(lambda: len(queue.context.recorder.store.snapshot().pods) > 0)
        scheduler = MiniScheduler(fake, running.scheduler_url)
        async with scheduler.running():
            yield bursts, scheduler


def events(fake):
    return {
        e["regarding"]["name"] for e in fake.objects(paths.EVENTS) if e["reason"] == "Scheduled"
    }


def read_log(directory):
    return b"".join(path.read_bytes() for path in sorted(directory.glob("decisions-*")))


async def sample(bursts, name):
    return await asyncio.to_thread(bursts.context.metrics.registry.get_sample_value, name)


async def test_kube_scheduler_asks_about_one_member_of_a_gang(fake):
    async with scheduled(fake, lambda: put_gang(fake)) as (bursts, scheduler):
        await eventually(lambda: len(bound(fake)) == 4)
        (asked,) = scheduler.asked
        await eventually(lambda: events(fake) == {f"j-{i}" for i in range(4)} - {asked})
        assert await sample(bursts, "shuntyard_burst_pods_total") == 3
        assert await sample(bursts, "shuntyard_burst_hold_seconds_count") == 1
    assert "patch" not in fake.verbs("pods")


async def test_a_gang_may_have_one_event_in_place_of_one_per_pod(fake):
    gang = {"burst_event_per_pod": False}
    async with scheduled(fake, lambda: put_gang(fake), gang=gang) as (_, scheduler):
        await eventually(lambda: len(bound(fake)) == 4)
        (event,) = await eventually(lambda: [*fake.objects(paths.EVENTS)])
    assert (event["reason"], event["note"]) == ("Scheduled", "Successfully assigned 3 of 4 pods")
    assert len(scheduler.asked) == 1


PATIENT = {"bind_wait_seconds": 60.0, "bind_burst_seconds": 60.0}
"""A gang that is bound in part is not given up meanwhile."""

GATED = {"burst_gated": True}
LONG = {"burst_hold_seconds": 2, **GATED}


def put_gated(fake, job="j", size=4, servers=0):
    for i in range(size):
        marks = {labels.JOB: job, labels.ROLE: "ps" if i < servers else "worker"}
        fake.put(paths.PODS, pod(f"{job}-{i}", size=size, metadata={"labels": marks}))


def annotations_of(fake, name):
    return fake.object(paths.PODS, name, "default")["metadata"]["annotations"]


async def test_kube_scheduler_asks_about_one_member_of_a_gated_gang(fake):
    async with scheduled(fake, lambda: put_gated(fake, servers=2), gang=LONG) as (_, scheduler):
        await eventually(lambda: len(bound(fake)) == 4)
    assert scheduler.asked == {"j-3"}
    for name in bound(fake):
        assert annotations_of(fake, name)[labels.NODE] == bound(fake)[name]
        assert annotations_of(fake, name)[labels.PLAN_SIZE] == "4"
    assert fake.verbs("pods").count("patch") == 4
    assert "affinity" not in fake.object(paths.PODS, "j-0", "default")["spec"]


async def test_gated_gangs_and_single_pods_are_bound_while_kube_scheduler_asks_about_one(fake):
    def jobs():
        put_gated(fake, "j", 3)
        put_gated(fake, "k", 2)
        for i in range(3):
            put_gated(fake, f"s{i}", 1)

    async with scheduled(fake, jobs, gang=LONG) as (_, scheduler):
        await eventually(lambda: len(bound(fake)) == 8)
    assert len(scheduler.asked) < 5


async def test_kube_scheduler_asks_about_every_member_without_a_hold(fake):
    gang = {"burst_hold_seconds": 0}
    async with scheduled(fake, lambda: put_gang(fake), gang=gang) as (bursts, scheduler):
        await eventually(lambda: len(bound(fake)) == 4)
        assert scheduler.asked == {f"j-{i}" for i in range(4)}
        assert await sample(bursts, "shuntyard_burst_pods_total") == 0


async def test_single_pods_that_wait_are_bound_on_one_call(fake):
    def singles():
        for i in range(5):
            put(fake, f"s-{i}", size=1)

    async with scheduled(fake, singles) as (_, scheduler):
        await eventually(lambda: len(bound(fake)) == 5)
        assert len(scheduler.asked) < 5


async def test_nothing_is_held_after_a_call_about_a_pod_of_another_scheduler(fake):
    async with scheduled(fake, lambda: put(fake, "x", schedulerName="other")) as (
        bursts,
        scheduler,
    ):
        await eventually(lambda: "x" in bound(fake))
        put_gang(fake)
        await eventually(lambda: len(bound(fake)) == 5)
        assert scheduler.asked == {"x", *(f"j-{i}" for i in range(4))}
        assert await sample(bursts, "shuntyard_burst_hold_seconds_count") == 0


async def test_kube_scheduler_is_answered_while_a_binding_hangs(fake):
    hanging = kube_faults.Slow()
    fake.faults.order("create", "*/binding", hanging)
    gang = {"burst_hold_seconds": 0.05, **PATIENT}
    async with scheduled(fake, lambda: put_gang(fake), gang=gang) as (_, scheduler):
        await eventually(lambda: len(scheduler.asked) > 1)
        assert len(bound(fake)) < 4
        hanging.gate.set()
        await eventually(lambda: len(bound(fake)) == 4)


async def test_a_member_that_is_deleted_in_a_burst_is_replaced_and_the_gang_is_whole(fake):
    fake.faults.order("create", "*/j-2/binding", kube_faults.Answer(404, "NotFound"))
    async with scheduled(fake, lambda: put_gang(fake)) as (_, _scheduler):
        await eventually(lambda: len(bound(fake)) == 4)


async def test_a_gated_gang_that_kube_scheduler_does_not_ask_about_is_released_as_a_whole(fake):
    put_gated(fake)
    async with extender(fake, gang=GATED) as running:
        await eventually(lambda: sum(map(has_gate, fake.objects(paths.PODS))) == 0, 60)
        pinned = [p for p in fake.objects(paths.PODS) if "affinity" in p["spec"]]
        assert len(pinned) == 3
        async with MiniScheduler(fake, running.scheduler_url).running():
            await eventually(lambda: len(bound(fake)) == 4)
    plans = {annotations_of(fake, name)[labels.PLAN] for name in bound(fake)}
    assert len(plans) == 1


def has_gate(found):
    return bool(found["spec"].get("schedulingGates"))


@pytest.mark.parametrize("refused", ["j-1", "j-3"], ids=["in the burst", "of the first pod"])
async def test_a_gated_gang_of_which_a_gate_is_not_removed_is_bound_whole(fake, refused):
    fake.faults.order("patch", f"*/pods/{refused}", kube_faults.Answer(409, "Conflict"))
    async with scheduled(fake, lambda: put_gated(fake), gang=GATED):
        await eventually(lambda: len(bound(fake)) == 4)


async def test_a_hold_may_end_before_a_gated_gang_is_bound(fake):
    hanging = kube_faults.Slow()
    fake.faults.order("create", "*/binding", hanging)
    gang = {**GATED, **PATIENT, "burst_hold_seconds": 0.05, "bind_parallelism": 1}
    async with scheduled(fake, lambda: put_gated(fake, size=6), gang=gang) as (bursts, _):
        name = "shuntyard_burst_hold_seconds_count"
        while not await sample(bursts, name):
            await asyncio.sleep(0.01)
        assert bound(fake) == {}
        hanging.gate.set()
        await eventually(lambda: len(bound(fake)) == 6, 60)


async def test_bursts_are_recorded_and_replayed(fake, tmp_path: Path):
    section = {"directory": tmp_path}

    def jobs():
        put_gang(fake)
        put_gang(fake, "k", 2)
        put(fake, "s-0", size=1)
        put_gated(fake, "g", 2)

    fake.put(paths.NODES, node("c"))
    async with scheduled(fake, jobs, decision_log=section, gang=GATED):
        await eventually(lambda: len(bound(fake)) == 9)
    log = await asyncio.to_thread(read_log, tmp_path)
    assert b'"kind":"burst"' in log
    assert labels.PLAN_SIZE.encode() in log
    settings = ExtenderSettings.model_validate(QUICK)
    parameters = core_parameters(settings, labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, parameters) == 0
