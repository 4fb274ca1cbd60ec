"""Where the replicas are: named, or found behind one name."""

import asyncio
import socket
from collections.abc import Sequence

import pytest

from agent.replicas.addresses import Addresses, Replica


def answer(monkeypatch: pytest.MonkeyPatch, hosts: Sequence[str] | OSError) -> None:
    async def getaddrinfo(*_: object, **__: object) -> list[tuple[object, ...]]:
        if isinstance(hosts, OSError):
            raise hosts
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 1)) for host in hosts]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


def behind_a_service(server_name: str | None = None) -> Addresses:
    return Addresses((), "agents.system.svc", 10263, server_name)


async def test_named_replicas_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, OSError("asked"))
    named = Addresses(["https://a:1", "https://b:2"], "agents.system.svc", 1, "extender")
    assert await named.find() == (
        Replica("https://a:1", "extender"),
        Replica("https://b:2", "extender"),
    )


async def test_a_service_resolves_to_unique_addresses_in_a_stable_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer(monkeypatch, ["10.0.0.9", "10.0.0.7", "10.0.0.9", "fd00::1"])
    found = await behind_a_service().find()
    urls = ["https://10.0.0.7:10263", "https://10.0.0.9:10263", "https://[fd00::1]:10263"]
    assert [replica.url for replica in found] == urls
    assert {replica.server_name for replica in found} == {"agents.system.svc"}


async def test_the_certificates_name_can_be_another_than_the_services(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer(monkeypatch, ["10.0.0.7"])
    assert [r.server_name for r in await behind_a_service("extender").find()] == ["extender"]


async def test_without_an_answer_the_last_one_is_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    addresses = behind_a_service()
    answer(monkeypatch, OSError("no such name"))
    assert [await addresses.find(), await addresses.find()] == [(), ()]
    assert caplog.text.count("no such name") == 1
    answer(monkeypatch, ["10.0.0.7"])
    first = await addresses.find()
    answer(monkeypatch, OSError("no such name"))
    assert await addresses.find() == first == addresses.known
    answer(monkeypatch, ["10.0.0.8"])
    assert [replica.url for replica in await addresses.find()] == ["https://10.0.0.8:10263"]
