"""The agents' listener over TLS: who gets in, what is taken, and what is answered."""

import asyncio
import gzip
import json
import shutil
import ssl

import aiohttp
import pytest

from extender.app import replay
from extender.controllers.measure import ReportsLoop
from extender.metrics.listeners import Door
from extender.servers.tls.renewal import RenewalLoop
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import api, labels
from shared.errors import SettingsError
from shared.kube import paths
from tests.component.agents import (
    Trust,
    Yard,
    heartbeat,
    knows,
    member,
    progress,
    yard,
)
from tests.component.shell import IDENTITY, QUICK, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import SERVER_ERROR, Disconnect

REVIEWS = paths.TOKEN_REVIEWS


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def lent(trust: Trust):
    async with yard(trust) as found:
        yield found


REFUSED = {
    "none": (None, {}, 401, "Authorization: Bearer"),
    "garbage": ("garbage", {}, 401, "invalid bearer token"),
    "for another audience": ("", {"audiences": ["somebody-else"]}, 401, "audience"),
    "expired": ("", {"seconds": -1}, 401, "expired"),
    "of another account": ("", {"user": "system:serviceaccount:team:trainer"}, 403, "team:trainer"),
    "of no pod": ("", {"extra": {}}, 403, "not bound to a pod on a node"),
    "of another node's pod": ("", {"at": "b"}, 403, "of a pod on b, not on a"),
}


@pytest.mark.parametrize(("token", "changes", "status", "text"), REFUSED.values(), ids=REFUSED)
async def test_a_token_is_refused_that_is(
    lent: Yard, token: str | None, changes: dict, status: int, text: str
) -> None:
    shown = lent.token(**changes) if token == "" else token
    for method, path, body in (
        ("POST", "/v1/heartbeats", heartbeat("a")),
        ("GET", "/v1/nodes/a/pods", None),
    ):
        answer = await lent.call(method, path, shown, json=body)
        assert (answer.status, text in answer.text) == (status, True), answer
    assert await lent.agent("a") is None


async def test_a_token_is_reviewed_once_a_minute_not_with_each_heartbeat(lent: Yard) -> None:
    token = lent.token("a")
    async with asyncio.TaskGroup() as group:
        for sequence in range(1, 21):
            group.create_task(lent.beat(heartbeat("a", sequence), token))
    assert lent.fake.tokens.reviews == 1


@pytest.mark.parametrize("fault", [SERVER_ERROR, Disconnect()], ids=["500", "cut off"])
async def test_while_the_api_server_is_down_no_new_token_is_accepted(lent: Yard, fault) -> None:
    known, new = lent.token("a"), lent.token("b")
    assert (await lent.beat(heartbeat("a"), known)).status == 200
    lent.fake.faults.order("create", REVIEWS, fault)
    answer = await lent.beat(heartbeat("b"), new)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert (await lent.beat(heartbeat("a", 2), known)).status == 200
    assert (await lent.beat(heartbeat("b"), new)).status == 200


async def test_the_report_of_an_agent_is_shown_to_people(lent: Yard) -> None:
    lent.fake.put(paths.PODS, member("train-0"))
    await eventually(lambda: _jobs(lent))
    (uid,) = [p["metadata"]["uid"] for p in lent.fake.objects(paths.PODS)]
    converged = progress(uid, category="converged", total_steps=10, curve=[3, 2, 1])
    body = heartbeat("a", 1, converged, use={"cpu_cores": 1.5}, cpu_cores=4)
    answer = await lent.beat(body)
    assert (answer.status, answer.heartbeat.full_wanted) == (200, False)
    agent = await lent.agent("a")
    assert agent is not None
    assert (agent.stale, agent.complete, agent.converged, agent.cpu_cores) == (False, True, 1, 4.0)
    (job,) = await _jobs(lent)
    assert job.progress is not None
    assert (job.progress.step, job.progress.total_steps, job.progress.curve) == (7, 10, (3, 2, 1))


async def _jobs(lent: Yard):
    return (await lent.read("/v1/jobs", api.JobsResponse)).entries


async def test_changes_to_a_node_that_is_not_known_are_answered_with_a_wish(lent: Yard) -> None:
    first = await lent.beat(heartbeat("a", 1, progress("x"), full=False))
    assert first.heartbeat.full_wanted
    agent = await lent.agent("a")
    assert agent is not None
    assert not agent.complete
    assert not (await lent.beat(heartbeat("a", 2, progress("x")))).heartbeat.full_wanted
    for sequence in (3, 3, 2):
        answer = await lent.beat(heartbeat("a", sequence, full=False, gone=["x"]))
        assert (answer.status, answer.heartbeat.full_wanted) == (200, False)
    new_life = heartbeat("a", 1, full=False, boot="boot-2")
    assert (await lent.beat(new_life)).heartbeat.full_wanted


