"""Heartbeats: which are accepted, how they are answered, and which pods an agent is sent."""

import asyncio
import gzip
import json

import pytest

from extender.app import replay
from extender.controllers.measure import ReportsLoop
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from shared.progress import GpuHealth
from shared.readapi import api
from tests.component.agents import (
    Trust,
    Yard,
    heartbeat,
    knows,
    member,
    progress,
    yard,
)
from tests.component.shell import IDENTITY, QUICK, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def cluster(trust: Trust):
    async with yard(trust) as cluster:
        yield cluster


async def test_the_report_of_an_agent_is_shown_by_the_read_api(cluster: Yard) -> None:
    cluster.fake.put(paths.PODS, member("train-0"))
    await eventually(lambda: _jobs(cluster))
    (uid,) = [p["metadata"]["uid"] for p in cluster.fake.objects(paths.PODS)]
    converged = progress(uid, category="converged", total_steps=10, curve=[3, 2, 1])
    node = {"use": {"cpu_cores": 1.5}, "cpu_cores": 4, "gpus": {"devices": 8, "lost": 1}}
    body = heartbeat("a", 1, converged, **node)
    answer = await cluster.beat(body)
    assert (answer.status, answer.heartbeat.full_wanted) == (200, False)
    agent = await cluster.agent("a")
    assert agent is not None
    assert (agent.stale, agent.complete, agent.converged, agent.cpu_cores) == (False, True, 1, 4.0)
    assert agent.gpus == GpuHealth(devices=8, lost=1)
    (job,) = await _jobs(cluster)
    assert job.progress is not None
    assert (job.progress.step, job.progress.total_steps, job.progress.curve) == (7, 10, (3, 2, 1))


async def _jobs(cluster: Yard):
    return (await cluster.read("/v1/jobs", api.JobsResponse)).entries


async def test_changes_without_a_full_report_are_answered_with_a_request_for_one(
    cluster: Yard,
) -> None:
    first = await cluster.beat(heartbeat("a", 1, progress("x"), full=False))
    assert first.heartbeat.full_wanted
    agent = await cluster.agent("a")
    assert agent is not None
    assert not agent.complete
    assert not (await cluster.beat(heartbeat("a", 2, progress("x")))).heartbeat.full_wanted
    for sequence in (3, 3, 2):
        answer = await cluster.beat(heartbeat("a", sequence, full=False, gone=["x"]))
        assert (answer.status, answer.heartbeat.full_wanted) == (200, False)
    new_life = heartbeat("a", 1, full=False, boot="boot-2")
    assert (await cluster.beat(new_life)).heartbeat.full_wanted


async def test_after_a_restart_every_agent_is_asked_for_a_full_report(trust: Trust) -> None:
    async with FakeKube.running() as fake:
        fake.put(paths.NODES, node("a"))
        async with yard(trust, fake) as cluster:
            await cluster.beat(heartbeat("a", 1))
            assert not (await cluster.beat(heartbeat("a", 2, full=False))).heartbeat.full_wanted
        async with yard(trust, fake) as cluster:
            assert await cluster.agent("a") is None
            assert (await cluster.beat(heartbeat("a", 3, full=False))).heartbeat.full_wanted


async def test_only_the_leader_is_acting(trust: Trust) -> None:
    async with yard(trust) as cluster:
        standby = (await cluster.beat(heartbeat("a", 1))).heartbeat
        assert (standby.acting, standby.commands) == (False, ())
        assert (await cluster.agent("a")) is not None  # a standby keeps reports, too
        async with lease(cluster.fake, IDENTITY):

            async def acts() -> bool:
                sequence = acts.sequence = acts.sequence + 1  # type: ignore[attr-defined]
                return (await cluster.beat(heartbeat("a", sequence))).heartbeat.acting

            acts.sequence = 1  # type: ignore[attr-defined]
            await eventually(acts)


async def test_a_node_or_pod_that_is_not_the_agents_is_refused(cluster: Yard) -> None:
    unknown = await cluster.beat(heartbeat("nowhere"))
    assert (unknown.status, "there is no node nowhere" in unknown.text) == (404, True)
    assert (
        await cluster.call("GET", "/v1/nodes/nowhere/pods", cluster.token("nowhere"))
    ).status == 404
    cluster.fake.put(paths.PODS, member("other", "b"))
    await eventually(lambda: _jobs(cluster))
    (uid,) = [p["metadata"]["uid"] for p in cluster.fake.objects(paths.PODS)]
    foreign = await cluster.beat(heartbeat("a", 1, progress("x"), progress(uid)))
    assert (foreign.status, foreign.text) == (403, "pods.1.uid: that pod is on another node")
    assert await cluster.agent("a") is None


