"""The relay that makes the read API reachable beyond loopback: its target, and who may connect."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import psutil
import pytest

from devcluster.local.ports import LOOPBACK, free_ports
from devcluster.shuntyard import read_api_relay, read_api_service
from tests.fakes.eventually import eventually

Links = dict[str, tuple[bool, tuple[str, ...]]]

LINKS: dict[str, tuple[Links, str | None]] = {
    "loopback alone": ({"lo": (True, ("127.0.0.1",))}, None),
    "a link that is down": ({"eth0": (False, ("192.0.2.7",))}, None),
    "a link-local address": ({"eth0": (True, ("169.254.1.1",))}, None),
    "the first that is left": (
        {"lo": (True, ("127.0.0.1",)), "a": (True, ("169.254.1.1", "192.0.2.7")), "b": (True, ())},
        "192.0.2.7",
    ),
}


@pytest.mark.parametrize(("links", "want"), LINKS.values(), ids=LINKS.keys())
def test_a_proxy_uses_only_an_external_address(
    links: Links, want: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = {name: SimpleNamespace(isup=up) for name, (up, _) in links.items()}
    addresses = {
        name: [SimpleNamespace(family=socket.AF_INET, address=text) for text in texts]
        for name, (_, texts) in links.items()
    }
    monkeypatch.setattr(psutil, "net_if_stats", lambda: states)
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: addresses)
    assert read_api_service.address(LOOPBACK) == want


def test_a_cluster_that_has_such_an_address_keeps_it() -> None:
    assert read_api_service.address("198.18.0.1") == "198.18.0.1"


@asynccontextmanager
async def relayed(target_port: int) -> AsyncIterator[int]:
    """Run a relay to a port meanwhile; yield its own port."""
    (port,) = free_ports(1)
    task = asyncio.create_task(read_api_relay.serve(port, target_port))
    try:
        await eventually(lambda: listens(port), why="the relay listens")
        yield port
    finally:
        task.cancel()
        await asyncio.wait([task])


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
    except ConnectionRefusedError:
        return False
    writer.close()
    return True


async def ask(port: int, source: str = LOOPBACK) -> bytes:
    """What comes back for one line, from an address of this machine; b"" for nothing."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port, local_addr=(source, 0))
    try:
        writer.write(b"hello\n")
        return await asyncio.wait_for(reader.read(), 60)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.readline())
    writer.close()


async def test_only_connections_from_the_same_address_are_relayed() -> None:
    target = await asyncio.start_server(echo, LOOPBACK, 0)
    async with target, relayed(target.sockets[0].getsockname()[1]) as port:
        assert await ask(port) == b"hello\n"
        assert await ask(port, source="127.0.0.2") == b""
        assert await ask(port) == b"hello\n"


async def test_a_connection_to_a_closed_port_just_ends() -> None:
    (unused,) = free_ports(1)
    async with relayed(unused) as port:
        assert await ask(port) == b""
