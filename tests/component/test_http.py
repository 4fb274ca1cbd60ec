"""Both applications over a real socket, with canned answers."""

import asyncio
import io
import logging
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from extender.core.scheduler.binding import POD_GONE, STANDBY, CallError
from extender.core.scheduler.filtering import FilterVerdict
from extender.metrics.extender import ExtenderMetrics
from extender.servers.applications import (
    KEEPALIVE_SECONDS,
    MOST_MANIFEST_BYTES,
    create_api_app,
    create_runner,
    create_scheduler_app,
)
from shared.readapi import api
from shared.readapi.ledgers import ParkingsResponse, RescalesResponse
from shared.readapi.pricing import PricesResponse
from shared.readapi.tenancy import NamespacesResponse
from tests.fakes.answers import EXPLAIN, EXPLAIN_JOB, PRICES, QUEUE, SLOTS
from tests.fakes.ports import REFUSED, FakeHealth, FakeRead, FakeScheduler

Client = TestClient[web.Request, web.Application]
Connect = Callable[[web.Application], Awaitable[Client]]

POD = {"metadata": {"name": "p-0", "namespace": "team-a", "uid": "u-0"}, "spec": {}}
NODES = {"metadata": {}, "items": [{"metadata": {"name": n}, "x": [1]} for n in ("a", "b", "c")]}


@pytest.fixture
def port() -> FakeScheduler:
    return FakeScheduler()


@pytest.fixture
def metrics() -> ExtenderMetrics:
    return ExtenderMetrics()


@pytest.fixture
async def scheduler(
    aiohttp_client: Connect, port: FakeScheduler, metrics: ExtenderMetrics
) -> Client:
    return await aiohttp_client(create_scheduler_app(port, metrics))


@pytest.fixture
def health() -> FakeHealth:
    return FakeHealth()


@pytest.fixture
async def people(aiohttp_client: Connect, health: FakeHealth, metrics: ExtenderMetrics) -> Client:
    return await aiohttp_client(create_api_app(FakeRead(), health, metrics))


async def sample(metrics: ExtenderMetrics, name: str, **labels: str) -> float | None:
    return await asyncio.to_thread(metrics.registry.get_sample_value, name, labels)


async def count(metrics: ExtenderMetrics, verb: str, outcome: str) -> float | None:
    return await sample(metrics, "shuntyard_requests_total", verb=verb, outcome=outcome)