async def test_the_report_of_a_node_is_removed_with_it(cluster: Yard) -> None:
    assert (await cluster.beat(heartbeat("a", 1))).status == 200
    cluster.fake.remove(paths.NODES, "a")
    await eventually(lambda: knows(cluster))
    cluster.fake.put(paths.NODES, node("a"))
    await eventually(lambda: knows(cluster))
    assert await cluster.agent("a") is None
    assert (await cluster.beat(heartbeat("a", 2, full=False))).heartbeat.full_wanted


PLAIN = json.dumps(heartbeat("a", 1, *(progress(f"u-{i}") for i in range(100)))).encode()

BOMB = gzip.compress(b'{"node": "' + b"x" * 2**24)

GZIP = {"Content-Encoding": "gzip"}

BODIES = {
    "plain": (PLAIN, {}, 200, ""),
    "packed": (gzip.compress(PLAIN), GZIP, 200, ""),
    "packed, in capitals": (gzip.compress(PLAIN), {"Content-Encoding": " GZIP "}, 200, ""),
    "packed and truncated": (gzip.compress(PLAIN)[:-1], GZIP, 400, "one whole gzip member"),
    "packed, with more after it": (gzip.compress(PLAIN) + b"x", GZIP, 400, "one whole gzip member"),
    "plain, declared as packed": (PLAIN, GZIP, 400, "expected gzip"),
    "empty, declared as packed": (b"", GZIP, 400, "one whole gzip member"),
    "a bomb": (BOMB, GZIP, 413, "exceeded"),
    "too large": (b" " * 2**17, {}, 413, "exceeded"),
    "packed with another encoding": (
        PLAIN,
        {"Content-Encoding": "br"},
        415,
        "expected gzip or none",
    ),
}


@pytest.mark.parametrize(("body", "headers", "status", "text"), BODIES.values(), ids=BODIES)
async def test_a_body_may_be_packed_but_not_large(
    trust: Trust, body: bytes, headers: dict[str, str], status: int, text: str
) -> None:
    async with yard(trust, agents={"most_body_bytes": 2**16}) as cluster:
        token = cluster.token("a")
        answer = await cluster.call("POST", "/v1/heartbeats", token, data=body, headers=headers)
        assert (answer.status, text in answer.text) == (status, True), answer
        assert (await cluster.beat(heartbeat("a", 2), token)).status == 200


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


@pytest.mark.parametrize(("changes", "texts"), WRONG.values(), ids=WRONG)
async def test_a_bad_field_is_named(cluster: Yard, changes, texts: list[str]) -> None:
    body = changes if isinstance(changes, bytes) else json.dumps({**heartbeat("a"), **changes})
    answer = await cluster.call("POST", "/v1/heartbeats", cluster.token("a"), data=body)
    assert answer.status == 400
    assert [text for text in texts if text not in answer.text] == []
    assert await cluster.agent("a") is None


async def test_the_pods_of_a_node_are_our_bound_and_unfinished_ones(cluster: Yard) -> None:
    theirs = member("theirs")
    theirs["spec"]["schedulerName"] = "default-scheduler"
    finished = {**member("finished"), "status": {"phase": "Succeeded"}}
    waiting = pod("waiting", job="train", size=2)
    leaving = member("leaving", deletionTimestamp="2026-11-21T12:00:00Z")
    for manifest in (
        *(theirs, finished, waiting, leaving),
        *(member("elsewhere", "b"), member("train-0")),
    ):
        cluster.fake.put(paths.PODS, manifest)

    async def names() -> set[str]:
        answer = await cluster.call("GET", "/v1/nodes/a/pods", cluster.token("a"))
        return {place.name for place in answer.pods.pods}

    async def settled() -> bool:
        return await names() == {"leaving", "train-0"}

    await eventually(settled)


