"""The authority of mounted certificates is brought to agents by the replica that acts."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from extender.core import certificates
from extender.metrics.extender import ExtenderMetrics
from extender.servers.tls import authority
from extender.servers.tls.authority import AuthorityLoop
from extender.writers.leader_writer import LeaderWriter
from shared.health import Heartbeat
from shared.kube import paths
from shared.kube.client import KubeClient
from tests.component.shell import extender, lease
from tests.fakes.certificates import fresh
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import Answer

AGENTS, NAME = "shuntyard-agents", "shuntyard-ca"
PATH = paths.namespaced(paths.CONFIG_MAPS, AGENTS, NAME)
LOG = "extender.servers.tls.authority"


def pem() -> bytes:
    """Return an authority that nobody has seen before."""
    return fresh(FakeClock().now())[certificates.AUTHORITY]


def ship(fake: FakeKube) -> None:
    fake.put(paths.NAMESPACES, {"metadata": {"name": AGENTS}})
    fake.put(paths.CONFIG_MAPS, {"metadata": {"name": NAME, "namespace": AGENTS}})


def published(fake: FakeKube) -> str:
    kept = fake.object(paths.CONFIG_MAPS, NAME, AGENTS) or {}
    return str(kept.get("data", {}).get("ca.crt", ""))


@dataclass
class Yard:
    fake: FakeKube
    loop: AuthorityLoop
    file: Path
    acts: bool = True

    async def mount(self, text: bytes) -> None:
        await asyncio.to_thread(self.file.write_bytes, text)

    def failures(self) -> float:
        return float(self.loop.metrics.certificates.failures._value.get())


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        ship(fake)
        clock, file = FakeClock(), tmp_path / "ca.crt"
        beat = Heartbeat("authority", 60, clock.monotonic)
        writer = LeaderWriter(client, lambda: lent.acts)
        loop = AuthorityLoop(writer, file, [PATH], clock, ExtenderMetrics(), beat)
        lent = Yard(fake, loop, file)
        yield lent


async def test_what_is_mounted_is_published_once_and_again_when_it_changes(yard: Yard) -> None:
    for text in (pem(), pem()):
        await yard.mount(text)
        for _ in range(3):
            await yard.loop.look()
        assert published(yard.fake).encode() == text
    assert yard.fake.verbs("configmaps").count("patch") == 2
    assert yard.failures() == 0


async def test_who_does_not_act_writes_nothing(yard: Yard) -> None:
    """Its kubelet may still have the file of yesterday."""
    yard.acts = False
    await yard.mount(pem())
    await yard.loop.look()
    assert not yard.fake.verbs("configmaps")
    yard.acts = True
    await yard.loop.look()
    assert published(yard.fake)


KEY = b"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n"
BAD = {
    "with a key": pem() + KEY,
    "torn": pem()[:100],
    "empty": b"",
    "no text": b"\xff\xfe",
    "something else": b"hello",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
async def test_what_nobody_can_trust_is_said_once_and_not_published(
    yard: Yard, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    good = pem()
    await yard.mount(good)
    await yard.loop.look()
    await yard.mount(text)
    for _ in range(3):
        await yard.loop.look()
    assert published(yard.fake).encode() == good
    assert yard.failures() == 3
    assert [one.name for one in caplog.records] == [LOG]
    assert str(yard.file) in caplog.text


async def test_a_file_or_a_right_that_is_missing_is_named(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    await yard.loop.look()
    assert "No such file" in caplog.text
    await yard.mount(pem())
    yard.fake.faults.order("patch", PATH, Answer(403, "Forbidden"))
    await yard.loop.look()
    assert f"the right to patch {PATH} is missing" in caplog.text
    await yard.loop.look()
    assert published(yard.fake)


async def test_an_extender_with_mounted_certificates_publishes_their_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(authority, "LOOK_SECONDS", 0.05)
    caplog.set_level(logging.INFO)
    text = pem()
    await asyncio.to_thread((tmp_path / "ca.crt").write_bytes, text)
    section: dict[str, Any] = {"managed": False, "authority": tmp_path / "ca.crt"}
    async with FakeKube.running() as fake:
        ship(fake)
        async with lease(fake), extender(fake, certificates=section):
            await eventually(lambda: published(fake).encode() == text, within_seconds=60)
