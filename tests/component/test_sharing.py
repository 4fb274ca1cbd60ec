"""A namespace's limit through every part of the extender, with the gate and without."""

import asyncio

import pytest

from extender.app import replay
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from shared.system_clock import SystemClock
from tests.component.shell import QUICK, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

SHARED = {"fair_share": True}


@pytest.fixture
async def fake():
    async with FakeKube.running() as server, lease(server):
        server.actions.now = SystemClock().now()
        server.put(paths.NODES, node("a", cpu="8"))
        notes = {labels.BORROWING_LIMIT: "0.25"}
        server.put(paths.NAMESPACES, {"metadata": {"name": "default", "annotations": notes}})
        yield server


def put(fake, job, size, *, gated):
    for i in range(size):
        manifest = pod(f"{job}-{i}", job=job, size=size)
        if not gated:
            del manifest["spec"]["schedulingGates"]
        fake.put(paths.PODS, manifest)


@pytest.mark.parametrize("gated", [True, False], ids=["behind the gate", "without it"])
async def test_gangs_start_as_far_as_the_limit_allows_and_the_next_when_it_grows(
    fake, tmp_path, gated
):
    section = {"directory": tmp_path}
    async with (
        extender(fake, tenancy=SHARED, decision_log=section) as running,
        MiniScheduler(fake, running.scheduler_url).running(),
    ):
        put(fake, "first", 2, gated=gated)
        await eventually(lambda: len(bound(fake)) == 2)
        put(fake, "second", 2, gated=gated)
        schedule = next(loop for loop in running.parts.loops if hasattr(loop, "may_plan"))
        await eventually(lambda: _waits(schedule) == {"second": "WaitingForQuota"})
        assert set(bound(fake)) == {"first-0", "first-1"}
        fake.put(paths.NODES, node("b", cpu="8"))
        await eventually(lambda: len(bound(fake)) == 4)
    settings = ExtenderSettings.model_validate({**QUICK, "tenancy": SHARED})
    params = core_parameters(settings, labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, params) == 0


async def test_a_single_pod_without_the_gate_is_refused_while_its_namespace_is_at_the_limit(fake):
    async with (
        extender(fake, tenancy=SHARED) as running,
        MiniScheduler(fake, running.scheduler_url).running() as scheduler,
    ):
        put(fake, "first", 2, gated=True)
        await eventually(lambda: len(bound(fake)) == 2)
        manifest = pod("single")
        del manifest["spec"]["schedulingGates"]
        fake.put(paths.PODS, manifest)
        await eventually(lambda: "single" in scheduler.refused)
        assert "single" not in bound(fake)
        fake.put(paths.NODES, node("b", cpu="8"))
        await eventually(lambda: "single" in bound(fake))


def _waits(schedule):
    entries = schedule.last.entries if schedule.last else ()
    return {entry.job.name: str(entry.reason) for entry in entries}