async def test_a_restart_asks_every_agent_anew(trust: Trust) -> None:
    async with FakeKube.running() as fake:
        fake.put(paths.NODES, node("a"))
        async with yard(trust, fake) as lent:
            await lent.beat(heartbeat("a", 1))
            assert not (await lent.beat(heartbeat("a", 2, full=False))).heartbeat.full_wanted
        async with yard(trust, fake) as lent:
            assert await lent.agent("a") is None
            assert (await lent.beat(heartbeat("a", 3, full=False))).heartbeat.full_wanted


async def test_only_the_leader_is_acting(trust: Trust) -> None:
    async with yard(trust) as lent:
        standby = (await lent.beat(heartbeat("a", 1))).heartbeat
        assert (standby.acting, standby.commands) == (False, ())
        assert (await lent.agent("a")) is not None  # it is warm all the same
        async with lease(lent.fake, IDENTITY):

            async def acts() -> bool:
                sequence = acts.sequence = acts.sequence + 1  # type: ignore[attr-defined]
                return (await lent.beat(heartbeat("a", sequence))).heartbeat.acting

            acts.sequence = 1  # type: ignore[attr-defined]
            await eventually(acts)


async def test_a_node_or_pod_that_is_not_the_agents_is_refused(lent: Yard) -> None:
    lost = await lent.beat(heartbeat("nowhere"))
    assert (lost.status, "there is no node nowhere" in lost.text) == (404, True)
    assert (await lent.call("GET", "/v1/nodes/nowhere/pods", lent.token("nowhere"))).status == 404
    lent.fake.put(paths.PODS, member("other", "b"))
    await eventually(lambda: _jobs(lent))
    (uid,) = [p["metadata"]["uid"] for p in lent.fake.objects(paths.PODS)]
    stranger = await lent.beat(heartbeat("a", 1, progress("x"), progress(uid)))
    assert (stranger.status, stranger.text) == (403, "pods.1.uid: that pod is on another node")
    assert await lent.agent("a") is None


async def test_the_report_of_a_node_is_removed_with_it(lent: Yard) -> None:
    assert (await lent.beat(heartbeat("a", 1))).status == 200
    lent.fake.remove(paths.NODES, "a")
    await eventually(lambda: knows(lent))
    lent.fake.put(paths.NODES, node("a"))
    await eventually(lambda: knows(lent))
    assert await lent.agent("a") is None
    assert (await lent.beat(heartbeat("a", 2, full=False))).heartbeat.full_wanted


PLAIN = json.dumps(heartbeat("a", 1, *(progress(f"u-{i}") for i in range(100)))).encode()
BOMB = gzip.compress(b'{"node": "' + b"x" * 2**24)
GZIP = {"Content-Encoding": "gzip"}
BODIES = {
    "plain": (PLAIN, {}, 200, ""),
    "packed": (gzip.compress(PLAIN), GZIP, 200, ""),
    "packed, said loudly": (gzip.compress(PLAIN), {"Content-Encoding": " GZIP "}, 200, ""),
    "packed, and cut": (gzip.compress(PLAIN)[:-1], GZIP, 400, "one whole gzip member"),
    "packed, and more behind": (gzip.compress(PLAIN) + b"x", GZIP, 400, "one whole gzip member"),
    "said to be packed": (PLAIN, GZIP, 400, "expected gzip"),
    "empty and said to be packed": (b"", GZIP, 400, "one whole gzip member"),
    "a bomb": (BOMB, GZIP, 413, "exceeded"),
    "too large": (b" " * 2**17, {}, 413, "exceeded"),
    "packed otherwise": (PLAIN, {"Content-Encoding": "br"}, 415, "expected gzip or none"),
}


@pytest.mark.parametrize(("body", "headers", "status", "text"), BODIES.values(), ids=BODIES)
async def test_a_body_may_be_packed_but_not_large(
    trust: Trust, body: bytes, headers: dict[str, str], status: int, text: str
) -> None:
    async with yard(trust, agents={"most_body_bytes": 2**16}) as lent:
        token = lent.token("a")
        answer = await lent.call("POST", "/v1/heartbeats", token, data=body, headers=headers)
        assert (answer.status, text in answer.text) == (status, True), answer
        assert (await lent.beat(heartbeat("a", 2), token)).status == 200


