"""A gang that the nodes could not hold loses its gate, is shown to autoscalers, starts whole."""

import asyncio

import pytest

from extender.app import replay
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from tests.component.shell import QUICK, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

SHOWN = {"show_unplaceable_seconds": 0.0}
SIZE = 9

FAULTS = {
    "nothing": None,
    "the answer is lost": kube_faults.LostAnswer(),
    "the connection ends before": kube_faults.Disconnect(),
    "the server stumbles": kube_faults.SERVER_ERROR,
    "another client was quicker": kube_faults.CONFLICT,
}


def gates(fake):
    return [found["spec"].get("schedulingGates") for found in fake.objects(paths.PODS)]


def put(fake):
    for name in ("a", "b"):
        fake.put(paths.NODES, node(name))
    for i in range(SIZE):
        fake.put(paths.PODS, pod(f"j-{i}", job="j", size=SIZE))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_nodes_are_requested_for_every_pod_and_then_all_are_bound(fake_and_log, fault):
    fake, log = fake_and_log
    put(fake)
    if fault is not None:
        fake.faults.order("patch", "*/pods/j-2", fault)
    section = {"directory": log}
    async with (
        extender(fake, gang=SHOWN, decision_log=section) as running,
        MiniScheduler(fake, running.scheduler_url).running() as scheduler,
    ):
        await eventually(lambda: len(scheduler.refused) == SIZE)
        assert not any(gates(fake))
        assert bound(fake) == {}
        fake.put(paths.NODES, node("c"))
        await eventually(lambda: len(bound(fake)) == SIZE)
    assert fake.faults.left == 0
    settings = ExtenderSettings.model_validate({**QUICK, "gang": {**QUICK["gang"], **SHOWN}})
    params = core_parameters(settings, labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, log, params) == 0


@pytest.fixture
async def fake_and_log(tmp_path):
    async with FakeKube.running() as fake, lease(fake):
        yield fake, tmp_path
