"""The leader publishes the authority of mounted certificates for agents."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from extender.core import certificates
from extender.metrics.extender import ExtenderMetrics
from extender.writers import authorities
from extender.writers.authorities import AuthorityLoop
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
LOG = "extender.writers.authorities"


def pem() -> bytes:
    """Return a new authority."""
    return fresh(FakeClock().now())[certificates.AUTHORITY]


def install(fake: FakeKube) -> None:
    fake.put(paths.NAMESPACES, {"metadata": {"name": AGENTS}})
    fake.put(paths.CONFIG_MAPS, {"metadata": {"name": NAME, "namespace": AGENTS}})


def published(fake: FakeKube) -> str:
    kept = fake.object(paths.CONFIG_MAPS, NAME, AGENTS) or {}
    return str(kept.get("data", {}).get("ca.crt", ""))


@dataclass
class Setup:
    fake: FakeKube
    loop: AuthorityLoop
    file: Path
    leads: bool = True

    async def mount(self, text: bytes) -> None:
        await asyncio.to_thread(self.file.write_bytes, text)

    def failures(self) -> float:
        return float(self.loop.metrics.certificates.failures._value.get())


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        install(fake)
        clock, file = FakeClock(), tmp_path / "ca.crt"
        beat = Heartbeat("authority", 60, clock.monotonic)
        writer = LeaderWriter(client, lambda: made.leads)
        loop = AuthorityLoop(writer, file, [PATH], clock, ExtenderMetrics(), beat)
        made = Setup(fake, loop, file)
        yield made


async def test_a_mounted_authority_is_published_once_and_again_when_it_changes(
    setup: Setup,
) -> None:
    for text in (pem(), pem()):
        await setup.mount(text)
        for _ in range(3):
            await setup.loop.check()
        assert published(setup.fake).encode() == text
    assert setup.fake.verbs("configmaps").count("patch") == 2
    assert setup.failures() == 0


async def test_a_standby_writes_nothing(setup: Setup) -> None:
    """Its kubelet may still have the file of yesterday."""
    setup.leads = False
    await setup.mount(pem())
    await setup.loop.check()
    assert not setup.fake.verbs("configmaps")
    setup.leads = True
    await setup.loop.check()
    assert published(setup.fake)


KEY = b"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n"
BAD = {
    "with a key": pem() + KEY,
    "torn": pem()[:100],
    "empty": b"",
    "no text": b"\xff\xfe",
    "something else": b"hello",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
async def test_an_unusable_file_is_logged_once_and_not_published(
    setup: Setup, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    good = pem()
    await setup.mount(good)
    await setup.loop.check()
    await setup.mount(text)
    for _ in range(3):
        await setup.loop.check()
    assert published(setup.fake).encode() == good
    assert setup.failures() == 3
    assert [record.name for record in caplog.records] == [LOG]
    assert str(setup.file) in caplog.text


async def test_a_missing_file_or_right_is_named(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    await setup.loop.check()
    assert "No such file" in caplog.text
    await setup.mount(pem())
    setup.fake.faults.order("patch", PATH, Answer(403, "Forbidden"))
    await setup.loop.check()
    assert f"the right to patch {PATH} is missing" in caplog.text
    await setup.loop.check()
    assert published(setup.fake)


async def test_an_extender_with_mounted_certificates_publishes_their_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(authorities, "CHECK_SECONDS", 0.05)
    caplog.set_level(logging.INFO)
    text = pem()
    await asyncio.to_thread((tmp_path / "ca.crt").write_bytes, text)
    section: dict[str, Any] = {"managed": False, "authority": tmp_path / "ca.crt"}
    async with FakeKube.running() as fake:
        install(fake)
        async with lease(fake), extender(fake, certificates=section):
            await eventually(lambda: published(fake).encode() == text, within_seconds=60)
