"""A pod whose own cycle fails after a burst has bound the rest of its gang."""

import contextlib

import pytest

from extender.controllers.bursts import Bursts
from shared import labels
from shared.kube import paths
from shared.model import Delete, Pod
from shared.system_clock import SystemClock
from tests.component.cluster_life import ClusterLife
from tests.component.shell import MiniScheduler, bound, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

SIZE = 4


@pytest.fixture
async def fake():
    async with FakeKube.running() as server, lease(server):
        server.actions.now = SystemClock().now()
        for name in ("a", "b"):
            server.put(paths.NODES, node(name))
        yield server


@contextlib.asynccontextmanager
async def scheduled(fake, lost):
    """An extender, and a kube-scheduler in which another plugin refuses pods after filter."""
    async with extender(fake) as running:
        queue = next(loop for loop in running.parts.loops if hasattr(loop, "may_plan"))
        await eventually(lambda: queue.last is not None)
        scheduler = MiniScheduler(fake, running.scheduler_url)
        scheduler.lost = lost
        for i in range(SIZE):
            manifest = pod(f"j-{i}", job="j", size=SIZE)
            del manifest["spec"]["schedulingGates"]
            fake.put(paths.PODS, manifest)
        store = queue.context.recorder.store
        await eventually(lambda: len(store.snapshot().pods) == SIZE)
        async with scheduler.running():
            yield running


def uids(fake):
    return {found["metadata"]["uid"] for found in fake.objects(paths.PODS)}


async def test_a_pod_whose_first_cycle_fails_is_bound_in_the_next(fake):
    cycles = []

    def lost(name):
        cycles.append(name)
        return len(cycles) == 1

    async with scheduled(fake, lost):
        first = uids(fake)
        await eventually(lambda: len(bound(fake)) == SIZE)
        assert cycles == [cycles[0]] * 2  # the others were bound in the burst
        assert uids(fake) == first


async def test_a_gang_of_which_one_member_never_passes_is_dissolved(fake):
    never = set()

    def lost(name):
        never.update([name] if not never else [])
        return name in never

    placed = set()

    def is_dissolved():
        found = fake.objects(paths.PODS)
        placed.update(one["metadata"]["uid"] for one in found if one["spec"].get("nodeName"))
        return placed and not placed & uids(fake)

    async with scheduled(fake, lost), ClusterLife(fake).running():
        await eventually(is_dissolved)
    assert not any(name in bound(fake) for name in never)


async def test_a_member_deleted_as_a_burst_begins_ends_that_burst_alone(fake, monkeypatch):
    """Its deletion is observed after the decision, before the task that carries it out runs."""
    decide, deleted = Bursts._decide, []

    def decided(bursts, trigger):
        outcome = decide(bursts, trigger)
        if outcome.handed_out and not deleted:
            lost = outcome.handed_out[0]
            deleted.append(lost.pod)
            bursts.context.recorder.apply(Delete(Pod.__name__, lost.pod, lost.uid))
            fake.remove(paths.PODS, *reversed(lost.pod.split("/")))
        return outcome

    monkeypatch.setattr(Bursts, "_decide", decided)
    async with scheduled(fake, lambda _name: False):
        (name,) = await eventually(lambda: deleted)
        manifest = pod(name.partition("/")[2], job="j", size=SIZE)
        del manifest["spec"]["schedulingGates"]
        fake.put(paths.PODS, manifest)
        await eventually(lambda: len(bound(fake)) == SIZE)


async def test_another_extender_binds_the_pod_after_kube_scheduler_was_replaced(fake):
    """The burst has bound the others; then both processes end, and others lead."""
    async with scheduled(fake, lambda _name: True) as running:
        await eventually(lambda: len(bound(fake)) == SIZE - 1)
        first = uids(fake)
        await running.kill()
    async with extender(fake) as second:
        scheduler = MiniScheduler(fake, second.scheduler_url)
        async with scheduler.running():
            await eventually(lambda: len(bound(fake)) == SIZE)
    assert uids(fake) == first
    notes = [found["metadata"]["annotations"] for found in fake.objects(paths.PODS)]
    assert len({one[labels.PLAN] for one in notes}) == 1
