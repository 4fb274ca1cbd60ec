"""Replicas keep their certificates in a Secret of the fake API server."""

import asyncio
import base64
import logging
import ssl
from pathlib import Path
from typing import Any

import pytest

from extender.core import certificates
from extender.core.certificates import Requirements
from extender.metrics.extender import ExtenderMetrics
from extender.servers.tls import issuing
from extender.servers.tls.keeper import CertificateKeeper, CertificatePlaces
from shared.errors import SettingsError
from shared.health import Heartbeat
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock
from tests.component.shell import extender
from tests.fakes.certificates import DAY, HOST, REQUIRED, chain
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import Answer, LostAnswer

SYSTEM, AGENTS = "shuntyard-system", "shuntyard-agents"
SECRET, AUTHORITY = "shuntyard-certificates", "shuntyard-ca"
LOG = "extender.servers.tls.keeper"
FORBIDDEN = Answer(403, "Forbidden")


def ship(fake: FakeKube, data: dict[str, bytes] | None = None) -> None:
    """Apply the objects of deploy/base: both empty."""
    for name in (SYSTEM, AGENTS):
        fake.put(paths.NAMESPACES, {"metadata": {"name": name}})
    texts = {key: base64.b64encode(value).decode() for key, value in (data or {}).items()}
    given = {"data": texts} if data else {}
    fake.put(paths.SECRETS, {"metadata": {"name": SECRET, "namespace": SYSTEM}, **given})
    fake.put(paths.CONFIG_MAPS, {"metadata": {"name": AUTHORITY, "namespace": AGENTS}})


def kept(fake: FakeKube) -> dict[str, bytes]:
    secret = fake.object(paths.SECRETS, SECRET, SYSTEM) or {}
    return {key: base64.b64decode(text) for key, text in secret.get("data", {}).items()}


def published(fake: FakeKube) -> str:
    return (
        (fake.object(paths.CONFIG_MAPS, AUTHORITY, AGENTS) or {}).get("data", {}).get("ca.crt", "")
    )