WRONG = {
    "not JSON": (b"{", ["body: Invalid JSON"]),
    "a list": (b"[]", ["body: expected an object, found a list"]),
    "another version": ({"version": 2}, ["version: expected 1, found 2"]),
    "an unknown key": ({"nod": 1}, ["nod: Extra inputs are not permitted, found 1"]),
    "no number": ({"sent_at": "then"}, ["sent_at: expected a valid number", "found 'then'"]),
    "too large a number": ({"sequence": 10**30}, ["sequence: expected less than"]),
    "no such category": (
        {"pods": [progress("x", category="done")]},
        ["pods.0.progress.category: expected 'progressing', 'watching' or 'converged'"],
    ),
    "two at once": (
        {"pods": [progress("x", step=-1), progress("", value="much")]},
        ["pods.0.progress.step: ", "pods.1.uid: ", "pods.1.progress.value: "],
    ),
    "many at once": ({"pods": [{}] * 50}, ["pods.0.uid: Field required", "and 30 more"]),
    "not a number at all": (
        json.dumps(heartbeat("a", 1, progress("x", value=float("nan")))).encode(),
        ["pods.0.progress.value: expected a finite number, found nan"],
    ),
}


@pytest.mark.parametrize(("changes", "wanted"), WRONG.values(), ids=WRONG)
async def test_what_is_wrong_is_named_by_its_field(lent: Yard, changes, wanted: list[str]) -> None:
    body = changes if isinstance(changes, bytes) else json.dumps({**heartbeat("a"), **changes})
    answer = await lent.call("POST", "/v1/heartbeats", lent.token("a"), data=body)
    assert answer.status == 400
    assert [text for text in wanted if text not in answer.text] == []
    assert await lent.agent("a") is None


async def test_the_pods_of_a_node_are_our_bound_and_unfinished_ones(lent: Yard) -> None:
    theirs = member("theirs")
    theirs["spec"]["schedulerName"] = "default-scheduler"
    over = {**member("over"), "status": {"phase": "Succeeded"}}
    waiting = pod("waiting", job="train", size=2)
    leaving = member("leaving", deletionTimestamp="2026-11-21T12:00:00Z")
    for one in (theirs, over, waiting, leaving, member("elsewhere", "b"), member("train-0")):
        lent.fake.put(paths.PODS, one)

    async def names() -> set[str]:
        answer = await lent.call("GET", "/v1/nodes/a/pods", lent.token("a"))
        return {one.name for one in answer.pods.pods}

    async def settled() -> bool:
        return await names() == {"leaving", "train-0"}

    await eventually(settled)


async def test_a_pod_is_sent_with_all_it_takes_to_find_its_files(lent: Yard) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "fit", "uid": "j", "controller": True}
    metrics, checkpoint = "shuntyard.io/metrics", "shuntyard.io/checkpoint"
    lent.fake.put(
        paths.JOBS,
        {
            "metadata": {
                "name": "fit", "namespace": "default",
                "annotations": {metrics: "path=of-the-job", checkpoint: "ckpt"},
            },
            "spec": {"parallelism": 1, "completions": 1},
        },
    )  # fmt: skip
    (job,) = lent.fake.objects(paths.JOBS)
    made = member(
        "fit-0",
        labels={
            "shuntyard.io/role": "worker",
            "batch.kubernetes.io/job-completion-index": "3",
        },
        annotations={metrics: "path=of-the-pod"},
        ownerReferences=[{**owner, "uid": job["metadata"]["uid"]}],
    )
    lent.fake.put(paths.PODS, made)

    async def place():
        answer = await lent.call("GET", "/v1/nodes/a/pods", lent.token("a"))
        return next((p for p in answer.pods.pods if p.checkpoint), None)

    found = await eventually(place)
    assert (found.namespace, found.name, found.job) == ("default", "fit-0", "fit")
    assert (found.role, found.index) == ("worker", 3)
    assert (found.metrics, found.checkpoint) == ("path=of-the-pod", "ckpt")


async def test_pods_that_did_not_change_are_not_sent_again(lent: Yard) -> None:
    token = lent.token("a")
    first = await lent.call("GET", "/v1/nodes/a/pods", token)
    tag = {"If-None-Match": first.headers["ETag"]}
    again = await lent.call("GET", "/v1/nodes/a/pods", token, headers=tag)
    assert (again.status, again.text, again.headers["ETag"]) == (304, "", first.headers["ETag"])
    weak = {"If-None-Match": f'"other", W/{first.headers["ETag"]}'}
    assert (await lent.call("GET", "/v1/nodes/a/pods", token, headers=weak)).status == 304
    lent.fake.put(paths.PODS, member("train-0"))

    async def changed() -> bool:
        return (await lent.call("GET", "/v1/nodes/a/pods", token, headers=tag)).status == 200

    await eventually(changed)


