"""Gangs without our gate, through every part of the extender, over the fake API server."""

import asyncio
import contextlib

import aiohttp
import pytest

from extender.app import replay
from extender.core.scheduler import filtering
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from shared.system_clock import SystemClock
from tests.component.cluster_life import ClusterLife
from tests.component.shell import (
    QUICK,
    MiniScheduler,
    bound,
    extender,
    lease,
    node,
    pod,
)
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

SIZE = 4


@pytest.fixture
async def fake():
    async with FakeKube.running() as server, lease(server):
        server.actions.now = SystemClock().now()  # an old pod that was not asked about is queued
        for name in ("a", "b"):
            server.put(paths.NODES, node(name))
        yield server


@contextlib.asynccontextmanager
async def scheduled(fake, **changes):
    """An extender that has run a pass over the empty queue, and a kube-scheduler that calls it."""
    async with extender(fake, **changes) as running:
        schedule = next(loop for loop in running.parts.loops if hasattr(loop, "may_plan"))
        await eventually(lambda: schedule.last is not None)
        scheduler = MiniScheduler(fake, running.scheduler_url)
        async with scheduler.running():
            yield running, scheduler


def put_direct(fake, job="j", size=SIZE, members=None):
    for i in range(size if members is None else members):
        manifest = pod(f"{job}-{i}", job=job, size=size)
        del manifest["spec"]["schedulingGates"]
        fake.put(paths.PODS, manifest)


def names(fake, job):
    return {name for name in bound(fake) if name.startswith(f"{job}-")}


def notes(fake, name):
    return fake.object(paths.PODS, name, "default")["metadata"].get("annotations", {})


async def test_a_direct_gang_costs_one_write_a_pod_with_its_node(fake):
    async with scheduled(fake):
        put_direct(fake)
        await eventually(lambda: len(bound(fake)) == SIZE)
    assert "patch" not in fake.verbs("pods")
    assert set(bound(fake).values()) == {"a"}
    for i in range(SIZE):
        found = notes(fake, f"j-{i}")
        assert (found[labels.NODE], found[labels.PLAN_SIZE]) == ("a", str(SIZE))
        assert found[labels.DIRECT] == "true"
        assert labels.DECISION in found
    assert len({notes(fake, f"j-{i}")[labels.PLAN] for i in range(SIZE)}) == 1


async def test_members_that_come_one_by_one_are_never_refused(fake):
    async with scheduled(fake) as (_, scheduler):
        for count in range(1, SIZE + 1):
            put_direct(fake, members=count)
            await asyncio.sleep(0)
            assert count == SIZE or bound(fake) == {}
            await eventually(lambda: len(scheduler.asked) >= len(fake.objects(paths.PODS)))
        await eventually(lambda: len(bound(fake)) == SIZE)
    assert scheduler.refused == set()


async def test_two_direct_gangs_that_do_not_fit_together_run_one_after_the_other(fake):
    async with scheduled(fake) as (_, scheduler):
        put_direct(fake, "one", 5)
        await eventually(lambda: len(names(fake, "one")) == 5)
        put_direct(fake, "two", 5)
        await eventually(lambda: len(scheduler.refused) == 5)
        assert names(fake, "two") == set()
        for name in sorted(names(fake, "one")):
            fake.remove(paths.PODS, name, "default")
        await eventually(lambda: len(names(fake, "two")) == 5)
    assert "patch" in fake.verbs("pods")  # the write that woke them
    assert notes(fake, "two-0")[labels.DIRECT] == "true"


async def test_no_status_of_a_direct_pod_is_written_while_it_waits(fake):
    async with scheduled(fake) as (_, scheduler):
        put_direct(fake, "wide", 9)
        await eventually(lambda: fake.objects(paths.EVENTS))
        await eventually(lambda: len(scheduler.refused) == 9)
    assert fake.verbs("pods") == ["list", "watch"]


async def test_reservations_of_members_that_never_come_are_released(fake):
    gang = {"direct_wait_seconds": 1.0, "bind_wait_seconds": 30.0}
    async with scheduled(fake, gang=gang) as (_, scheduler):
        put_direct(fake, "one", 8, members=7)
        await eventually(lambda: len(scheduler.asked) == 7)
        put_direct(fake, "two", 5)
        await eventually(lambda: len(names(fake, "two")) == 5)
        assert names(fake, "one") == set()


async def test_a_direct_gang_does_not_overtake_a_queued_one_that_waits_for_room(fake):
    async with scheduled(fake):
        put_direct(fake, "runs", 4)
        await eventually(lambda: len(names(fake, "runs")) == 4)
        for i in range(6):
            fake.put(paths.PODS, pod(f"wide-{i}", job="wide", size=6))
        await eventually(lambda: "Queue" in {e["action"] for e in fake.objects(paths.EVENTS)})
        put_direct(fake, "narrow", 2)
        await eventually(lambda: len(names(fake, "narrow")) == 2)  # the queue backfills it
    assert notes(fake, "narrow-0")[labels.PLAN_SIZE] == "2"
    assert "patch" in fake.verbs("pods")


async def test_gated_and_direct_members_of_one_gang_are_planned_together(fake):
    async with scheduled(fake):
        put_direct(fake, members=2)
        for i in (2, 3):
            fake.put(paths.PODS, pod(f"j-{i}", job="j", size=SIZE))
        await eventually(lambda: len(bound(fake)) == SIZE)
    assert len({notes(fake, f"j-{i}")[labels.PLAN] for i in range(SIZE)}) == 1