async def test_a_pod_is_sent_with_what_its_files_are_found_by(cluster: Yard) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "fit", "uid": "j", "controller": True}
    metrics, checkpoint = "shuntyard.io/metrics", "shuntyard.io/checkpoint"
    cluster.fake.put(
        paths.JOBS,
        {
            "metadata": {
                "name": "fit", "namespace": "default",
                "annotations": {metrics: "path=of-the-job", checkpoint: "ckpt"},
            },
            "spec": {"parallelism": 1, "completions": 1},
        },
    )  # fmt: skip
    (job,) = cluster.fake.objects(paths.JOBS)
    worker = member(
        "fit-0",
        labels={
            "shuntyard.io/role": "worker",
            "batch.kubernetes.io/job-completion-index": "3",
        },
        annotations={metrics: "path=of-the-pod"},
        ownerReferences=[{**owner, "uid": job["metadata"]["uid"]}],
    )
    cluster.fake.put(paths.PODS, worker)

    async def place():
        answer = await cluster.call("GET", "/v1/nodes/a/pods", cluster.token("a"))
        return next((p for p in answer.pods.pods if p.checkpoint), None)

    sent = await eventually(place)
    assert (sent.namespace, sent.name, sent.job) == ("default", "fit-0", "fit")
    assert (sent.role, sent.index) == ("worker", 3)
    assert (sent.metrics, sent.checkpoint) == ("path=of-the-pod", "ckpt")


async def test_pods_that_did_not_change_are_not_sent_again(cluster: Yard) -> None:
    token = cluster.token("a")
    first = await cluster.call("GET", "/v1/nodes/a/pods", token)
    tag = {"If-None-Match": first.headers["ETag"]}
    again = await cluster.call("GET", "/v1/nodes/a/pods", token, headers=tag)
    assert (again.status, again.text, again.headers["ETag"]) == (304, "", first.headers["ETag"])
    weak = {"If-None-Match": f'"other", W/{first.headers["ETag"]}'}
    assert (await cluster.call("GET", "/v1/nodes/a/pods", token, headers=weak)).status == 304
    cluster.fake.put(paths.PODS, member("train-0"))

    async def changed() -> bool:
        return (await cluster.call("GET", "/v1/nodes/a/pods", token, headers=tag)).status == 200

    await eventually(changed)


async def test_decisions_beside_heartbeats_replay(trust: Trust, tmp_path) -> None:
    async with FakeKube.running() as fake, lease(fake):
        fake.put(paths.NODES, node("a"))
        async with yard(trust, fake, decision_log={"directory": tmp_path}) as cluster:
            for sequence in range(1, 6):
                full = sequence == 1
                update = progress("x", step=sequence, curve=[1.0])
                assert (
                    await cluster.beat(heartbeat("a", sequence, update, full=full))
                ).status == 200
                fake.put(paths.PODS, pod(f"train-{sequence}", job=f"train-{sequence}", size=1))
            await eventually(lambda: _released(fake) == 4)
    parameters = core_parameters(ExtenderSettings.model_validate(QUICK), labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, parameters) == 0
    text = await asyncio.to_thread(lambda: "".join(p.read_text() for p in tmp_path.iterdir()))
    assert text.count('"type":"ReportRecord"') == 5


def _released(fake: FakeKube) -> int:
    """Count the pods that were released; a node of 4 CPUs has room for four."""
    return sum(not pod["spec"].get("schedulingGates") for pod in fake.objects(paths.PODS))


async def test_nodes_are_counted_by_the_state_of_their_reports(cluster: Yard) -> None:
    await cluster.beat(heartbeat("a", 1))
    _loop(cluster).count()
    host, port = cluster.running.others[0]
    async with cluster.session.get(f"http://{host}:{port}/metrics") as response:
        text = await response.text()
    for state, nodes in {"fresh": 1.0, "silent": 1.0, "stale": 0.0, "incomplete": 0.0}.items():
        assert f'shuntyard_reporting_nodes{{state="{state}"}} {nodes}' in text
    assert 'shuntyard_token_reviews_total{verdict="accepted"} 1.0' in text
    assert 'shuntyard_requests_total{outcome="ok",verb="heartbeat"} 1.0' in text


def _loop(cluster: Yard) -> ReportsLoop:
    return next(loop for loop in cluster.running.parts.loops if isinstance(loop, ReportsLoop))
