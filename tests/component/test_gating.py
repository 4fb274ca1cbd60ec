"""The extender writes for the admission policy whether new pods get the gate."""

import pytest

from extender.core.gating.decision import KEY
from extender.writers.gate_config import READ_SECONDS, GateConfig
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock
from tests.component.shell import NAMESPACE, MiniScheduler, bound, extender, pod
from tests.fakes import kube_faults
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")

NAME = "shuntyard-gate"
PATH = paths.namespaced(paths.CONFIG_MAPS, NAMESPACE, NAME)
GATING = {"gating": {"config_map": NAME, "quiet_seconds": 0.2, "interval_seconds": 0.05}}
TOO_MANY = 9
"""Pods of 1 CPU; the node has 4."""


def install(fake: FakeKube, **data: str) -> None:
    fake.put(paths.CONFIG_MAPS, {"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": data})


def kept(fake: FakeKube) -> str | None:
    found = fake.object(paths.CONFIG_MAPS, NAME, NAMESPACE)
    return None if found is None else found["data"].get(KEY)


def put(fake: FakeKube, job: str, size: int, members: range, *, gates: bool = True) -> None:
    for index in members:
        manifest = pod(f"{job}-{index}", job=job, size=size)
        if not gates:
            del manifest["spec"]["schedulingGates"]
        fake.put(paths.PODS, manifest)


async def test_new_pods_are_gated_from_the_first_job_without_room_to_its_end(
    fake: FakeKube,
) -> None:
    install(fake)
    async with extender(fake, **GATING):
        await eventually(lambda: kept(fake) == "false")
        put(fake, "wide", TOO_MANY, range(TOO_MANY))
        await eventually(lambda: kept(fake) == "true")
        for index in range(TOO_MANY):
            fake.remove(paths.PODS, f"wide-{index}", "default")
        await eventually(lambda: kept(fake) == "false")


async def test_new_pods_stay_gated_where_the_setting_says_so(fake: FakeKube) -> None:
    install(fake, **{KEY: "false"})
    async with extender(fake, gating={**GATING["gating"], "when": "always"}):
        await eventually(lambda: kept(fake) == "true")


FIRST_PART: dict[str, tuple[bool, int, bool]] = {
    f"{count} of 4 pods {'with' if gates else 'without'} the gate, {when} kube-scheduler asks": (
        gates,
        count,
        at_once,
    )
    for gates in (True, False)
    for count in (1, 3)
    for at_once, when in ((True, "all before"), (False, "the others after"))
}


@pytest.mark.parametrize(("gates", "count", "at_once"), FIRST_PART.values(), ids=FIRST_PART)
async def test_a_gang_that_is_gated_in_part_is_bound_whole(
    fake: FakeKube, gates: bool, count: int, at_once: bool
) -> None:
    """The gate came or went while its owner made its pods."""
    fake.actions.now = SystemClock().now()  # the pods are new
    async with extender(fake) as running:
        scheduler = MiniScheduler(fake, running.scheduler_url)
        put(fake, "it", 4, range(count), gates=gates)
        if at_once:
            put(fake, "it", 4, range(count, 4), gates=not gates)
        async with scheduler.running():
            if not at_once:
                await eventually(lambda: gates or scheduler.asked)
                assert bound(fake) == {}
                put(fake, "it", 4, range(count, 4), gates=not gates)
            await eventually(lambda: len(bound(fake)) == 4)
    assert all(not p["spec"].get("schedulingGates") for p in fake.objects(paths.PODS))


async def test_without_the_config_map_nothing_is_written(fake: FakeKube) -> None:
    async with extender(fake, **GATING):
        await eventually(lambda: "get" in fake.verbs("configmaps"))
    assert set(fake.verbs("configmaps")) == {"get"}


async def test_a_change_by_others_is_read_before_the_next_write(
    fake: FakeKube, client: KubeClient
) -> None:
    install(fake)
    clock = FakeClock()
    config = GateConfig(client, PATH, clock)
    await config.read()
    install(fake, other="x")
    await config.write(gated=False)
    assert (config.gated, kept(fake)) == (None, None), "it has another version"
    await config.read()
    await config.write(gated=False)
    assert (config.gated, kept(fake)) == (False, "false")


async def test_a_refusal_is_logged_once_and_it_is_read_again(
    fake: FakeKube, client: KubeClient, caplog: pytest.LogCaptureFixture
) -> None:
    install(fake)
    clock = FakeClock()
    config = GateConfig(client, PATH, clock)
    fake.faults.order("get", PATH, kube_faults.SERVER_ERROR, kube_faults.SERVER_ERROR)
    for _ in range(3):
        await config.read()
        await config.read()
        clock.pass_by(READ_SECONDS)
    assert config.gated
    assert len(caplog.records) == 1
    assert "whether new pods get the gate" in caplog.text