@pytest.mark.parametrize("k", range(1, SIZE + 1))
async def test_a_direct_gang_is_bound_whole_wherever_the_extender_is_killed_in_its_burst(fake, k):
    gang = {"bind_parallelism": 1, "bind_wait_seconds": 30.0}
    held = kube_faults.Slow()
    async with scheduled(fake, gang=gang) as (first, scheduler):
        fake.faults.order("create", "*/binding", *[Undisturbed()] * (k - 1), held)
        put_direct(fake)
        await eventually(lambda: fake.faults.left == 0)
        assert len(bound(fake)) == k - 1
        await first.kill()
        async with extender(fake, gang=gang) as second:
            scheduler.url = second.scheduler_url
            await eventually(lambda: len(bound(fake)) == SIZE)


class Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


async def test_a_broken_burst_is_found_partial_after_a_restart_and_dissolved(fake):
    """Two are bound, the room of the others is taken during the outage: no gang stays partial."""
    gang = {"bind_parallelism": 1, "bind_wait_seconds": 30.0}
    held = kube_faults.Slow()
    async with scheduled(fake, gang=gang) as (first, scheduler):
        fake.faults.order("create", "*/binding", *[Undisturbed()] * 2, held)
        put_direct(fake)
        await eventually(lambda: fake.faults.left == 0)
        await first.kill()
        for name, cpu in (("a", "2"), ("b", "4")):
            fake.put(paths.PODS, foreign(name, cpu))
        async with extender(fake, gang=gang) as second, ClusterLife(fake).running():
            scheduler.url = second.scheduler_url
            await eventually(lambda: names(fake, "j") == set())


def foreign(node_name, cpu):
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"nodeName": node_name, "schedulerName": "default-scheduler", "containers": containers}
    metadata = {"name": f"foreign-{node_name}", "namespace": "default"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


async def test_a_lost_planned_node_is_replaced_by_any_other(fake):
    fake.remove(paths.NODES, "b")
    gang = {"bind_wait_seconds": 30.0, "direct_wait_seconds": 30.0}
    async with scheduled(fake, gang=gang) as (_, scheduler):
        put_direct(fake, members=SIZE - 1)
        await eventually(lambda: len(scheduler.asked) == SIZE - 1)
        fake.put(paths.NODES, node("late"))
        fake.remove(paths.NODES, "a")
        await eventually(lambda: notes(fake, "j-0").get(labels.NODE) == "late")
        put_direct(fake)
        await eventually(lambda: len(bound(fake)) == SIZE)
    assert set(bound(fake).values()) == {"late"}


async def test_a_member_of_an_in_tree_gang_is_bound_without_waiting_for_the_others(fake):
    async with scheduled(fake):
        manifest = pod("m", job="j", size=SIZE, schedulingGroup={"podGroupName": "g"})
        del manifest["spec"]["schedulingGates"]
        fake.put(paths.PODS, manifest)
        await eventually(lambda: set(bound(fake)) == {"m"})
    assert labels.PLAN not in notes(fake, "m")


async def test_a_pod_that_only_kube_scheduler_has_seen_gets_its_reservation(fake):
    fake.put(paths.PODS, foreign("b", "1"))
    async with extender(fake) as running:
        schedule = next(loop for loop in running.parts.loops if hasattr(loop, "may_plan"))
        await eventually(lambda: schedule.last is not None)
        unseen = pod("j-0", job="j", size=2)
        del unseen["spec"]["schedulingGates"]
        unseen["metadata"] |= {"uid": "u", "resourceVersion": "999999"}
        body = {"Pod": unseen, "NodeNames": ["a", "b"]}
        assert (await _filter(running, body))["NodeNames"] == ["b"]
        unseen["metadata"] |= {"uid": "gone", "resourceVersion": "1"}  # older than the whole store
        unseen["metadata"]["name"] = "j-1"
        refused = (await _filter(running, body))["FailedAndUnresolvableNodes"]
        assert refused == dict.fromkeys(["a", "b"], filtering.NO_RESERVATIONS)


async def _filter(running, body):
    url = f"{running.scheduler_url}/filter"
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        return await response.json()


async def test_decisions_about_direct_gangs_replay(fake, tmp_path, capsys):
    log = {"directory": tmp_path, "segment_bytes": 2**16}
    gang = {"direct_wait_seconds": 1.0}
    async with scheduled(fake, decision_log=log, gang=gang) as (_, scheduler):
        put_direct(fake, "one", 5)
        await eventually(lambda: len(names(fake, "one")) == 5)
        put_direct(fake, "two", 5)
        await eventually(lambda: len(scheduler.refused) == 5)
        for name in sorted(names(fake, "one")):
            fake.remove(paths.PODS, name, "default")
        await eventually(lambda: len(names(fake, "two")) == 5)
        put_direct(fake, "late", 3, members=1)
        await eventually(lambda: "late-0" in scheduler.refused)
    sections = {**QUICK, "gang": {**QUICK["gang"], **gang}}
    params = core_parameters(ExtenderSettings.model_validate(sections), labels.SCHEDULER_NAME)
    code = await asyncio.to_thread(replay.run, tmp_path, params)
    assert code == 0, capsys.readouterr().out