async def test_filter_answers_names_with_names(scheduler: Client, port: FakeScheduler) -> None:
    body = {"Pod": POD, "Nodes": None, "NodeNames": ["a", "b"]}
    response = await scheduler.post("/filter", json=body)
    assert response.status == 200
    assert response.content_type == "application/json"
    assert await response.json() == {
        "Nodes": None,
        "NodeNames": ["a"],
        "FailedNodes": {"b": REFUSED},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    assert port.calls == [("filter", "team-a/p-0", ("a", "b"))]


async def test_filter_answers_whole_nodes_with_whole_nodes(scheduler: Client) -> None:
    response = await scheduler.post("/filter", json={"Pod": POD, "Nodes": NODES, "NodeNames": None})
    answer = await response.json()
    assert answer["NodeNames"] is None
    assert answer["Nodes"] == {"metadata": {}, "items": NODES["items"][:1]}
    assert answer["FailedNodes"] == {"b": REFUSED, "c": REFUSED}


async def test_prioritize_answers_a_list_of_hosts_and_scores(scheduler: Client) -> None:
    response = await scheduler.post("/prioritize", json={"Pod": POD, "NodeNames": ["a", "b"]})
    assert await response.json() == [{"Host": "a", "Score": 10}, {"Host": "b", "Score": 9}]


@pytest.mark.parametrize("error", [None, POD_GONE])
async def test_binds_answer_has_an_error_if_it_failed(
    scheduler: Client, port: FakeScheduler, error: CallError | None
) -> None:
    port.bind_error = error
    body = {"PodName": "p-0", "PodNamespace": "team-a", "PodUID": "u-0", "Node": "a"}
    response = await scheduler.post("/bind", json=body)
    text = "" if error is None else "shuntyard: the pod is gone"
    assert (response.status, await response.json()) == (200, {"Error": text})
    assert port.calls == [("bind", "team-a", "p-0", "u-0", "a")]


async def test_names_that_were_not_offered_are_never_returned(
    scheduler: Client, port: FakeScheduler
) -> None:
    failed = {"b": "text", "stranger": "text"}
    port.verdict = FilterVerdict(("a", "stranger"), failed=failed, unresolvable=failed)
    port.scores = [("a", 1), ("stranger", 2)]
    body = {"Pod": POD, "NodeNames": ["a", "b"]}
    answer = await (await scheduler.post("/filter", json=body)).json()
    assert answer["NodeNames"] == ["a"]
    assert answer["FailedNodes"] == answer["FailedAndUnresolvableNodes"] == {"b": "text"}
    scores = await (await scheduler.post("/prioritize", json=body)).json()
    assert scores == [{"Host": "a", "Score": 1}]


BAD: dict[str, tuple[str, bytes, str]] = {
    "not JSON": ("/filter", b"{", "body"),
    "not UTF-8": ("/filter", b'{"Pod": {}, "NodeNames": ["\xff"]}', "body"),
    "not UTF-8 either": ("/bind", b'{"PodName": "\xff"}', "body"),
    "no pod": ("/filter", b'{"NodeNames": []}', "`Pod`"),
    "a pod that is a number": ("/prioritize", b'{"Pod": 7, "NodeNames": []}', "Pod:"),
    "a pod without metadata": ("/filter", b'{"Pod": {}, "NodeNames": []}', "metadata"),
    "a bad quantity": (
        "/filter",
        b'{"Pod": {"metadata": {"name": "p"}, "spec": {"overhead": {"cpu": "much"}}}}',
        "cpu",
    ),
    "a name that is a number": ("/filter", b'{"Pod": {}, "NodeNames": [1]}', "$.NodeNames[0]"),
    "a node without a name": (
        "/filter",
        b'{"Pod": {"metadata": {"name": "p"}}, "Nodes": {"items": [{"metadata": {}}]}}',
        "Nodes.items[0]",
    ),
    "no uid": ("/bind", b'{"PodName": "p", "PodNamespace": "n", "Node": "a"}', "`PodUID`"),
}


@pytest.mark.parametrize(("path", "body", "want"), BAD.values(), ids=BAD.keys())
async def test_a_body_that_cannot_be_read_is_400_and_names_the_field(
    scheduler: Client, port: FakeScheduler, path: str, body: bytes, want: str
) -> None:
    response = await scheduler.post(path, data=body)
    assert response.status == 400
    assert want in await response.text()
    assert not port.calls


async def test_bodies_above_a_megabyte_are_read_and_answered(
    scheduler: Client, port: FakeScheduler
) -> None:
    """aiohttp's own limit would answer 413 from about 70 whole nodes on."""
    names = [f"node-{i}" for i in range(300)]
    items = [{"metadata": {"name": n, "annotations": {"x": "y" * 14_000}}} for n in names]
    port.verdict = FilterVerdict(passed=tuple(names))
    body = msgspec.json.encode({"Pod": POD, "Nodes": {"metadata": {}, "items": items}})
    assert len(body) > 4 * 2**20
    response = await scheduler.post("/filter", data=io.BytesIO(body))
    assert response.status == 200
    assert (await response.json())["Nodes"]["items"] == items


async def test_requests_are_counted_by_verb_and_outcome(
    scheduler: Client, port: FakeScheduler, metrics: ExtenderMetrics
) -> None:
    body = {"Pod": POD, "NodeNames": ["a"]}
    await scheduler.post("/filter", json=body)
    port.verdict = FilterVerdict(error=STANDBY)
    await scheduler.post("/filter", json=body)
    await scheduler.post("/filter", data=b"")
    await scheduler.post("/nowhere")
    for verb, outcome in (
        ("filter", "ok"),
        ("filter", "refused"),
        ("filter", "bad-request"),
        ("other", "bad-request"),
    ):
        assert await count(metrics, verb, outcome) == 1, (verb, outcome)
    timed = await sample(metrics, "shuntyard_request_duration_seconds_count", verb="filter")
    assert timed == 3


class BrokenScheduler(FakeScheduler):
    def filter(self, pod, node_names):  # type: ignore[no-untyped-def]
        raise ZeroDivisionError


async def test_a_defect_of_ours_is_500_logged_and_counted(
    aiohttp_client: Connect, metrics: ExtenderMetrics, caplog: pytest.LogCaptureFixture
) -> None:
    client = await aiohttp_client(create_scheduler_app(BrokenScheduler(), metrics))
    with caplog.at_level(logging.ERROR):
        response = await client.post("/filter", json={"Pod": POD, "NodeNames": ["a"]})
    assert response.status == 500
    assert await count(metrics, "filter", "fault") == 1
    assert "ZeroDivisionError" in caplog.text


async def test_prices_of_slots_come_on_request(people: Client) -> None:
    async def ask(**params: str) -> PricesResponse:
        answer = await people.get("/v1/prices", params=params)
        return msgspec.json.decode(await answer.read(), type=PricesResponse)

    assert await ask() == await ask(slots="false") == PRICES
    assert (await ask(slots="true")).slots == SLOTS
    unclear = await people.get("/v1/prices", params={"slots": "all"})
    assert (unclear.status, "query parameter slots" in await unclear.text()) == (400, True)


READ = {
    "/v1/queue": api.QueueResponse,
    "/v1/nodes": api.NodesResponse,
    "/v1/jobs": api.JobsResponse,
    "/v1/migrations": api.MigrationsResponse,
    "/v1/rescales": RescalesResponse,
    "/v1/parkings": ParkingsResponse,
    "/v1/prices": PricesResponse,
    "/v1/namespaces": NamespacesResponse,
}


@pytest.mark.parametrize(("path", "kind"), READ.items())
async def test_the_read_api_answers_with_its_version(
    people: Client, path: str, kind: type[api.Response]
) -> None:
    body = await (await people.get(path)).read()
    assert msgspec.json.decode(body)["apiVersion"] == api.API_VERSION
    assert msgspec.json.decode(body, type=kind).generated_at == 1000.0


async def test_the_queue_is_served_unchanged(people: Client) -> None:
    body = await (await people.get("/v1/queue")).read()
    assert msgspec.json.decode(body, type=api.QueueResponse) == QUEUE


HINT = "`shuntyard jobs` lists the jobs"


async def test_explain_finds_a_pod_or_answers_404(people: Client) -> None:
    found = await people.get("/v1/explain", params={"namespace": "team-a", "pod": "resnet-0"})
    assert msgspec.json.decode(await found.read(), type=api.ExplainResponse) == EXPLAIN
    lost = await people.get("/v1/explain", params={"namespace": "team-a", "pod": "gone"})
    assert (lost.status, await lost.text()) == (404, f"pod team-a/gone not found: {HINT}")
    unclear = await people.get("/v1/explain", params={"namespace": "team-a"})
    assert unclear.status == 400
    assert "query parameter pod" in await unclear.text()


async def test_explain_finds_a_job_too(people: Client) -> None:
    async def ask(**params: str) -> tuple[int, str]:
        answer = await people.get("/v1/explain", params={"namespace": "team-a", **params})
        return answer.status, await answer.text()

    of_job = (200, msgspec.json.encode(EXPLAIN_JOB).decode())
    assert await ask(job="resnet") == await ask(name="resnet") == of_job
    assert await ask(name="resnet-0") == (200, msgspec.json.encode(EXPLAIN).decode())
    assert await ask(job="resnet-0") == (404, f"job team-a/resnet-0 not found: {HINT}")
    assert await ask(name="gone") == (404, f"pod or job team-a/gone not found: {HINT}")
    of_a_kind = await ask(job="gone", kind="trainjob")
    assert of_a_kind == (404, f"job team-a/trainjob/gone not found: {HINT}")
    status, text = await ask(job="twice")
    assert (status, "job or pytorchjob" in text) == (400, True)
    assert await ask(job="twice", kind="pytorchjob") == of_job


JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "mine"},
    "spec": {"parallelism": 3, "template": {"spec": {"containers": [{"name": "main"}]}}},
}