async def test_there_is_no_way_in_without_tls(lent: Yard) -> None:
    plain = lent.url.replace("https", "http")
    with pytest.raises(aiohttp.ClientError):
        async with lent.session.get(f"{plain}/v1/nodes/a/pods"):
            pass


async def test_tls_is_1_2_at_least(lent: Yard) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = ssl.TLSVersion.TLSv1_1
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    _, writer = await asyncio.open_connection(*lent.running.others[1], ssl=old)
    writer.close()
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError, match=r"^$|version"):  # a reset, or an alert before it
        await asyncio.open_connection(*lent.running.others[1], ssl=old)


async def test_without_a_certificate_the_listener_stays_closed() -> None:
    async with FakeKube.running() as fake, extender(fake) as running:
        assert len(running.others) == 1


async def test_a_renewed_certificate_is_used_and_a_broken_one_is_not(
    trust: Trust, tmp_path, caplog
) -> None:
    mounted = Trust(trust.authority, tmp_path / "tls.crt", tmp_path / "tls.key")
    other = await asyncio.to_thread(trust.renewed)
    await asyncio.to_thread(_copy, trust, mounted)
    async with yard(mounted) as lent:
        renewal = next(one for one in lent.running.parts.loops if isinstance(one, RenewalLoop))
        assert await asyncio.to_thread(_issuer_is, lent, trust)
        await asyncio.to_thread(shutil.copy, other.certificate, mounted.certificate)
        await renewal.check(Door.AGENTS)
        assert "keeps its old certificate" in caplog.text
        assert await asyncio.to_thread(_issuer_is, lent, trust)
        await asyncio.to_thread(shutil.copy, other.key, mounted.key)
        await renewal.check(Door.AGENTS)
        assert await asyncio.to_thread(_issuer_is, lent, other)
        assert (await lent.call("GET", "/v1/nodes/a/pods", lent.token("a"))).status == 200


def _copy(source: Trust, target: Trust) -> None:
    shutil.copy(source.certificate, target.certificate)
    shutil.copy(source.key, target.key)


def _issuer_is(lent: Yard, trust: Trust) -> bool:
    """Say whether a new connection is shown a certificate of ``trust``."""
    shown = ssl.get_server_certificate(lent.running.others[1])
    return shown.split() == trust.certificate.read_text().split()


async def test_what_was_decided_beside_heartbeats_is_decided_again(trust: Trust, tmp_path) -> None:
    async with FakeKube.running() as fake, lease(fake):
        fake.put(paths.NODES, node("a"))
        async with yard(trust, fake, decision_log={"directory": tmp_path}) as lent:
            for sequence in range(1, 6):
                full = sequence == 1
                said = progress("x", step=sequence, curve=[1.0])
                assert (await lent.beat(heartbeat("a", sequence, said, full=full))).status == 200
                fake.put(paths.PODS, pod(f"train-{sequence}", job=f"train-{sequence}", size=1))
            await eventually(lambda: _released(fake) == 4)
    parameters = core_parameters(ExtenderSettings.model_validate(QUICK), labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, parameters) == 0
    text = await asyncio.to_thread(lambda: "".join(p.read_text() for p in tmp_path.iterdir()))
    assert text.count('"type":"ReportRecord"') == 5


def _released(fake: FakeKube) -> int:
    """Count the pods that were released; a node of 4 CPUs has room for four."""
    return sum(not one["spec"].get("schedulingGates") for one in fake.objects(paths.PODS))


async def test_nodes_are_counted_by_what_their_agents_say(lent: Yard) -> None:
    await lent.beat(heartbeat("a", 1))
    _loop(lent).count()
    host, port = lent.running.others[0]
    async with lent.session.get(f"http://{host}:{port}/metrics") as response:
        text = await response.text()
    for state, nodes in {"fresh": 1.0, "silent": 1.0, "stale": 0.0, "incomplete": 0.0}.items():
        assert f'shuntyard_reporting_nodes{{state="{state}"}} {nodes}' in text
    assert 'shuntyard_token_reviews_total{verdict="accepted"} 1.0' in text
    assert 'shuntyard_requests_total{outcome="ok",verb="heartbeat"} 1.0' in text


def _loop(lent: Yard) -> ReportsLoop:
    return next(one for one in lent.running.parts.loops if isinstance(one, ReportsLoop))


async def test_a_certificate_that_cannot_be_used_ends_the_start(trust: Trust, tmp_path) -> None:
    async with FakeKube.running() as fake:
        wrong = {"certificate": trust.certificate, "key": tmp_path / "missing"}
        with pytest.raises(SettingsError, match=r"missing cannot be used: .*No such file"):
            async with extender(fake, agents=wrong):
                pass
