"""A call reaches a replica that has not read yet that it leads: it reads the Lease at once.

The Lease is read once and then not for an hour, so a replica learns of a change only by calls.
"""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from extender.controllers.observe.observer import Observer
from extender.core.scheduler.binding import STANDBY
from extender.writers.leadership import Leadership
from shared.kube import lease, paths
from tests.component.shell import IDENTITY, Extender, extender, node
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

OTHER = "host-b"
PATIENCE_SECONDS = 60.0
CALLS = 30
BIND = {"PodName": "x", "PodNamespace": "default", "PodUID": "u", "Node": "a"}
FILTER = {"Pod": {"metadata": {"name": "x"}}, "NodeNames": ["a"]}


@pytest.fixture
async def fake(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeKube]:
    monkeypatch.setattr(lease, "POLL_SECONDS", 3600.0)
    monkeypatch.setattr(lease, "AT_ONCE_SECONDS", PATIENCE_SECONDS)
    async with FakeKube.running() as server:
        server.put(paths.NODES, node("a"))
        yield server


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


def renew(fake: FakeKube, holder: str, renew_time: str) -> None:
    spec = {"holderIdentity": f"{holder}_1", "leaseDurationSeconds": 15, "renewTime": renew_time}
    metadata = {"name": "shuntyard", "namespace": "kube-system"}
    fake.put(paths.LEASES, {"metadata": metadata, "spec": spec})


def readings(fake: FakeKube) -> int:
    return fake.verbs("leases").count("get")


def leadership(running: Extender) -> Leadership:
    return next(one for one in running.parts.loops if isinstance(one, Leadership))


async def until_ready(running: Extender) -> None:
    """Wait until it has the cluster's objects, and has read the Lease once."""
    observer = next(one for one in running.parts.loops if isinstance(one, Observer))
    read = leadership(running).observer
    await eventually(lambda: observer.synced and read.read_at is not None, PATIENCE_SECONDS)


async def stands_by(session: aiohttp.ClientSession, running: Extender, verb: str = "bind") -> bool:
    """Call, and return True if that was refused because this replica does not lead."""
    body = BIND if verb == "bind" else FILTER
    async with session.post(f"{running.scheduler_url}/{verb}", json=body) as response:
        return bool((await response.json()).get("Error") == STANDBY.text)


@pytest.mark.parametrize("verb", ["filter", "bind"])
async def test_the_new_leader_answers_the_first_call(
    fake: FakeKube, session: aiohttp.ClientSession, verb: str
) -> None:
    renew(fake, OTHER, "t1")
    async with extender(fake) as running:
        await until_ready(running)
        assert await stands_by(session, running, verb)
        renew(fake, IDENTITY, "t2")
        assert not await stands_by(session, running, verb)
        asked = readings(fake)
        assert not await stands_by(session, running, verb)
        assert readings(fake) == asked, "who acts reads no more often for it"


async def test_a_call_alone_makes_no_replica_lead(
    fake: FakeKube, session: aiohttp.ClientSession
) -> None:
    """Not while another one leads, nor by a Lease that may have expired long ago."""
    async with extender(fake) as running:
        await until_ready(running)
        assert await stands_by(session, running), "there is no Lease"
        renew(fake, IDENTITY, "t1")
        assert await stands_by(session, running), "that renewal may be of any age"
        assert await stands_by(session, running), "it is still the same"
        renew(fake, OTHER, "t2")
        assert await stands_by(session, running), "another one leads"
        renew(fake, IDENTITY, "t3")
        assert not await stands_by(session, running)


async def test_a_replica_that_has_not_listed_the_cluster_does_not_lead(
    fake: FakeKube, session: aiohttp.ClientSession
) -> None:
    held = kube_faults.Slow()
    fake.faults.order("list", paths.PODS, held)
    renew(fake, OTHER, "t1")
    async with extender(fake) as running:
        await eventually(lambda: leadership(running).observer.read_at is not None)
        asked = readings(fake)
        renew(fake, IDENTITY, "t2")
        assert await stands_by(session, running)
        assert readings(fake) == asked
        held.gate.set()
        await until_ready(running)
        assert not await stands_by(session, running)


async def test_many_calls_share_one_reading(fake: FakeKube, session: aiohttp.ClientSession) -> None:
    """Calls that come during a reading share the next one."""
    renew(fake, OTHER, "t1")
    async with extender(fake) as running:
        await until_ready(running)
        asked, held = readings(fake), kube_faults.Slow()
        fake.faults.order("get", "*/leases/shuntyard", held)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(stands_by(session, running))
            await eventually(lambda: fake.faults.left == 0)
            renew(fake, IDENTITY, "t2")
            late = [group.create_task(stands_by(session, running)) for _ in range(CALLS)]
            waiting = running.parts.listeners[0].connections
            await eventually(lambda: len(waiting) > CALLS)
            held.gate.set()
        assert not any(task.result() for task in late)
        assert first.done()
        assert readings(fake) - asked <= 2


async def test_readings_for_calls_have_a_pause_between_them(
    fake: FakeKube, session: aiohttp.ClientSession
) -> None:
    renew(fake, OTHER, "t1")
    async with extender(fake) as running:
        await until_ready(running)
        asked, begun = readings(fake), asyncio.get_running_loop().time()
        for _ in range(8):
            assert await stands_by(session, running)
        took_seconds = asyncio.get_running_loop().time() - begun
        assert readings(fake) - asked <= took_seconds / lease.LEAST_SECONDS + 2


async def test_an_api_server_that_is_silent_keeps_no_call_waiting(
    fake: FakeKube, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "AT_ONCE_SECONDS", 0.1)
    renew(fake, OTHER, "t1")
    async with extender(fake) as running:
        await until_ready(running)
        held = kube_faults.Slow()
        fake.faults.order("get", "*/leases/shuntyard", held)
        renew(fake, IDENTITY, "t2")
        async with asyncio.timeout(lease.READ_SECONDS - 1):
            assert await stands_by(session, running)
        held.gate.set()
        await eventually(leadership(running).acting, PATIENCE_SECONDS)
