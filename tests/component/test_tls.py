"""The scheduler's and the people's listener over TLS: who gets in, and certificates that change."""

import asyncio
import contextlib
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from devcluster.certificates import Authority, Pair
from extender.controllers.observe.observer import Observer
from extender.metrics.listeners import Door
from extender.servers.tls.renewal import RenewalLoop
from extender.writers.leadership import Leadership
from shared.errors import SettingsError
from shared.system_clock import SystemClock
from tests.component.shell import Extender, extender, lease
from tests.fakes.certificates import fresh
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

NAME = "shuntyard-kube-scheduler"
NOW = SystemClock().now()
ELEVEN_YEARS_AGO = FakeClock(epoch=NOW - 11 * 365 * 86400.0)
ASKED = {"PodName": "x", "PodNamespace": "default", "PodUID": "u", "Node": "n"}


@dataclass
class Pki:
    """Certificates of a server and its clients, as files that a test swaps."""

    ours: Authority
    foreign: Authority
    mounted: Path

    @classmethod
    def create(cls, place: Path) -> "Pki":
        authorities = [Authority.create(place / n, SystemClock()) for n in ("ours", "foreign")]
        mounted = place / "mounted"
        mounted.mkdir()
        found = cls(*authorities, mounted)
        found.mount(found.ours.issue_server("server"))
        shutil.copy(found.ours.certificate, mounted / "clients.crt")
        return found

    def mount(self, pair: Pair) -> None:
        shutil.copy(pair.certificate, self.mounted / "tls.crt")
        shutil.copy(pair.key, self.mounted / "tls.key")

    @property
    def settings(self) -> dict[str, object]:
        return {"certificate": self.mounted / "tls.crt", "key": self.mounted / "tls.key"}

    @property
    def mutual(self) -> dict[str, object]:
        return {**self.settings, "client_authority": self.mounted / "clients.crt"}

    def client(self, pair: Pair | None, trusted: Authority | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=(trusted or self.ours).certificate)
        if pair is not None:
            context.load_cert_chain(pair.certificate, pair.key)
        return context


@pytest.fixture
async def pki(tmp_path: Path) -> Pki:
    return await asyncio.to_thread(Pki.create, tmp_path)


@contextlib.asynccontextmanager
async def asking(context: ssl.SSLContext) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session


async def bind(running: Extender, session: aiohttp.ClientSession) -> int:
    url = running.scheduler_url.replace("http", "https")
    async with session.post(f"{url}/bind", json=ASKED) as response:
        await response.read()
        return response.status


@contextlib.asynccontextmanager
async def running_with(**sections: object) -> AsyncIterator[Extender]:
    async with FakeKube.running() as fake, lease(fake), extender(fake, **sections) as running:
        await eventually(lambda: has_looked(running))
        yield running