async def files(place: Path) -> dict[str, bytes]:
    """Return the files of a directory; no links that lead to directories."""
    return await asyncio.to_thread(
        lambda: {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    )


def keeper(
    client: KubeClient, place: Path, clock: FakeClock, required: Requirements = REQUIRED
) -> CertificateKeeper:
    places = CertificatePlaces(
        paths.namespaced(paths.SECRETS, SYSTEM, SECRET),
        [paths.namespaced(paths.CONFIG_MAPS, AGENTS, AUTHORITY)],
        place,
    )
    beat = Heartbeat("certificates", 60, clock.monotonic)
    return CertificateKeeper(
        client=client,
        places=places,
        required=required,
        clock=clock,
        metrics=ExtenderMetrics(),
        heartbeat=beat,
    )


def issued(replica: CertificateKeeper, certificate: str) -> float:
    return replica.metrics.certificates.made.labels(certificate=certificate)._value.get()


def failures(replica: CertificateKeeper) -> float:
    return replica.metrics.certificates.failures._value.get()


async def test_replicas_that_begin_at_once_make_one_authority(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    ship(fake)
    clock = FakeClock()
    replicas = [keeper(client, tmp_path / str(i), clock) for i in range(6)]
    async with asyncio.TaskGroup() as group:
        for replica in replicas:
            group.create_task(replica.reconcile())
    assert sum(issued(replica, "authority") for replica in replicas) == 1
    assert fake.verbs("secrets").count("patch") > 1  # they did race
    first, *others = [await files(tmp_path / str(i)) for i in range(6)]
    assert all(other == first for other in others)
    assert set(first) == {"ca.crt", "tls.crt", "tls.key", "client.crt", "client.key"}
    assert published(fake).encode() == first["ca.crt"]


async def test_a_real_handshake_accepts_the_certificates(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    """In both directions, over both lists of authorities, and after the authority was renewed."""
    ship(fake)
    clock = FakeClock(epoch=SystemClock().now() - 81 * DAY)
    replica = keeper(client, tmp_path, clock)
    await replica.reconcile()
    old = kept(fake)[certificates.AUTHORITY]
    clock.pass_by(81 * DAY)
    await replica.reconcile()
    new = kept(fake)[certificates.AUTHORITY]
    assert issued(replica, "authority") == 2
    only_new = new.replace(old, b"")
    for name, trusted in {"old": old, "both": new, "new": only_new}.items():
        await asyncio.to_thread((tmp_path / name).write_bytes, trusted)
        shown = await asyncio.to_thread(_handshake, tmp_path, tmp_path / name)
        assert shown == "shuntyard-kube-scheduler"


def _handshake(place: Path, trusted: Path) -> str:
    """Return the client's name as the server reads it."""
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=trusted)
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_cert_chain(place / "tls.crt", place / "tls.key")
    client = ssl.create_default_context(cafile=trusted)
    client.load_cert_chain(place / "client.crt", place / "client.key")
    for context in (server, client):
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(back, there, server_hostname=HOST),
        server.wrap_bio(there, back, server_side=True),
    ]
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    peer: Any = ends[1].getpeercert()
    return peer["subject"][0][0][1]


async def test_only_certificates_near_their_end_are_renewed(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    ship(fake)
    clock = FakeClock()
    replica = keeper(client, tmp_path, clock)
    await replica.reconcile()
    first, writes = kept(fake), len(fake.verbs("secrets"))
    clock.pass_by(19 * DAY)
    await replica.reconcile()
    assert kept(fake) == first
    assert "patch" not in fake.verbs("secrets")[writes:]
    clock.pass_by(1 * DAY + 1)
    await replica.reconcile()
    second = kept(fake)
    assert {k for k in first if first[k] != second[k]} == {
        *("tls.crt", "tls.key", "client.crt", "client.key")
    }
    assert (await files(tmp_path))["tls.crt"] == second["tls.crt"]
    left = replica.metrics.certificates.left_seconds.labels(certificate="authority")._value.get()
    assert left == pytest.approx(100 * DAY, abs=2)
    life = replica.metrics.certificates.life_seconds.labels(certificate="authority")._value.get()
    assert life == pytest.approx(120 * DAY + issuing.SLACK_SECONDS, abs=2)


async def test_a_broken_authority_is_named_and_left_alone(
    fake: FakeKube, client: KubeClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ship(fake, {"ca.crt": b"garbage", "ca.key": b"garbage"})
    replica = keeper(client, tmp_path, FakeClock())
    with pytest.raises(SettingsError, match=r"shuntyard-certificates: ca\.crt: .*no certificates"):
        await replica.prepare(0.0, asyncio.Event())
    assert "patch" not in fake.verbs("secrets")
    assert failures(replica) == 1
    await replica.reconcile()
    assert len([r for r in caplog.records if "ca.crt" in r.message]) == 1  # it is logged once


@pytest.mark.parametrize("broken", [b"\x30\x82\xff\xfe", b"garbage"], ids=["bytes", "text"])
async def test_an_unreadable_authority_is_not_published_to_agents(
    fake: FakeKube, client: KubeClient, tmp_path: Path, broken: bytes
) -> None:
    ship(fake)
    replica = keeper(client, tmp_path, FakeClock())
    await replica.reconcile()
    before = kept(fake)
    secret = {"metadata": {"name": SECRET, "namespace": SYSTEM}}
    texts = {**before, "ca.crt": broken}
    data = {key: base64.b64encode(value).decode() for key, value in texts.items()}
    fake.put(paths.SECRETS, {**secret, "data": data})
    await replica.reconcile()
    assert failures(replica) == 1
    assert published(fake).encode() == before["ca.crt"]


async def test_a_good_certificate_stays_in_use_with_a_broken_authority(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    ship(fake)
    await keeper(client, tmp_path / "a", FakeClock()).reconcile()
    before = kept(fake)
    ship(fake, {**before, "ca.key": before["tls.key"]})
    late = keeper(client, tmp_path / "b", FakeClock())
    await late.prepare(0.0, asyncio.Event())
    assert failures(late) == 1
    assert (await files(tmp_path / "b"))["tls.crt"] == before["tls.crt"]


async def test_a_broken_certificate_is_replaced(
    fake: FakeKube, client: KubeClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOG)
    ship(fake)
    replica = keeper(client, tmp_path, FakeClock())
    await replica.reconcile()
    before = kept(fake)
    ship(fake, {**before, "tls.key": before["client.key"]})
    await replica.reconcile()
    assert chain(kept(fake))[0] != chain(before)[0]
    assert kept(fake)["ca.crt"] == before["ca.crt"]
    (last,) = [r for r in caplog.records if "issued" in r.message][1:]
    assert "tls.key: the key of another certificate" in last.reasons[0]  # type: ignore[attr-defined]


REFUSALS = {
    "reading": ("get", "the right to get /api/v1/namespaces/shuntyard-system/secrets/"),
    "writing": ("patch", "the right to patch /api/v1/namespaces/shuntyard-system/secrets/"),
}


@pytest.mark.parametrize(("verb", "text"), REFUSALS.values(), ids=REFUSALS)
async def test_a_missing_right_is_named(
    fake: FakeKube, client: KubeClient, tmp_path: Path, verb: str, text: str
) -> None:
    ship(fake)
    path = paths.namespaced(paths.SECRETS, SYSTEM, SECRET)
    fake.faults.order(verb, path, FORBIDDEN)
    with pytest.raises(SettingsError, match=text):
        await keeper(client, tmp_path, FakeClock()).prepare(0.0, asyncio.Event())


async def test_a_missing_secret_is_logged(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=r"shuntyard-certificates does not exist.*deploy/base"):
        await keeper(client, tmp_path, FakeClock()).prepare(0.0, asyncio.Event())


async def test_a_config_map_that_cannot_be_written_delays_nothing(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    ship(fake)
    fake.faults.order("patch", paths.namespaced(paths.CONFIG_MAPS, AGENTS, AUTHORITY), FORBIDDEN)
    replica = keeper(client, tmp_path, FakeClock())
    await replica.prepare(0.0, asyncio.Event())
    assert failures(replica) == 1
    assert not published(fake)
    await replica.reconcile()
    assert failures(replica) == 1
    assert published(fake).encode() == kept(fake)["ca.crt"]


async def test_a_write_whose_answer_is_lost_is_not_made_twice(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    ship(fake)
    replica = keeper(client, tmp_path, FakeClock())
    fake.faults.order("patch", paths.namespaced(paths.SECRETS, SYSTEM, SECRET), LostAnswer())
    await replica.reconcile()
    first = kept(fake)
    await replica.reconcile()
    assert kept(fake) == first
    assert (await files(tmp_path))["ca.crt"] == first["ca.crt"]


async def test_a_directory_that_cannot_be_written_is_logged(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    ship(fake)
    await asyncio.to_thread((tmp_path / "file").write_text, "")
    replica = keeper(client, tmp_path / "file" / "below", FakeClock())
    with pytest.raises(SettingsError, match=r"below cannot be written"):
        await replica.prepare(0.0, asyncio.Event())


async def test_the_extender_waits_for_its_certificates_and_opens_with_them(
    fake: FakeKube, tmp_path: Path
) -> None:
    """The Secret comes only after the start, as with ``kubectl apply`` in any order."""
    pair = {"certificate": tmp_path / "tls.crt", "key": tmp_path / "tls.key", "listen_port": 0}
    managed = {"managed": True, "directory": tmp_path, "names": ["127.0.0.1", HOST]}

    async def apply() -> None:
        await eventually(lambda: fake.verbs("secrets"))
        ship(fake)

    async with asyncio.TaskGroup() as group:
        group.create_task(apply())
        async with extender(fake, agents=pair, certificates=managed) as running:
            shown = await asyncio.to_thread(ssl.get_server_certificate, running.others[1])
            assert shown.encode() in kept(fake)["tls.crt"]


async def test_the_extender_ends_on_a_signal_while_it_waits_for_certificates(
    fake: FakeKube, client: KubeClient, tmp_path: Path
) -> None:
    stop = asyncio.Event()
    waiting = asyncio.create_task(keeper(client, tmp_path, FakeClock()).prepare(60.0, stop))
    await eventually(lambda: fake.verbs("secrets"))
    stop.set()
    await asyncio.wait_for(waiting, 50)
    assert await files(tmp_path) == {}
