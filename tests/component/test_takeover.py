"""Two extenders over one API server: a former leader writes nothing more, the new one continues."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from extender.controllers.observe.observer import Observer
from extender.servers.scheduler.barrier import BindBarrier
from extender.writers.leadership import Leadership
from shared.kube import paths
from shared.kube.client import KubeClient
from tests.component.shell import Extender, MiniScheduler, bound, extender, lease, node, pod
from tests.controlplane.watching import bound_twice, recording
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

SIZE = 4
PATIENCE_SECONDS = 60.0
FIRST, SECOND = "host-a", "host-b"
ONE_BY_ONE = {"bind_parallelism": 1, "bind_wait_seconds": 30.0, "bind_burst_seconds": 30.0}


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server:
        server.put(paths.NODES, node("a"))
        yield server


@contextlib.asynccontextmanager
async def replica(fake: FakeKube, identity: str, **gang: float) -> AsyncIterator[Extender]:
    scheduler = {"identity": identity}
    async with extender(fake, gang={**ONE_BY_ONE, **gang}, scheduler=scheduler) as running:
        yield running


@pytest.mark.parametrize(("gated", "hold"), [(True, 0.0), (True, 0.8), (False, 0.8)])
async def test_the_new_leader_completes_the_gang(
    fake: FakeKube, *, gated: bool, hold: float
) -> None:
    """As after a freeze: queued Bindings are not posted any more, of the barrier or of a burst."""
    held = kube_faults.Slow()
    fake.faults.order("create", "*/pods/j-?/binding", held)
    async with (
        KubeClient.connect(fake.credentials) as client,
        recording(client) as history,
        replica(fake, FIRST, burst_hold_seconds=hold, burst_gated=True) as first,
        replica(fake, SECOND, burst_hold_seconds=hold, burst_gated=True) as second,
        MiniScheduler(fake, first.scheduler_url).running() as scheduler,
    ):
        async with lease(fake, FIRST):
            for i in range(SIZE):
                fake.put(paths.PODS, member(f"j-{i}", gated=gated))
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        async with lease(fake, SECOND):
            await eventually(lambda: acts(second) and not acts(first), PATIENCE_SECONDS)
            held.gate.set()
            if hold:
                await eventually(lambda: bound_by_burst(first) > 0, PATIENCE_SECONDS)
            await eventually(lambda: not barrier(first).waiting(), PATIENCE_SECONDS)
            assert len(bound(fake)) == 1
            scheduler.url = second.scheduler_url
            await eventually(lambda: len(bound(fake)) == SIZE, PATIENCE_SECONDS)
        await history.caught_up(client)
        assert bound_twice(history) == ()


async def test_after_a_long_silence_a_replica_lists_everything_before_it_leads(
    fake: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watches of a replica that was cut off look alive, and may bring no changes any more."""
    monkeypatch.setattr("extender.writers.leadership.TOUCH_SECONDS", 2.0)
    async with lease(fake, FIRST), replica(fake, FIRST) as first:
        await eventually(lambda: acts(first), PATIENCE_SECONDS)
        listed = fake.verbs("pods").count("list")
        silence = kube_faults.Slow()
        fake.faults.order("get", "*/leases/shuntyard", silence)
        held = kube_faults.Slow()
        fake.faults.order("list", paths.PODS, held)
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
        silence.gate.set()
        await eventually(lambda: acts(first), PATIENCE_SECONDS)
        assert not knows(first)
        held.gate.set()
        await eventually(lambda: knows(first), PATIENCE_SECONDS)
        assert fake.verbs("pods").count("list") > listed  # once, but a machine may stand still


def member(name: str, *, gated: bool) -> dict[str, Any]:
    manifest = pod(name, job="j", size=SIZE)
    if not gated:
        del manifest["spec"]["schedulingGates"]
    return manifest


def bound_by_burst(one: Extender) -> float:
    (family,) = barrier(one).metrics.bursts.pods.collect()
    return family.samples[0].value


def knows(one: Extender) -> bool:
    (observer,) = (loop for loop in one.parts.loops if isinstance(loop, Observer))
    return observer.synced


def acts(one: Extender) -> bool:
    (leadership,) = (loop for loop in one.parts.loops if isinstance(loop, Leadership))
    return leadership.acting()


def barrier(one: Extender) -> BindBarrier:
    (found,) = (loop for loop in one.parts.loops if isinstance(loop, BindBarrier))
    return found
