"""Clients that stall, flood or send ambiguous HTTP, at every listener."""

import asyncio
import contextlib
import io
import json
import ssl
from collections.abc import AsyncIterator

import pytest

from extender.servers.applications import MOST_BODY_BYTES, MOST_MANIFEST_BYTES
from tests.component.agents import Trust, Yard, yard
from tests.component.shell import node

LISTENERS = ("scheduler", "people", "agents")
IDLE = 300


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def lent(trust: Trust):
    async with yard(trust) as found:
        yield found


def address(lent: Yard, listener: str) -> tuple[str, int]:
    if listener == "scheduler":
        host, _, port = lent.running.scheduler_url.removeprefix("http://").partition(":")
        return host, int(port)
    host, port = lent.running.others[LISTENERS.index(listener) - 1]
    return host, port


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def connected(lent: Yard, trust: Trust, listener: str) -> AsyncIterator[Streams]:
    tls: ssl.SSLContext | None = None
    if listener == "agents":
        tls = await asyncio.to_thread(trust.context)
    reader, writer = await asyncio.open_connection(*address(lent, listener), ssl=tls)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def is_served(lent: Yard) -> None:
    """Kube-scheduler, users and agents get answers, each at its listener."""
    async with asyncio.timeout(60):
        body = {"Pod": {"metadata": {"name": "x"}}, "NodeNames": ["a"]}
        async with lent.session.post(f"{lent.running.scheduler_url}/filter", json=body) as answer:
            assert answer.status in {200, 400}
        assert await lent.agent("a") is None
        assert (await lent.call("GET", "/v1/nodes/a/pods", lent.token())).status == 200


async def status(reader: asyncio.StreamReader) -> int:
    """The status of an answer; 0: the connection was closed instead."""
    async with asyncio.timeout(60):
        try:
            line = await reader.readline()
        except ConnectionError:
            return 0
    return int(line.split()[1]) if line else 0


