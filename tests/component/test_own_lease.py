"""For a kube-scheduler elsewhere: replicas that hold their own Lease, and lead it to themselves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from extender.writers.leadership import Leadership
from shared.kube import endpoints, lease_holding, paths
from shared.kube.client import KubeClient
from shared.kube.lease_holding import LeaseCandidate, LeaseTerms
from tests.component.shell import Extender, MiniScheduler, bound, extender, node, pod
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import SERVER_ERROR, Disconnect, LostAnswer

SYSTEM, LEASE, SERVICE = "shuntyard-system", "shuntyard-extender", "shuntyard-scheduler"
PATH = paths.lease(SYSTEM, LEASE)
LASTING = {"retry_seconds": 0.05, "renew_deadline_seconds": 60.0, "duration_seconds": 90.0}
SHORT = {"retry_seconds": 0.05, "renew_deadline_seconds": 0.7, "duration_seconds": 1.0}
TERMS = LeaseTerms(2, 10, 15)


def ship(fake: FakeKube) -> None:
    fake.put(paths.NAMESPACES, {"metadata": {"name": SYSTEM}})
    empty = {"addressType": "IPv4", "endpoints": [], "ports": []}
    fake.put(endpoints.SLICES, {"metadata": {"name": SERVICE, "namespace": SYSTEM}, **empty})


@contextlib.asynccontextmanager
async def replica(
    fake: FakeKube, name: str, address: str, terms: dict[str, float] = LASTING
) -> AsyncIterator[Extender]:
    sections = {
        "scheduler": {"identity": name},
        "lease": {"hold": True, "namespace": SYSTEM, "name": LEASE, **terms},
        "endpoint": {"service": SERVICE, "address": address, "port_name": "scheduler"},
    }
    async with extender(fake, **sections) as running:
        yield running


def spec(fake: FakeKube) -> dict[str, Any]:
    found = fake.object(paths.LEASES, LEASE, SYSTEM)
    return found["spec"] if found else {}


def holder(fake: FakeKube) -> str:
    return spec(fake).get("holderIdentity", "").rpartition("_")[0]


def led_to(fake: FakeKube) -> list[str]:
    found = fake.object(endpoints.SLICES, SERVICE, SYSTEM)
    return [address for one in found["endpoints"] for address in one["addresses"]]


def leadership(running: Extender) -> Leadership:
    return next(one for one in running.parts.loops if isinstance(one, Leadership))


@pytest.fixture
async def fake():
    async with FakeKube.running() as lent:
        ship(lent)
        yield lent


async def test_one_replica_leads_and_the_next_one_follows_at_once(fake: FakeKube) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with replica(fake, "a", "10.0.0.1"):
            await eventually(lambda: led_to(fake) == ["10.0.0.1"])
            second = await stack.enter_async_context(replica(fake, "b", "10.0.0.2"))
            assert (holder(fake), leadership(second).acting()) == ("a", False)
            held = spec(fake)
            await eventually(lambda: spec(fake)["renewTime"] > held["renewTime"])
            assert spec(fake)["acquireTime"] == held["acquireTime"]
        await eventually(lambda: led_to(fake) == ["10.0.0.2"])
        assert (holder(fake), spec(fake)["leaseTransitions"]) == ("b", 2)
    assert holder(fake) == ""


async def test_the_holder_of_the_lease_binds_pods(fake: FakeKube) -> None:
    fake.put(paths.NODES, node("a"))
    async with (
        replica(fake, "a", "10.0.0.1") as running,
        MiniScheduler(fake, running.scheduler_url).running(),
    ):
        fake.put(paths.PODS, pod("x", job="x", size=1))
        await eventually(lambda: bound(fake) == {"x": "a"})


async def test_a_standby_takes_over_when_a_dead_replicas_lease_expires(fake: FakeKube) -> None:
    async with (
        replica(fake, "a", "10.0.0.1", SHORT) as first,
        replica(fake, "b", "10.0.0.2", SHORT) as second,
    ):
        one, other = (first, second) if holder(fake) != "b" else (second, first)
        await eventually(lambda: leadership(one).acting() or leadership(other).acting())
        if leadership(other).acting():
            one, other = other, one
        await one.kill()
        assert holder(fake)  # the Lease was not released
        await eventually(lambda: leadership(other).acting())
        assert not leadership(one).acting()


async def test_without_an_api_server_it_stops_before_another_may_begin(fake: FakeKube) -> None:
    async with replica(fake, "a", "10.0.0.1", SHORT) as running:
        await eventually(lambda: led_to(fake) == ["10.0.0.1"])
        for _ in range(2000):
            fake.faults.order("get", PATH, SERVER_ERROR)
        acts = leadership(running)
        acted_after: list[float] = []

        def stopped() -> bool:
            at = acts.clock.monotonic()  # before the call: a pause between counts for us
            if acting := acts.acting():
                acted_after.append(at - acts.observer.held_from)  # type: ignore[union-attr]
            return not acting

        await eventually(stopped)
        assert max(acted_after, default=0.0) < 1.0
        assert led_to(fake) == ["10.0.0.1"]


async def test_a_standby_ends_the_connection_so_that_the_next_one_reaches_the_leader(
    fake: FakeKube,
) -> None:
    async with (
        replica(fake, "a", "10.0.0.1") as first,
        replica(fake, "b", "10.0.0.2") as second,
        aiohttp.ClientSession() as session,
    ):
        await eventually(lambda: leadership(first).acting() or leadership(second).acting())
        body = {"PodName": "x", "PodNamespace": "default", "PodUID": "u", "Node": "n"}
        for running in (first, second):
            acts = leadership(running).acting()
            async with session.post(f"{running.scheduler_url}/bind", json=body) as response:
                text = await response.text()
            assert ("is not the leader" in text) != acts
            assert (response.headers.get("Connection") == "close") != acts


async def test_an_emptied_slice_is_written_again(
    fake: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extender.writers.endpoint.CHECK_SECONDS", 0.1)
    async with replica(fake, "a", "10.0.0.1"):
        await eventually(lambda: led_to(fake) == ["10.0.0.1"])
        ship(fake)
        await eventually(lambda: led_to(fake) == ["10.0.0.1"])


async def test_a_slice_of_another_address_type_is_logged(
    fake: FakeKube, caplog: pytest.LogCaptureFixture
) -> None:
    async with replica(fake, "a", "fd00::1"):
        text = "its addressType is IPv4, ours IPv6"
        await eventually(lambda: [r for r in caplog.records if text in r.getMessage()])
    assert led_to(fake) == []


@pytest.fixture
async def client(fake: FakeKube):
    async with KubeClient.connect(fake.credentials) as lent:
        yield lent


async def test_one_of_two_replicas_creates_a_missing_lease(
    fake: FakeKube, client: KubeClient
) -> None:
    clock = FakeClock()
    both = [LeaseCandidate(name, TERMS) for name in "ab"]

    async def try_it(one: LeaseCandidate) -> None:
        with contextlib.suppress(lease_holding.ConflictError):
            await lease_holding._try(client, PATH, one, clock)

    async with asyncio.TaskGroup() as group:
        for one in both:
            group.create_task(try_it(one))
    assert [one.acting("", clock.monotonic()) for one in both].count(True) == 1


async def test_clocks_that_are_hours_apart_do_not_matter(
    fake: FakeKube, client: KubeClient
) -> None:
    here, there = FakeClock(epoch=1e9), FakeClock(epoch=1e9 + 7200)
    first, second = LeaseCandidate("a", TERMS), LeaseCandidate("b", TERMS)
    await lease_holding._try(client, PATH, first, here)
    for _ in range(9):
        await lease_holding._try(client, PATH, second, there)
        there.pass_by(2)
    assert spec(fake)["holderIdentity"] == "b"  # it watched for 15 s itself


@pytest.mark.parametrize("fault", [SERVER_ERROR, Disconnect(), LostAnswer()])
async def test_a_write_without_an_answer_does_not_extend_the_lease(
    fake: FakeKube, client: KubeClient, fault: Any
) -> None:
    clock, one = FakeClock(), LeaseCandidate("a", TERMS)
    fake.faults.order("create", paths.namespaced(paths.LEASES, SYSTEM), fault)
    with pytest.raises(lease_holding.ApiError):
        await lease_holding._try(client, PATH, one, clock)
    assert not one.acting("", clock.monotonic())
    await lease_holding._try(client, PATH, one, clock)
    assert one.acting("", clock.monotonic())
    clock.pass_by(9.9)
    assert one.acting("", clock.monotonic())
    clock.pass_by(0.2)
    assert not one.acting("", clock.monotonic())


async def test_the_lease_of_another_replica_is_not_released(
    fake: FakeKube, client: KubeClient
) -> None:
    clock = FakeClock()
    await lease_holding._try(client, PATH, LeaseCandidate("a", TERMS), clock)
    await lease_holding.release(client, PATH, LeaseCandidate("b", TERMS), clock)
    assert spec(fake)["holderIdentity"] == "a"
