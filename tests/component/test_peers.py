"""The leader is looked up once for many callers, also while the API server does not answer."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from extender.servers.readapi import peers
from extender.servers.readapi.peers import Peers
from shared.kube import endpoints, paths
from shared.kube.client import KubeClient
from tests.fakes.clock import FakeClock
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import SERVER_ERROR

SYSTEM, SERVICE = "shuntyard-system", "shuntyard-extender"
PATH = paths.namespaced(endpoints.SLICES, SYSTEM)
FOUND = ("10.0.0.1", 8443)
CALLERS = 20


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server:
        labels = {endpoints.SERVICE_LABEL: SERVICE}
        metadata = {"name": SERVICE, "namespace": SYSTEM, "labels": labels}
        one = {"addresses": [FOUND[0]], "targetRef": {"name": "host-a"}}
        ports = [{"name": "api", "port": FOUND[1]}]
        server.put(endpoints.SLICES, {"metadata": metadata, "endpoints": [one], "ports": ports})
        yield server


@pytest.fixture
async def looked_for(fake: FakeKube) -> AsyncIterator[tuple[Peers, FakeClock]]:
    clock = FakeClock()
    async with KubeClient.connect(fake.credentials) as client:
        yield Peers(client, clock, SYSTEM, SERVICE, "api", lambda: "host-a_1"), clock


async def all_ask(asked: Peers) -> set[tuple[str, int] | None]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(asked.acting()) for _ in range(CALLERS)]
    return {task.result() for task in tasks}


async def test_the_api_server_is_read_once(
    fake: FakeKube, looked_for: tuple[Peers, FakeClock]
) -> None:
    asked, clock = looked_for
    assert await all_ask(asked) == {FOUND}
    assert len(fake.verbs("endpointslices")) == 1
    clock.pass_by(peers.KEPT_SECONDS)
    assert await all_ask(asked) == {FOUND}
    assert len(fake.verbs("endpointslices")) == 2


async def test_a_failed_lookup_is_cached_for_a_short_while(
    fake: FakeKube, looked_for: tuple[Peers, FakeClock]
) -> None:
    asked, clock = looked_for
    fake.faults.order("list", PATH, SERVER_ERROR)
    assert await all_ask(asked) == {None}
    clock.pass_by(peers.FAILED_SECONDS - 0.1)
    assert await all_ask(asked) == {None}
    assert len(fake.verbs("endpointslices")) == 1
    clock.pass_by(0.1)
    assert await all_ask(asked) == {FOUND}
    assert len(fake.verbs("endpointslices")) == 2
