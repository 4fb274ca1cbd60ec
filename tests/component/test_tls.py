"""The listeners of kube-scheduler and the read API over TLS: clients, and renewed certificates."""

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

from devcluster.credentials.certificates import Authority, Pair
from extender.controllers.observe.observer import Observer
from extender.metrics.listeners import ListenerName
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
BINDING = {"PodName": "x", "PodNamespace": "default", "PodUID": "u", "Node": "n"}


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
        pki = cls(*authorities, mounted)
        pki.mount(pki.ours.issue_server("server"))
        shutil.copy(pki.ours.certificate, mounted / "clients.crt")
        return pki

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
async def client_session(context: ssl.SSLContext) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session


async def bind(running: Extender, session: aiohttp.ClientSession) -> int:
    url = running.scheduler_url.replace("http", "https")
    async with session.post(f"{url}/bind", json=BINDING) as response:
        await response.read()
        return response.status


@contextlib.asynccontextmanager
async def running_with(**sections: object) -> AsyncIterator[Extender]:
    async with FakeKube.running() as fake, lease(fake), extender(fake, **sections) as running:
        await eventually(lambda: has_checked(running))
        yield running


@pytest.fixture(autouse=True)
def _the_loop_checks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first check the tests make their own: another one would be counted with them."""
    monkeypatch.setattr("extender.servers.tls.renewal.CHECK_SECONDS", 3600.0)


def has_checked(running: Extender) -> bool:
    loop = renewal(running)
    life = loop.metrics.certificates.life_seconds
    return all(life.labels(certificate=name.value)._value.get() for name in loop.certificates)


def leads(running: Extender) -> bool:
    (leadership,) = [loop for loop in running.parts.loops if isinstance(loop, Leadership)]
    (observer,) = [loop for loop in running.parts.loops if isinstance(loop, Observer)]
    return leadership.acting() and observer.synced


def renewal(running: Extender) -> RenewalLoop:
    return next(loop for loop in running.parts.loops if isinstance(loop, RenewalLoop))


def counted(running: Extender, name: ListenerName, outcome: str) -> float:
    metrics = renewal(running).metrics.certificates
    return metrics.renewals.labels(listener=name.value, outcome=outcome)._value.get()


ACCEPTED: dict[str, Callable[[Pki], Pair]] = {
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


@pytest.mark.parametrize("issue", ACCEPTED.values(), ids=ACCEPTED)
async def test_a_client_certificate_is_accepted(pki: Pki, issue: Callable[[Pki], Pair]) -> None:
    context = pki.client(await asyncio.to_thread(issue, pki))
    async with running_with(scheduler=pki.mutual) as running, client_session(context) as session:
        assert await bind(running, session) == 200


@pytest.mark.parametrize(("issue", "why"), REFUSED.values(), ids=REFUSED)
async def test_a_client_certificate_is_refused(
    pki: Pki, issue: Callable[[Pki], Pair | None], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    context = pki.client(await asyncio.to_thread(issue, pki))
    async with running_with(scheduler=pki.mutual) as running, client_session(context) as session:
        with pytest.raises(aiohttp.ClientError):
            await bind(running, session)
        refusals = renewal(running).metrics.certificates.refusals.labels(listener="scheduler")
        await eventually(lambda: refusals._value.get() == 1)
        await renewal(running).check(ListenerName.SCHEDULER)
    assert f"the listener scheduler refused 1 handshakes: {why}" in caplog.text


async def test_no_session_is_resumed_without_the_client_certificate(pki: Pki) -> None:
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


async def test_a_client_with_another_name_gets_403(pki: Pki) -> None:
    pair = await asyncio.to_thread(pki.ours.issue_client, "client", "kube-controller-manager")
    async with (
        running_with(scheduler=pki.mutual) as running,
        client_session(pki.client(pair)) as session,
    ):
        url = running.scheduler_url.replace("http", "https")
        async with session.post(f"{url}/filter", json={}) as response:
            text = await response.text()
        assert response.status == 403
        assert text == (
            "the client certificate is of kube-controller-manager, "
            "expected one of shuntyard-kube-scheduler"
        )


async def test_a_server_certificate_is_refused_as_a_clients(pki: Pki, tmp_path: Path) -> None:
    """Ours have one purpose: the one that agents see cannot be used to pose as kube-scheduler."""
    data = fresh(NOW)

    def write() -> Pair:
        for name, content in data.items():
            (tmp_path / name).write_bytes(content)
        shutil.copy(tmp_path / "ca.crt", pki.mounted / "clients.crt")
        return Pair(tmp_path / "tls.crt", tmp_path / "tls.key")

    server = await asyncio.to_thread(write)
    client = Pair(tmp_path / "client.crt", tmp_path / "client.key")
    async with running_with(scheduler=pki.mutual) as running:
        async with client_session(pki.client(client)) as session:
            assert await bind(running, session) == 200
        async with client_session(pki.client(server)) as session:
            with pytest.raises(aiohttp.ClientError):
                await bind(running, session)


async def test_a_connection_without_tls_is_refused(pki: Pki) -> None:
    async with running_with(scheduler=pki.mutual) as running, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.post(f"{running.scheduler_url}/bind", json=BINDING)


async def test_the_read_api_and_probes_may_use_tls(pki: Pki) -> None:
    async with (
        running_with(api=pki.settings) as running,
        client_session(await asyncio.to_thread(pki.client, None)) as session,
    ):
        host, port = running.others[0]
        async with session.get(f"https://{host}:{port}/livez") as response:
            assert response.status == 200


async def test_no_request_fails_while_certificates_change(pki: Pki) -> None:
    """Live connections go on; new ones see the new certificate and the new authority of clients."""
    old = await asyncio.to_thread(pki.ours.issue_client, "client", NAME)
    new = await asyncio.to_thread(pki.foreign.issue_client, "client", NAME)
    async with (
        running_with(scheduler=pki.mutual) as running,
        client_session(pki.client(old)) as session,
    ):
        await eventually(lambda: leads(running))  # a standby ends the connection with each answer
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
            await renewal(running).check(ListenerName.SCHEDULER)
            before = len(statuses)
            await eventually(lambda: len(statuses) >= before + 40)
            done.set()
        assert set(statuses) == {200}
        assert counted(running, ListenerName.SCHEDULER, "renewed") == 1
        context = await asyncio.to_thread(pki.client, new, pki.foreign)
        async with client_session(context) as with_new:
            assert await bind(running, with_new) == 200
        context = await asyncio.to_thread(pki.client, old, pki.foreign)
        async with client_session(context) as with_old:
            with pytest.raises(aiohttp.ClientError):
                await bind(running, with_old)


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
async def test_unusable_files_are_logged_and_the_old_certificate_stays(
    pki: Pki, break_it: Callable[[Pki], object], caplog: pytest.LogCaptureFixture
) -> None:
    pair = await asyncio.to_thread(pki.ours.issue_client, "client", NAME)
    async with running_with(scheduler=pki.mutual) as running:
        await asyncio.to_thread(break_it, pki)
        for _ in range(2):
            await renewal(running).check(ListenerName.SCHEDULER)
        assert counted(running, ListenerName.SCHEDULER, "refused") == 2
        lines = [r for r in caplog.records if "scheduler keeps its old" in r.getMessage()]
        assert len(lines) == 1
        metrics = renewal(running).metrics.certificates
        left = metrics.left_seconds.labels(certificate="scheduler")._value.get()
        life = metrics.life_seconds.labels(certificate="scheduler")._value.get()
        assert 3000 * 86400 < left <= life
        async with client_session(pki.client(pair)) as session:
            assert await bind(running, session) == 200
        await asyncio.to_thread(lambda: pki.mount(pki.ours.issue_server("whole")))
        await asyncio.to_thread(shutil.copy, pki.ours.certificate, pki.mounted / "clients.crt")
        await renewal(running).check(ListenerName.SCHEDULER)
        assert counted(running, ListenerName.SCHEDULER, "renewed") == 1


@pytest.mark.parametrize("section", ["scheduler", "api"])
async def test_a_certificate_that_cannot_be_used_ends_the_start(pki: Pki, section: str) -> None:
    await asyncio.to_thread((pki.mounted / "tls.key").write_text, "?")
    with pytest.raises(SettingsError, match=r"tls\.key cannot be used"):
        async with running_with(**{section: pki.settings}):
            pass
