"""A standby forwards reads to the leader, once and with everything that belongs to the request."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from extender.servers.readapi import forwarding
from extender.servers.readapi.forwarding import Forwarding, LeaderAddress
from shared.kube import endpoints, paths
from shared.kube.client import KubeClient
from shared.readapi.answer import FORWARDED
from tests.fakes.clock import FakeClock
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import SERVER_ERROR

Client = TestClient[web.Request, web.Application]
Connect = Callable[[web.Application], Awaitable[Client]]
Serve = Callable[[web.Application], Awaitable[TestServer]]
Address = tuple[str, int] | None

CLOSED = ("127.0.0.1", 1)
"""No program listens there: the port of a service that is long out of use."""


SYSTEM, SERVICE = "shuntyard-system", "shuntyard-extender"
SLICES = paths.namespaced(endpoints.SLICES, SYSTEM)
ADDRESS = ("10.0.0.1", 8443)
CALLERS = 20


@dataclass
class Leader:
    """The requests to the leader, and the status and headers of its answers."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str, str, bytes, str | None]] = field(default_factory=list)


def leader_app(leader: Leader) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        owner, forwarded = request.headers.get("Authorization"), request.headers.get(FORWARDED)
        assert forwarded
        body = await request.read()
        leader.requests.append((request.method, request.path, request.query_string, body, owner))
        return web.json_response({"by": "leader"}, status=leader.status, headers=leader.headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    return app


def standby_app(where: Callable[[], Address], *, leads: bool = False) -> web.Application:
    async def find_leader() -> Address:
        return where()

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"by": "standby", "body": (await request.read()).decode()})

    forward = Forwarding(lambda: leads, find_leader)
    app = web.Application(middlewares=[forward.middleware])
    forward.install(app)
    app.router.add_route("*", "/{path:.*}", answer)
    return app


@pytest.fixture
def leader() -> Leader:
    return Leader()


@pytest.fixture
async def address(aiohttp_server: Serve, leader: Leader) -> Address:
    server = await aiohttp_server(leader_app(leader))
    assert server.port is not None
    return server.host, server.port


async def test_a_request_is_forwarded_as_it_came(
    aiohttp_client: Connect, address: Address, leader: Leader
) -> None:
    standby = await aiohttp_client(standby_app(lambda: address))
    headers = {"Authorization": "Bearer t", "Cookie": "c=1"}
    answer = await standby.post("/v1/what-if?namespace=a%26b", data=b"kind: Job", headers=headers)
    assert await answer.json() == {"by": "leader"}
    assert leader.requests == [("POST", "/v1/what-if", "namespace=a%26b", b"kind: Job", "Bearer t")]


async def test_a_refusal_of_the_leader_is_passed_on(
    aiohttp_client: Connect, address: Address, leader: Leader
) -> None:
    leader.status = 403
    standby = await aiohttp_client(standby_app(lambda: address))
    assert (await standby.get("/v1/queue")).status == 403


async def test_retry_after_of_the_leader_is_passed_on(
    aiohttp_client: Connect, address: Address, leader: Leader
) -> None:
    leader.status, leader.headers = 429, {"Retry-After": "7", "Server": "leader"}
    standby = await aiohttp_client(standby_app(lambda: address))
    answer = await standby.get("/v1/queue")
    assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
    assert answer.headers["Server"] != "leader"


OWN: dict[str, tuple[str, dict[str, str], bool]] = {
    "a probe": ("/livez", {}, False),
    "metrics": ("/metrics", {}, False),
    "a forwarded request": ("/v1/queue", {FORWARDED: "true"}, False),
    "everything, while it leads": ("/v1/queue", {}, True),
}


@pytest.mark.parametrize(("path", "headers", "leads"), OWN.values(), ids=OWN)
async def test_a_standby_answers_itself(
    aiohttp_client: Connect,
    address: Address,
    leader: Leader,
    path: str,
    headers: dict[str, str],
    leads: bool,
) -> None:
    standby = await aiohttp_client(standby_app(lambda: address, leads=leads))
    answer = await standby.get(path, headers=headers)
    assert (await answer.json())["by"] == "standby"
    assert leader.requests == []


async def test_a_request_is_forwarded_to_the_leader_only(
    aiohttp_client: Connect, address: Address, leader: Leader
) -> None:
    """A token that a client sends to a standby must not reach a host that the path names."""
    standby = await aiohttp_client(standby_app(lambda: address))
    host, port = standby.host, standby.port
    for target in (
        f"http://{CLOSED[0]}:{CLOSED[1]}/v1/queue",
        f"//{CLOSED[0]}:{CLOSED[1]}/v1/queue",
    ):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert b" 200 " in (await reader.read())[:20]
        writer.close()
    assert {path for _, path, *_ in leader.requests} <= {"/v1/queue"}


async def test_a_standby_answers_itself_where_the_leader_does_not(
    aiohttp_client: Connect, address: Address, leader: Leader
) -> None:
    addresses: list[Address] = [None, CLOSED, address]
    leader.status = 503
    standby = await aiohttp_client(standby_app(lambda: addresses.pop(0)))
    for _ in range(3):
        answer = await standby.post("/v1/what-if", data=b"kind: Job")
        assert await answer.json() == {"by": "standby", "body": "kind: Job"}
    assert len(leader.requests) == 1


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server:
        labels = {endpoints.SERVICE_LABEL: SERVICE}
        metadata = {"name": SERVICE, "namespace": SYSTEM, "labels": labels}
        endpoint = {"addresses": [ADDRESS[0]], "targetRef": {"name": "host-a"}}
        ports = [{"name": "api", "port": ADDRESS[1]}]
        server.put(
            endpoints.SLICES, {"metadata": metadata, "endpoints": [endpoint], "ports": ports}
        )
        yield server


@pytest.fixture
async def finder(fake: FakeKube) -> AsyncIterator[tuple[LeaderAddress, FakeClock]]:
    clock = FakeClock()
    async with KubeClient.connect(fake.credentials) as client:
        finder = LeaderAddress(
            client=client,
            clock=clock,
            namespace=SYSTEM,
            service=SERVICE,
            port_name="api",
            lease_holder=lambda: "host-a_1",
        )
        yield finder, clock


async def found_by_all(finder: LeaderAddress) -> set[Address]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(finder.find()) for _ in range(CALLERS)]
    return {task.result() for task in tasks}


async def test_the_address_of_the_leader_is_read_once_for_all_callers(
    fake: FakeKube, finder: tuple[LeaderAddress, FakeClock]
) -> None:
    leader, clock = finder
    assert await found_by_all(leader) == {ADDRESS}
    assert len(fake.verbs("endpointslices")) == 1
    clock.pass_by(forwarding.KEPT_SECONDS)
    assert await found_by_all(leader) == {ADDRESS}
    assert len(fake.verbs("endpointslices")) == 2


async def test_the_address_is_not_read_again_at_once_after_a_failure(
    fake: FakeKube, finder: tuple[LeaderAddress, FakeClock]
) -> None:
    leader, clock = finder
    fake.faults.order("list", SLICES, SERVER_ERROR)
    assert await found_by_all(leader) == {None}
    clock.pass_by(forwarding.FAILED_SECONDS - 0.1)
    assert await found_by_all(leader) == {None}
    assert len(fake.verbs("endpointslices")) == 1
    clock.pass_by(0.1)
    assert await found_by_all(leader) == {ADDRESS}
    assert len(fake.verbs("endpointslices")) == 2