async def test_what_if_takes_a_manifest(people: Client, metrics: ExtenderMetrics) -> None:
    found = await people.post("/v1/what-if", json=JOB)
    answer = msgspec.json.decode(await found.read(), type=api.WhatIfResponse)
    assert (answer.api_version, answer.pods, answer.job) == (api.API_VERSION, 3, "default")
    elsewhere = await people.post("/v1/what-if", params={"namespace": "team-a"}, json=JOB)
    assert (await elsewhere.json())["job"] == "team-a"
    refused = await people.post("/v1/what-if", json={**JOB, "spec": {"parallelism": 1}})
    assert (refused.status, "`$.spec`" in await refused.text()) == (400, True)
    large = msgspec.json.encode({**JOB, "x": "y" * MOST_MANIFEST_BYTES})
    assert (await people.post("/v1/what-if", data=io.BytesIO(large))).status == 413
    assert (await people.get("/v1/what-if")).status == 405
    assert await count(metrics, "whatif", "ok") == 2
    assert await count(metrics, "whatif", "bad-request") == 2


async def test_probes_follow_the_health(people: Client, health: FakeHealth) -> None:
    assert (await people.get("/livez")).status == 200
    health.alive = False
    silent = await people.get("/livez")
    assert (silent.status, await silent.text()) == (503, "schedule: silent for 61.0 s\n")
    assert (await people.get("/readyz")).status == 200
    health.ready = False
    assert (await people.get("/readyz")).status == 503


async def test_metrics_are_rendered_at_most_once_a_second(
    people: Client, metrics: ExtenderMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bytes] = []
    render = metrics.render
    monkeypatch.setattr(metrics, "render", lambda: made.append(b"") or render())
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(people.get("/metrics")) for _ in range(5)]
    texts = {await task.result().text() for task in tasks}
    assert len(texts) == len(made) == 1
    assert "shuntyard_acting 0.0" in texts.pop()


async def test_connections_are_kept_longer_than_by_gos_client() -> None:
    runner = create_runner(
        create_scheduler_app(FakeScheduler(), ExtenderMetrics()), drain_seconds=1
    )
    await runner.setup()
    assert runner.server is not None
    assert runner.server().keepalive_timeout == KEEPALIVE_SECONDS > 90
    await runner.cleanup()


async def test_a_runner_serves_and_ends(metrics: ExtenderMetrics) -> None:
    server = TestServer(create_scheduler_app(FakeScheduler(), metrics))
    async with TestClient(server) as client:
        response = await client.post("/bind", data=b"null")
        assert response.status == 400