@pytest.fixture(autouse=True)
def _the_loop_looks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its first look the tests say when: its own next one would be counted beside theirs."""
    monkeypatch.setattr("extender.servers.tls.renewal.CHECK_SECONDS", 3600.0)


def has_looked(running: Extender) -> bool:
    found = renewal(running)
    life = found.metrics.certificates.life_seconds
    return all(life.labels(certificate=door.value)._value.get() for door in found.certificates)


def acts(running: Extender) -> bool:
    (leadership,) = [one for one in running.parts.loops if isinstance(one, Leadership)]
    (observer,) = [one for one in running.parts.loops if isinstance(one, Observer)]
    return leadership.acting() and observer.synced


def renewal(running: Extender) -> RenewalLoop:
    return next(one for one in running.parts.loops if isinstance(one, RenewalLoop))


def counted(running: Extender, door: Door, outcome: str) -> float:
    metrics = renewal(running).metrics.certificates
    return metrics.renewals.labels(listener=door.value, outcome=outcome)._value.get()


TAKEN: dict[str, Callable[[Pki], Pair]] = {
    "by its common name": lambda pki: pki.ours.issue_client("client", NAME),
    "by a DNS name": lambda pki: pki.ours.issue_server("client", [NAME], []),
}
REFUSED: dict[str, tuple[Callable[[Pki], Pair | None], str]] = {
    "none": (lambda _pki: None, "peer did not return a certificate"),
    "of a foreign authority": (
        lambda pki: pki.foreign.issue_client("client", NAME),
        "certificate verify failed: unable to get local issuer certificate",
    ),
    "that has ended": (
        lambda pki: Authority(pki.ours.directory, ELEVEN_YEARS_AGO).issue_client("client", NAME),
        "certificate verify failed: certificate has expired",
    ),
}


@pytest.mark.parametrize("issue", TAKEN.values(), ids=TAKEN)
async def test_a_client_certificate_is_taken(pki: Pki, issue: Callable[[Pki], Pair]) -> None:
    context = pki.client(await asyncio.to_thread(issue, pki))
    async with running_with(scheduler=pki.mutual) as running, asking(context) as session:
        assert await bind(running, session) == 200


@pytest.mark.parametrize(("issue", "why"), REFUSED.values(), ids=REFUSED)
async def test_a_client_certificate_is_refused(
    pki: Pki, issue: Callable[[Pki], Pair | None], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    context = pki.client(await asyncio.to_thread(issue, pki))
    async with running_with(scheduler=pki.mutual) as running, asking(context) as session:
        with pytest.raises(aiohttp.ClientError):
            await bind(running, session)
        refusals = renewal(running).metrics.certificates.refusals.labels(listener="scheduler")
        await eventually(lambda: refusals._value.get() == 1)
        await renewal(running).check(Door.SCHEDULER)
    assert f"the listener scheduler refused 1 handshakes: {why}" in caplog.text


async def test_who_shows_a_certificate_shows_it_each_time(pki: Pki) -> None:
    """A session of TLS 1.2 could be resumed without it, also after its authority is gone."""
    context = pki.client(await asyncio.to_thread(pki.ours.issue_client, "client", NAME))
    async with running_with(scheduler=pki.mutual) as running:
        address = running.scheduler_url.partition("//")[2].split(":")

        def connect(session: ssl.SSLSession | None) -> tuple[bool | None, ssl.SSLSession | None]:
            with (
                socket.create_connection((address[0], int(address[1]))) as bare,
                context.wrap_socket(bare, server_hostname="127.0.0.1", session=session) as secure,
            ):
                secure.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert secure.recv(1)
                return secure.session_reused, secure.session

        _, session = await asyncio.to_thread(connect, None)
        assert not (await asyncio.to_thread(connect, session))[0]
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.to_thread(connect, None)


async def test_a_name_that_is_not_listed_is_told_so(pki: Pki) -> None:
    pair = await asyncio.to_thread(pki.ours.issue_client, "client", "kube-controller-manager")
    async with (
        running_with(scheduler=pki.mutual) as running,
        asking(pki.client(pair)) as session,
    ):
        url = running.scheduler_url.replace("http", "https")
        async with session.post(f"{url}/filter", json={}) as response:
            text = await response.text()
        assert response.status == 403
        assert text == (
            "the client certificate is of kube-controller-manager, "
            "expected one of shuntyard-kube-scheduler"
        )


async def test_a_server_certificate_is_no_clients(pki: Pki, tmp_path: Path) -> None:
    """Ours are made for one purpose: what agents see cannot be used to pose as kube-scheduler."""
    data = fresh(NOW)

    def write() -> Pair:
        for name, content in data.items():
            (tmp_path / name).write_bytes(content)
        shutil.copy(tmp_path / "ca.crt", pki.mounted / "clients.crt")
        return Pair(tmp_path / "tls.crt", tmp_path / "tls.key")

    server = await asyncio.to_thread(write)
    client = Pair(tmp_path / "client.crt", tmp_path / "client.key")
    async with running_with(scheduler=pki.mutual) as running:
        async with asking(pki.client(client)) as session:
            assert await bind(running, session) == 200
        async with asking(pki.client(server)) as session:
            with pytest.raises(aiohttp.ClientError):
                await bind(running, session)


async def test_in_the_clear_nobody_is_heard(pki: Pki) -> None:
    async with running_with(scheduler=pki.mutual) as running, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.post(f"{running.scheduler_url}/bind", json=ASKED)


async def test_people_and_probes_may_be_answered_over_tls(pki: Pki) -> None:
    async with (
        running_with(api=pki.settings) as running,
        asking(await asyncio.to_thread(pki.client, None)) as session,
    ):
        host, port = running.others[0]
        async with session.get(f"https://{host}:{port}/livez") as response:
            assert response.status == 200


async def test_certificates_change_under_load_and_no_request_fails(pki: Pki) -> None:
    """Live connections go on; new ones see the new certificate and the new authority of clients."""
    old = await asyncio.to_thread(pki.ours.issue_client, "client", NAME)
    new = await asyncio.to_thread(pki.foreign.issue_client, "client", NAME)
    async with running_with(scheduler=pki.mutual) as running, asking(pki.client(old)) as session:
        await eventually(lambda: acts(running))  # a standby ends the connection with each answer
        statuses: list[int] = []
        done = asyncio.Event()

        async def load() -> None:
            while not done.is_set():
                statuses.append(await bind(running, session))

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(load())
            await eventually(lambda: len(statuses) >= 40)
            await asyncio.to_thread(_swap, pki)
            await renewal(running).check(Door.SCHEDULER)
            before = len(statuses)
            await eventually(lambda: len(statuses) >= before + 40)
            done.set()
        assert set(statuses) == {200}
        assert counted(running, Door.SCHEDULER, "renewed") == 1
        context = await asyncio.to_thread(pki.client, new, pki.foreign)
        async with asking(context) as later:
            assert await bind(running, later) == 200
        context = await asyncio.to_thread(pki.client, old, pki.foreign)
        async with asking(context) as late:
            with pytest.raises(aiohttp.ClientError):
                await bind(running, late)


def _swap(pki: Pki) -> None:
    pki.mount(pki.foreign.issue_server("server"))
    shutil.copy(pki.foreign.certificate, pki.mounted / "clients.crt")


WRONG: dict[str, Callable[[Pki], object]] = {
    "half of another pair": lambda pki: shutil.copy(
        pki.foreign.issue_server("other").certificate, pki.mounted / "tls.crt"
    ),
    "a torn file": lambda pki: (pki.mounted / "tls.crt").write_text("-----BEGIN CERTIFICATE"),
    "no file": lambda pki: (pki.mounted / "tls.key").unlink(),
    "no authority of clients": lambda pki: (pki.mounted / "clients.crt").write_text(""),
    "garbage for it": lambda pki: (pki.mounted / "clients.crt").write_text("?"),
}


@pytest.mark.parametrize("break_it", WRONG.values(), ids=WRONG)
async def test_what_cannot_be_used_is_said_and_the_old_one_stays(
    pki: Pki, break_it: Callable[[Pki], object], caplog: pytest.LogCaptureFixture
) -> None:
    pair = await asyncio.to_thread(pki.ours.issue_client, "client", NAME)
    async with running_with(scheduler=pki.mutual) as running:
        await asyncio.to_thread(break_it, pki)
        for _ in range(2):
            await renewal(running).check(Door.SCHEDULER)
        assert counted(running, Door.SCHEDULER, "refused") == 2
        said = [r for r in caplog.records if "scheduler keeps its old" in r.getMessage()]
        assert len(said) == 1
        told = renewal(running).metrics.certificates
        left = told.left_seconds.labels(certificate="scheduler")._value.get()
        assert 3000 * 86400 < left <= told.life_seconds.labels(certificate="scheduler")._value.get()
        async with asking(pki.client(pair)) as session:
            assert await bind(running, session) == 200
        await asyncio.to_thread(lambda: pki.mount(pki.ours.issue_server("whole")))
        await asyncio.to_thread(shutil.copy, pki.ours.certificate, pki.mounted / "clients.crt")
        await renewal(running).check(Door.SCHEDULER)
        assert counted(running, Door.SCHEDULER, "renewed") == 1


@pytest.mark.parametrize("section", ["scheduler", "api"])
async def test_a_certificate_that_cannot_be_used_ends_the_start(pki: Pki, section: str) -> None:
    await asyncio.to_thread((pki.mounted / "tls.key").write_text, "?")
    with pytest.raises(SettingsError, match=r"tls\.key cannot be used"):
        async with running_with(**{section: pki.settings}):
            pass
