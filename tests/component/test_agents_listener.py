"""The listener for agents: tokens, TLS and certificates."""

import asyncio
import shutil
import ssl

import aiohttp
import pytest

from extender.metrics.listeners import ListenerName
from extender.servers.tls.renewal import RenewalLoop
from shared.errors import SettingsError
from shared.kube import paths
from tests.component.agents import (
    Trust,
    Yard,
    heartbeat,
    yard,
)
from tests.component.shell import extender
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import SERVER_ERROR, Disconnect

REVIEWS = paths.TOKEN_REVIEWS


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def cluster(trust: Trust):
    async with yard(trust) as cluster:
        yield cluster


REFUSED = {
    "none": (None, {}, 401, "Authorization: Bearer"),
    "garbage": ("garbage", {}, 401, "invalid bearer token"),
    "for another audience": ("", {"audiences": ["another"]}, 401, "audience"),
    "expired": ("", {"seconds": -1}, 401, "expired"),
    "of another account": ("", {"user": "system:serviceaccount:team:trainer"}, 403, "team:trainer"),
    "of no pod": ("", {"extra": {}}, 403, "not bound to a pod on a node"),
    "of another node's pod": ("", {"at": "b"}, 403, "of a pod on b, not on a"),
}


@pytest.mark.parametrize(("token", "changes", "status", "text"), REFUSED.values(), ids=REFUSED)
async def test_a_token_is_refused(
    cluster: Yard, token: str | None, changes: dict, status: int, text: str
) -> None:
    shown = cluster.token(**changes) if token == "" else token
    for method, path, body in (
        ("POST", "/v1/heartbeats", heartbeat("a")),
        ("GET", "/v1/nodes/a/pods", None),
    ):
        answer = await cluster.call(method, path, shown, json=body)
        assert (answer.status, text in answer.text) == (status, True), answer
    assert await cluster.agent("a") is None


async def test_a_token_is_reviewed_once_a_minute_not_with_each_heartbeat(cluster: Yard) -> None:
    token = cluster.token("a")
    async with asyncio.TaskGroup() as group:
        for sequence in range(1, 21):
            group.create_task(cluster.beat(heartbeat("a", sequence), token))
    assert cluster.fake.tokens.reviews == 1


@pytest.mark.parametrize("fault", [SERVER_ERROR, Disconnect()], ids=["500", "cut off"])
async def test_while_the_api_server_is_down_no_new_token_is_accepted(cluster: Yard, fault) -> None:
    accepted, new = cluster.token("a"), cluster.token("b")
    assert (await cluster.beat(heartbeat("a"), accepted)).status == 200
    cluster.fake.faults.order("create", REVIEWS, fault)
    answer = await cluster.beat(heartbeat("b"), new)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert (await cluster.beat(heartbeat("a", 2), accepted)).status == 200
    assert (await cluster.beat(heartbeat("b"), new)).status == 200


async def test_a_connection_without_tls_is_refused(cluster: Yard) -> None:
    plain = cluster.url.replace("https", "http")
    with pytest.raises(aiohttp.ClientError):
        async with cluster.session.get(f"{plain}/v1/nodes/a/pods"):
            pass


async def test_tls_before_1_2_is_refused(cluster: Yard) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = ssl.TLSVersion.TLSv1_1
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    _, writer = await asyncio.open_connection(*cluster.running.others[1], ssl=old)
    writer.close()
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError, match=r"^$|version"):  # a reset, or an alert before it
        await asyncio.open_connection(*cluster.running.others[1], ssl=old)


async def test_without_a_certificate_the_listener_stays_closed() -> None:
    async with FakeKube.running() as fake, extender(fake) as running:
        assert len(running.others) == 1


async def test_a_renewed_certificate_is_used_and_a_broken_one_is_not(
    trust: Trust, tmp_path, caplog
) -> None:
    mounted = Trust(trust.authority, tmp_path / "tls.crt", tmp_path / "tls.key")
    other = await asyncio.to_thread(trust.renewed)
    await asyncio.to_thread(_copy, trust, mounted)
    async with yard(mounted) as cluster:
        renewal = next(
            loop for loop in cluster.running.parts.loops if isinstance(loop, RenewalLoop)
        )
        assert await asyncio.to_thread(_shows_certificate_of, cluster, trust)
        await asyncio.to_thread(shutil.copy, other.certificate, mounted.certificate)
        await renewal.check(ListenerName.AGENTS)
        assert "keeps its old certificate" in caplog.text
        assert await asyncio.to_thread(_shows_certificate_of, cluster, trust)
        await asyncio.to_thread(shutil.copy, other.key, mounted.key)
        await renewal.check(ListenerName.AGENTS)
        assert await asyncio.to_thread(_shows_certificate_of, cluster, other)
        assert (await cluster.call("GET", "/v1/nodes/a/pods", cluster.token("a"))).status == 200


def _copy(source: Trust, target: Trust) -> None:
    shutil.copy(source.certificate, target.certificate)
    shutil.copy(source.key, target.key)


def _shows_certificate_of(cluster: Yard, trust: Trust) -> bool:
    """True if a new connection is shown the certificate of ``trust``."""
    shown = ssl.get_server_certificate(cluster.running.others[1])
    return shown.split() == trust.certificate.read_text().split()


async def test_a_certificate_that_cannot_be_used_ends_the_start(trust: Trust, tmp_path) -> None:
    async with FakeKube.running() as fake:
        wrong = {"certificate": trust.certificate, "key": tmp_path / "missing"}
        with pytest.raises(SettingsError, match=r"missing cannot be used: .*No such file"):
            async with extender(fake, agents=wrong):
                pass
