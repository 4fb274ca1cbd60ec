"""The read API computes no answer on the event loop (defect A8)."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from bench import made_up
from extender.core import explain
from extender.core.cluster import job_views
from extender.core.cluster.job_views import VIEWS
from extender.core.explain import MOST_ENTRIES, Page
from extender.core.parameters.combined import CoreParameters
from extender.core.records import migration_entries
from extender.metrics.extender import ExtenderMetrics
from extender.servers import caches, threads
from extender.servers.applications import create_api_app, create_runner, create_scheduler_app
from extender.servers.auth import authorizer
from extender.servers.readapi import manifests
from extender.servers.readapi.answers import MOST_FRESH_PODS, ReadAnswers
from extender.servers.threads import WorkCancelledError
from extender.store.store import ClusterStore
from shared.readapi import api
from shared.system_clock import SystemClock
from tests.fakes.eventually import eventually
from tests.fakes.ports import FakeHealth, FakeScheduler

MANIFEST = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "supposed"},
    "spec": {"template": {"spec": {"containers": [{"name": "x"}]}}},
}
PATHS = (
    "queue",
    "nodes",
    "jobs",
    "migrations",
    "rescales",
    "namespaces",
    "prices",
    "prices?slots=true",
    "explain?namespace=team&job=running-000000",
    "explain?namespace=team&pod=running-000000-0",
    "explain?namespace=team&name=nothing",
)
OFFER = {"Pod": {"metadata": {"name": "x"}}, "NodeNames": ["a"]}


@dataclass
class Served:
    """Both listeners, on one event loop, over a made-up cluster."""

    url: str
    scheduler_url: str
    session: aiohttp.ClientSession
    read: ReadAnswers

    async def get(self, path: str) -> tuple[int, bytes]:
        async with self.session.get(f"{self.url}{path}") as answer:
            return answer.status, await answer.read()

    async def what_if(self) -> tuple[int, bytes]:
        url = f"{self.url}/v1/what-if"
        async with self.session.post(url, json=MANIFEST) as answer:
            return answer.status, await answer.read()

    async def others_are_answered(self) -> None:
        """Check that probes and kube-scheduler are answered, which must never wait."""
        async with asyncio.timeout(60):
            assert (await self.get("/livez"))[0] == 200
            url = f"{self.scheduler_url}/filter"
            async with self.session.post(url, json=OFFER) as answer:
                assert answer.status == 200


@asynccontextmanager
async def served(store: ClusterStore) -> AsyncIterator[Served]:
    metrics = ExtenderMetrics()
    read = ReadAnswers(store, CoreParameters(), SystemClock(), lambda: True, lambda: None)
    apps = (
        create_api_app(read, FakeHealth(), metrics),
        create_scheduler_app(FakeScheduler(), metrics),
    )
    runners = [create_runner(app, drain_seconds=0.1) for app in apps]
    async with aiohttp.ClientSession() as session:
        for runner in runners:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
        urls = ["http://{}:{}".format(*runner.addresses[0][:2]) for runner in runners]
        yield Served(urls[0], urls[1], session, read)
        for runner in runners:
            await runner.cleanup()


def small() -> ClusterStore:
    return made_up.store(3, 30)


@pytest.fixture
def thread_names(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """The threads in which the parts of an answer were computed, by part."""
    names: dict[str, set[str]] = {}

    def watch(module: Any, name: str) -> None:
        real: Callable[..., Any] = getattr(module, name)

        def call(*given: Any, **named: Any) -> Any:
            names.setdefault(name, set()).add(threading.current_thread().name)
            return real(*given, **named)

        monkeypatch.setattr(module, name, call)

    for name in ("queue", "nodes", "all_jobs", "namespaces", "prices", "job", "pod", "named"):
        watch(explain, name)
    for name in ("what_if", "paused", "isolated"):
        watch(explain, name)
    watch(explain, "rescale_ledger")
    watch(migration_entries, "migrations_response")
    watch(manifests, "read")
    watch(manifests, "namespaces")
    return names


async def test_no_answer_is_computed_on_the_event_loop(thread_names: dict[str, set[str]]) -> None:
    async with served(small()) as server:
        for path in PATHS:
            status, _ = await server.get(f"/v1/{path}")
            assert status in {200, 404}, path
        assert (await server.what_if())[0] == 200
    main = threading.main_thread().name
    assert {part for part, names in thread_names.items() if main in names} == set()
    assert thread_names.keys() >= {"queue", "nodes", "all_jobs", "what_if", "job", "pod", "read"}


async def test_json_is_encoded_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    real, names = msgspec.json.Encoder(), set()

    class Watched:
        def encode(self, body: object) -> bytes:
            names.add(threading.current_thread().name)
            return real.encode(body)

    monkeypatch.setattr(authorizer, "_ENCODER", Watched())
    async with served(small()) as server:
        for path in PATHS[:8]:
            assert (await server.get(f"/v1/{path}"))[0] == 200
    assert {name.startswith("shuntyard-redaction") for name in names} == {True}


LONG = {
    "/v1/jobs": "all_jobs",
    "/v1/queue": "queue",
    "/v1/nodes": "nodes",
    "/v1/explain?namespace=team&job=running-000000": "job",
    "what-if": "what_if",
}


@pytest.mark.parametrize(("path", "part"), LONG.items(), ids=LONG)
async def test_probes_and_kube_scheduler_are_answered_while_an_answer_is_computed(
    path: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on, real = threading.Event(), threading.Event(), getattr(explain, part)

    def held(*given: Any, **named: Any) -> Any:
        began.set()
        assert go_on.wait(60)
        return real(*given, **named)

    monkeypatch.setattr(explain, part, held)
    async with served(small()) as server:
        request = asyncio.create_task(server.what_if() if path == "what-if" else server.get(path))
        try:
            await eventually(began.is_set)
            await server.others_are_answered()
            assert not request.done()
        finally:
            go_on.set()
        assert (await request)[0] == 200


async def test_a_list_does_not_wait_for_a_long_what_if(monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()

    def held(*_given: Any, **_named: Any) -> Any:
        began.set()
        assert go_on.wait(60)
        raise WorkCancelledError("in the test")

    monkeypatch.setattr(explain, "what_if", held)
    async with served(small()) as server:
        request = asyncio.create_task(server.what_if())
        try:
            await eventually(began.is_set)
            async with asyncio.timeout(60):
                assert (await server.get("/v1/jobs"))[0] == 200
        finally:
            go_on.set()
        await request


async def test_the_work_ends_when_its_caller_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """(defect A3): requests without a waiting caller must not fill the queue."""
    began, ended = threading.Event(), threading.Event()

    def endless(session: explain.ExplainSession, *_given: Any, **_named: Any) -> Any:
        began.set()
        try:
            while True:
                session.check()
        finally:
            ended.set()

    monkeypatch.setattr(explain, "what_if", endless)
    async with served(small()) as server:
        request = asyncio.create_task(server.what_if())
        await eventually(began.is_set)
        request.cancel()
        await eventually(ended.is_set)


async def test_an_answer_that_takes_too_long_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """(defect A3): a placement first examines the nodes, and checks the token there."""
    monkeypatch.setattr(
        threads.CancellationToken, "start", lambda token: setattr(token, "_until", 0.0)
    )
    async with served(small()) as server:
        status, text = await server.what_if()
        assert (status, b"takes longer than 20 s" in text) == (422, True)
        assert (await server.get("/v1/jobs"))[0] == 200


async def test_a_page_is_computed_once_for_many_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    real = explain.all_jobs

    def counted(*given: Any, **named: Any) -> Any:
        calls.append(1)
        return real(*given, **named)

    monkeypatch.setattr(explain, "all_jobs", counted)
    monkeypatch.setattr(caches, "KEPT_SECONDS", 3600.0)
    async with served(small()) as server:
        async with asyncio.TaskGroup() as group:
            requests = [group.create_task(server.get("/v1/jobs")) for _ in range(20)]
        assert {request.result()[0] for request in requests} == {200}
    assert len(calls) == 1


def many(jobs: int) -> ClusterStore:
    """Return a store with so many jobs of one pod each."""
    store = made_up.store(3, 0)
    for number in range(jobs):
        for pod in made_up.waiting(f"job-{number:05}", 1):
            store.apply(made_up.Upsert(pod))
    return store


async def pages(server: Served, path: str) -> list[api.JobsResponse]:
    answers = [msgspec.json.decode((await server.get(path))[1], type=api.JobsResponse)]
    while answers[-1].more:
        _, text = await server.get(f"{path}&continue={answers[-1].more}")
        answers.append(msgspec.json.decode(text, type=api.JobsResponse))
    return answers


async def test_jobs_come_in_pages_in_order_and_each_once() -> None:
    async with served(many(1203)) as server:
        whole = await pages(server, "/v1/jobs?limit=100000")
        assert [len(page.entries) for page in whole] == [500, 500, 203]
        names = [entry.job for page in whole for entry in page.entries]
        assert names == sorted(names)
        assert len(set(names)) == 1203
        of_team = await pages(server, "/v1/jobs?limit=700&namespace=team")
        assert [len(page.entries) for page in of_team] == [500, 500, 203]
        assert (await pages(server, "/v1/jobs?namespace=none"))[0].entries == ()


BAD = ("limit=0", "limit=-1", "limit=x", "limit=" + "9" * 50, "limit=٣", "continue=" + "x" * 2000)


@pytest.mark.parametrize("query", BAD)
async def test_bad_page_parameters_are_refused(query: str) -> None:
    async with served(small()) as server:
        status, text = await server.get(f"/v1/jobs?{query}")
        assert (status, b"query parameter" in text) == (400, True)
        assert len(text) < 500


async def test_the_page_of_a_list_by_position_continues_at_a_number() -> None:
    async with served(small()) as server:
        for path in ("queue", "migrations", "rescales", "namespaces"):
            assert (await server.get(f"/v1/{path}?continue=a/job/b"))[0] == 400


@pytest.mark.parametrize("pods", [8000, 50_000])
async def test_no_more_jobs_are_viewed_than_a_page_has(
    pods: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work and memory of one answer are bounded, and the loop goes on meanwhile."""
    viewed: list[str] = []
    real, began, go_on = job_views.view, threading.Event(), threading.Event()

    def view(snapshot: Any, key: Any) -> Any:
        viewed.append(threading.current_thread().name)
        began.set()
        assert go_on.wait(60)
        return real(snapshot, key)

    monkeypatch.setattr(job_views, "view", view)
    async with served(await asyncio.to_thread(made_up.store, pods // 50, pods)) as server:
        request = asyncio.create_task(server.get("/v1/jobs"))
        await eventually(began.is_set)
        await server.others_are_answered()
        go_on.set()
        status, text = await request
        assert (status, len(json.loads(text)["entries"])) == (200, MOST_ENTRIES)
    assert len(viewed) == MOST_ENTRIES
    assert {name.startswith("shuntyard-lists") for name in viewed} == {True}


def test_a_supposed_job_is_not_kept_in_the_cache_of_the_cluster() -> None:
    """Ten thousand pods of a what-if would stay there until the next cycle."""
    store = small()
    snapshot = store.snapshot()
    read = ReadAnswers(store, CoreParameters(), SystemClock(), lambda: True, lambda: None)

    async def ask() -> None:
        await read.what_if(json.dumps(MANIFEST).encode(), "default")
        await read.jobs(Page(limit=10))
        read.close()

    asyncio.run(ask())
    assert snapshot.cache.of(VIEWS).latest("default/job/supposed") is None


def test_lists_of_a_small_cluster_are_fresh_and_of_a_large_one_a_second_old() -> None:
    for pods, is_fresh in ((10, True), (MOST_FRESH_PODS + 1, False)):
        store = made_up.store(3, pods)
        read = ReadAnswers(store, CoreParameters(), SystemClock(), lambda: True, lambda: None)
        before = read.version()
        assert read.version() == before, "nothing has changed"
        for pod in made_up.waiting("new", 1):
            store.apply(made_up.Upsert(pod))
        assert (read.version() != before) is is_fresh
        read.close()