@pytest.mark.parametrize("listener", LISTENERS)
async def test_idle_connections_block_no_other_client(
    lent: Yard, trust: Trust, listener: str
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for number in range(IDLE if listener != "agents" else IDLE // 6):
            _, writer = await stack.enter_async_context(connected(lent, trust, listener))
            if number % 2:
                writer.write(b"POST /filter HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        await is_served(lent)


async def test_an_unfinished_tls_handshake_blocks_no_other_client(lent: Yard) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for number in range(IDLE // 3):
            _, writer = await asyncio.open_connection(*address(lent, "agents"))
            stack.callback(writer.close)
            writer.write(b"\x16\x03\x01" if number % 2 else b"")
            await writer.drain()
        await is_served(lent)


@pytest.mark.parametrize("listener", LISTENERS)
async def test_a_slow_body_delays_no_other_client(lent: Yard, trust: Trust, listener: str) -> None:
    path = {"scheduler": "/filter", "people": "/v1/what-if", "agents": "/v1/heartbeats"}[listener]
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
    head += f"Authorization: Bearer {lent.token()}\r\n" if listener == "agents" else ""
    head += f"{_role_pass(lent)}\r\n"
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(20):
            _, writer = await stack.enter_async_context(connected(lent, trust, listener))
            writer.write(head.encode() + b"{")
        await is_served(lent)


def _role_pass(lent: Yard) -> str:
    """The header line of a user who may ask what-if."""
    return "".join(f"{name}: {text}\r\n" for name, text in lent.fake.tokens.role_pass().items())


FLOODS: dict[str, bytes] = {
    "a header of a megabyte": b"X: " + b"a" * 2**20 + b"\r\n",
    "a hundred thousand headers": b"".join(b"X-%d: a\r\n" % i for i in range(100_000)),
    "a header without end": b"X" * 2**20,
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
@pytest.mark.parametrize("listener", LISTENERS)
async def test_a_flood_of_headers_is_refused(
    lent: Yard, trust: Trust, listener: str, flood: bytes
) -> None:
    async with connected(lent, trust, listener) as (reader, writer):
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n" + flood + b"\r\n")
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(writer.drain(), 60)
        assert await status(reader) in {0, 400, 431}
    await is_served(lent)


async def test_a_path_of_a_megabyte_is_refused(lent: Yard, trust: Trust) -> None:
    async with connected(lent, trust, "people") as (reader, writer):
        writer.write(b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await status(reader) in {0, 400, 414}
    await is_served(lent)


SMUGGLED: dict[str, bytes] = {
    "both lengths": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "a length with a sign": b"Content-Length: +4\r\n\r\nabcd",
    "a length with a blank inside": b"Content-Length: 1 0\r\n\r\nabcd",
    "an encoding twice": b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "an encoding that is no last one": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a blank before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a folded header": b"X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
    "a chunk of a negative size": b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    "a NUL in a header": b"X: a\0b\r\nContent-Length: 2\r\n\r\n{}",
}
BEHIND = b"GET /livez HTTP/1.1\r\nHost: smuggled\r\n\r\n"


@pytest.mark.parametrize("headers", SMUGGLED.values(), ids=SMUGGLED)
async def test_an_ambiguous_request_is_refused(lent: Yard, trust: Trust, headers: bytes) -> None:
    """And the rest of the connection is not read as another request."""
    async with connected(lent, trust, "people") as (reader, writer):
        head = f"POST /v1/what-if HTTP/1.1\r\nHost: x\r\n{_role_pass(lent)}"
        writer.write(head.encode() + headers + BEHIND)
        async with asyncio.timeout(60):
            whole = await reader.read()
        assert not whole or whole.split()[1] == b"400", whole[:200]
        assert whole.count(b"HTTP/1.") <= 1, whole
    await is_served(lent)


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize("path", ["/filter", "/prioritize", "/bind"])
async def test_deep_json_for_kube_schedulers_verbs_is_refused(lent: Yard, path: str) -> None:
    for body in (DEEP, b'{"Pod":' + DEEP + b"}", b'{"Pod": {"spec": {"a":' + DEEP + b"}}}"):
        async with lent.session.post(f"{lent.running.scheduler_url}{path}", data=body) as answer:
            assert answer.status == 400, await answer.text()
            assert len(await answer.text()) < 1000
    await is_served(lent)


async def test_a_manifest_that_is_nested_without_end_is_refused(lent: Yard) -> None:
    host, port = lent.running.others[0]
    url = f"http://{host}:{port}/v1/what-if?namespace=default"
    for body in (DEEP, b'{"spec":' * 100_000 + b"1" + b"}" * 100_000):
        async with lent.session.post(
            url, data=body, headers=lent.fake.tokens.role_pass()
        ) as answer:
            assert (answer.status, len(await answer.text()) < 2000) == (400, True)
    await is_served(lent)


async def test_a_body_over_the_limit_is_refused_while_it_arrives(lent: Yard, trust: Trust) -> None:
    """A chunked body has no declared length, so the bytes received are counted."""
    piece = b" " * 2**22
    for listener, path, most in (
        ("scheduler", "/filter", MOST_BODY_BYTES),
        ("people", "/v1/what-if", MOST_MANIFEST_BYTES),
    ):
        async with connected(lent, trust, listener) as (reader, writer):
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
            head += f"{_role_pass(lent)}\r\n"
            writer.write(head.encode())
            for _ in range(most // len(piece) + 1):
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
            assert await status(reader) == 413
    await is_served(lent)


async def test_a_hundred_thousand_labels_in_a_body_are_read_or_refused(lent: Yard) -> None:
    host, port = lent.running.others[0]
    labels = {str(i): "" for i in range(100_000)}
    asked = {"Pod": {"metadata": {"name": "x", "labels": labels}}, "NodeNames": ["a"]}
    body = io.BytesIO(json.dumps(asked).encode())
    async with lent.session.post(f"{lent.running.scheduler_url}/filter", data=body) as answer:
        assert answer.status == 200, await answer.text()
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x", "labels": labels}}
    body = io.BytesIO(json.dumps(job).encode())
    url, head = f"http://{host}:{port}/v1/what-if", lent.fake.tokens.role_pass()
    async with lent.session.post(url, data=body, headers=head) as answer:
        assert answer.status in {400, 413}
        assert len(await answer.text()) < 2000
    await is_served(lent)


async def test_path_like_names_are_only_names(lent: Yard, caplog) -> None:
    host, port = lent.running.others[0]
    for name in ("../../etc/passwd", "a%0AERROR%20forged", "%1b[2J", "x" * 4000, "%00"):
        for path in (f"/v1/explain?namespace={name}&pod=p", f"/v1/explain?namespace=n&job={name}"):
            async with lent.session.get(f"http://{host}:{port}{path}") as answer:
                assert answer.status in {400, 404}
                assert answer.content_type == "text/plain"
        async with lent.session.get(f"http://{host}:{port}/{name}") as answer:
            assert answer.status == 404
        path = f"/v1/nodes/{name.replace('/', '%2F')}/pods"
        assert (await lent.call("GET", path, lent.token())).status in {403, 404}
    assert node("a")["metadata"]["name"] == "a"
    await is_served(lent)
