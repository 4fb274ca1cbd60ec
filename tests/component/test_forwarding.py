"""A standby passes reads on to who acts, once and with everything that belongs to the question."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from extender.servers.readapi.forwarding import Forwarding
from shared.answer import FORWARDED

Client = TestClient[web.Request, web.Application]
Connect = Callable[[web.Application], Awaitable[Client]]
Serve = Callable[[web.Application], Awaitable[TestServer]]
Where = tuple[str, int] | None

NOBODY = ("127.0.0.1", 1)
"""Where nobody listens: the port of a service that is long out of use."""


@dataclass
class Seen:
    """What the acting replica was asked, and the status and headers that it answers with."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    questions: list[tuple[str, str, str, bytes, str | None]] = field(default_factory=list)


def acting_app(seen: Seen) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        owner, forwarded = request.headers.get("Authorization"), request.headers.get(FORWARDED)
        assert forwarded
        body = await request.read()
        seen.questions.append((request.method, request.path, request.query_string, body, owner))
        return web.json_response({"by": "acting"}, status=seen.status, headers=seen.headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    return app


def standby_app(where: Callable[[], Where], *, acts: bool = False) -> web.Application:
    async def found() -> Where:
        return where()

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"by": "standby", "body": (await request.read()).decode()})

    forwarding = Forwarding(lambda: acts, found)
    app = web.Application(middlewares=[forwarding.middleware])
    forwarding.install(app)
    app.router.add_route("*", "/{path:.*}", answer)
    return app


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
async def acting(aiohttp_server: Serve, seen: Seen) -> Where:
    server = await aiohttp_server(acting_app(seen))
    assert server.port is not None
    return server.host, server.port


async def test_a_question_goes_on_as_it_came(
    aiohttp_client: Connect, acting: Where, seen: Seen
) -> None:
    standby = await aiohttp_client(standby_app(lambda: acting))
    headers = {"Authorization": "Bearer t", "Cookie": "c=1"}
    answer = await standby.post("/v1/what-if?namespace=a%26b", data=b"kind: Job", headers=headers)
    assert await answer.json() == {"by": "acting"}
    assert seen.questions == [("POST", "/v1/what-if", "namespace=a%26b", b"kind: Job", "Bearer t")]


async def test_what_the_acting_one_refuses_is_refused(
    aiohttp_client: Connect, acting: Where, seen: Seen
) -> None:
    seen.status = 403
    standby = await aiohttp_client(standby_app(lambda: acting))
    assert (await standby.get("/v1/queue")).status == 403


async def test_who_is_to_come_again_is_told_when(
    aiohttp_client: Connect, acting: Where, seen: Seen
) -> None:
    seen.status, seen.headers = 429, {"Retry-After": "7", "Server": "acting"}
    standby = await aiohttp_client(standby_app(lambda: acting))
    answer = await standby.get("/v1/queue")
    assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
    assert answer.headers["Server"] != "acting"


OWN: dict[str, tuple[str, dict[str, str], bool]] = {
    "a probe": ("/livez", {}, False),
    "metrics": ("/metrics", {}, False),
    "what was passed on already": ("/v1/queue", {FORWARDED: "true"}, False),
    "everything, while it acts": ("/v1/queue", {}, True),
}


@pytest.mark.parametrize(("path", "headers", "acts"), OWN.values(), ids=OWN)
async def test_its_own_to_answer(
    aiohttp_client: Connect,
    acting: Where,
    seen: Seen,
    path: str,
    headers: dict[str, str],
    acts: bool,
) -> None:
    standby = await aiohttp_client(standby_app(lambda: acting, acts=acts))
    answer = await standby.get(path, headers=headers)
    assert (await answer.json())["by"] == "standby"
    assert seen.questions == []


async def test_a_question_goes_nowhere_but_to_who_acts(
    aiohttp_client: Connect, acting: Where, seen: Seen
) -> None:
    """Whoever sends his token to a standby does not send it to a host that his path names."""
    standby = await aiohttp_client(standby_app(lambda: acting))
    host, port = standby.host, standby.port
    for target in (
        f"http://{NOBODY[0]}:{NOBODY[1]}/v1/queue",
        f"//{NOBODY[0]}:{NOBODY[1]}/v1/queue",
    ):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert b" 200 " in (await reader.read())[:20]
        writer.close()
    assert {path for _, path, *_ in seen.questions} <= {"/v1/queue"}


async def test_it_answers_itself_where_nobody_else_does(
    aiohttp_client: Connect, acting: Where, seen: Seen
) -> None:
    where: list[Where] = [None, NOBODY, acting]
    seen.status = 503
    standby = await aiohttp_client(standby_app(lambda: where.pop(0)))
    for _ in range(3):
        answer = await standby.post("/v1/what-if", data=b"kind: Job")
        assert await answer.json() == {"by": "standby", "body": "kind: Job"}
    assert len(seen.questions) == 1
