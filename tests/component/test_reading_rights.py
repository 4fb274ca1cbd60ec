"""The read API with tokens: everybody sees what the API server would show him."""

import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from extender.servers.auth import tokens, viewers
from extender.servers.readapi import redacting
from extender.servers.readapi.answers import ReadAnswers
from shared import labels
from shared.kube import paths
from tests.component.shell import Extender, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import SERVER_ERROR
from tests.fakes.kube_tokens import ISSUER

OWNER, ADMIN, NOBODY, SCRAPER = "red-owner", "admin", "nobody", "prometheus"
LISTS = ("queue", "jobs", "migrations", "rescales", "namespaces")


@dataclass
class Library:
    """An extender with waiting jobs of two namespaces, and people who read."""

    fake: FakeKube
    running: Extender
    session: aiohttp.ClientSession

    def token(self, user: str, **changes: Any) -> str:
        return self.fake.tokens.mint(user, changes.pop("audiences", [ISSUER]), **changes)

    async def get(self, path: str, token: str | None = None, **options: Any) -> tuple[int, str]:
        host, port = self.running.others[0]
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        method = options.pop("method", "GET")
        url = f"http://{host}:{port}{path}"
        async with self.session.request(method, url, headers=headers, **options) as response:
            return response.status, await response.text()

    async def names(self, path: str, token: str | None = None) -> set[str]:
        status, text = await self.get(path, token)
        assert status == 200, text
        return {entry["namespace"] for entry in json.loads(text)["entries"]}


@contextlib.asynccontextmanager
async def opened(**section: Any) -> AsyncIterator[Library]:
    """Run the extender; it need not have seen the jobs yet."""
    async with (
        FakeKube.running() as fake,
        lease(fake),
        extender(fake, api={"listen_port": 0, **section}) as running,
        aiohttp.ClientSession() as session,
    ):
        fake.put(paths.NODES, node("a", cpu="1"))
        for namespace in ("red", "blue"):
            fake.put(paths.NAMESPACES, {"metadata": {"name": namespace}})
            metadata = {"name": f"fit-{namespace}", "namespace": namespace}
            job_labels = {labels.JOB: f"fit-{namespace}"}
            notes = {labels.MIN_AVAILABLE: "9"}
            fake.put(
                paths.PODS,
                pod("x", metadata={**metadata, "labels": job_labels, "annotations": notes}),
            )
        fake.access.grant(OWNER, "list", "pods", "red")
        fake.access.grant(ADMIN, "list", "pods")
        fake.access.grant(ADMIN, "list", "nodes")
        fake.access.grant(SCRAPER, "get", "/metrics")
        yield Library(fake, running, session)


@contextlib.asynccontextmanager
async def library(**section: Any) -> AsyncIterator[Library]:
    async with opened(**section) as lent:
        admin = lent.token(ADMIN)

        async def waits() -> bool:
            return await lent.names("/v1/queue", admin) == {"red", "blue"}

        await eventually(waits)
        yield lent


async def test_who_may_list_pods_everywhere_sees_everything() -> None:
    async with library() as lent:
        token = lent.token(ADMIN)
        assert await lent.names("/v1/jobs", token) == {"red", "blue"}
        assert (await lent.get("/v1/nodes", token))[0] == 200
        assert (await lent.get("/v1/prices", token))[0] == 200
        status, _ = await lent.get("/v1/explain?namespace=blue&job=fit-blue", token)
        assert status == 200


async def test_who_may_list_pods_of_one_namespace_hears_of_no_other() -> None:
    async with library() as lent:
        token = lent.token(OWNER)
        for path in LISTS:
            status, text = await lent.get(f"/v1/{path}", token)
            assert (status, "blue" in text) == (200, False), path
        assert await lent.names("/v1/queue", token) == {"red"}
        assert await lent.names("/v1/namespaces", token) == {"red"}
        status, text = await lent.get("/v1/explain?namespace=red&job=fit-red", token)
        assert (status, "blue" in text) == (200, False)
        for path in ("nodes", "prices", "prices?slots=true", "explain?namespace=blue&pod=fit-blue"):
            status, text = await lent.get(f"/v1/{path}", token)
            assert (status, "the bearer of the token may not list" in text) == (403, True), path


async def test_who_asks_for_one_namespace_causes_questions_about_it_alone() -> None:
    async with library() as lent:
        admin, owner = lent.token(ADMIN), lent.token(OWNER)
        for path in LISTS:
            assert await lent.names(f"/v1/{path}?namespace=blue", admin) <= {"blue"}, path
        assert await lent.names("/v1/queue?namespace=blue", admin) == {"blue"}
        asked = lent.fake.access.reviews
        assert await lent.names("/v1/queue?namespace=red", owner) == {"red"}
        assert lent.fake.access.reviews == asked + 2  # everywhere, and there
        status, text = await lent.get("/v1/queue?namespace=blue", owner)
        assert (status, "may not list pods in the namespace blue" in text) == (403, True)


MANIFEST = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "asked"},
    "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}},
}
ABSENT = "absent"
NAMED: dict[str, tuple[str, dict[str, Any]]] = {
    **{path: (f"/v1/{path}?namespace={ABSENT}", {}) for path in LISTS},
    "explain a job": (f"/v1/explain?namespace={ABSENT}&job=x", {}),
    "explain a pod": (f"/v1/explain?namespace={ABSENT}&pod=x", {}),
    "what-if": (f"/v1/what-if?namespace={ABSENT}", {"method": "POST", "json": MANIFEST}),
}


async def test_a_namespace_that_does_not_exist_is_not_an_empty_one() -> None:
    """It is said to who may see it; all others are forbidden it, as they are others (defect B6)."""
    async with library() as lent:
        for path, options in NAMED.values():
            status, text = await lent.get(path, lent.token(ADMIN), **options)
            assert (status, text[:28]) == (404, "namespace absent not found: "), (path, text)
            hidden = await lent.get(path, lent.token(OWNER), **options)
            forbidden = path.replace(ABSENT, "blue")
            there = await lent.get(forbidden, lent.token(OWNER), **options)
            assert (hidden[0], hidden[1].replace(ABSENT, "blue")) == there
            assert there[0] == 403


async def test_a_manifest_may_make_the_namespace_of_its_job() -> None:
    async with library() as lent:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ABSENT}}
        body = {"apiVersion": "v1", "kind": "List", "items": [namespace, MANIFEST]}
        path, options = NAMED["what-if"]
        asked = {**options, "json": body}
        status, text = await lent.get(path, lent.token(ADMIN), **asked)
        assert (status, json.loads(text)["job"]) == (200, f"{ABSENT}/job/asked")


async def test_a_reader_of_few_rights_cannot_have_the_api_server_asked_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(viewers, "CALLER_AT_ONCE", 2)
    monkeypatch.setattr(viewers, "CALLER_PER_SECOND", 0.001)
    async with library() as lent:
        lent.fake.access.granted.add((OWNER, "list", "pods", "red"))
        asked = lent.fake.access.reviews
        for _ in range(5):  # everywhere, one of red and blue; the third is one too many
            status, text = await lent.get("/v1/queue", lent.token(OWNER))
            assert (status, "too often" in text) == (429, True)
        assert lent.fake.access.reviews == asked + 2
        assert await lent.names("/v1/queue", lent.token(ADMIN)) == {"red", "blue"}


async def test_what_must_not_be_heard_is_looked_for_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It reads every text of an answer: nobody else would be answered meanwhile."""
    where: dict[str, bool] = {}

    def watched(name: str) -> Callable[..., Any]:
        real = getattr(redacting, name)

        def call(*given: Any) -> Any:
            where[name] = threading.current_thread() is threading.main_thread()
            return real(*given)

        return call

    for name in ("listed", "named", "without_names"):
        monkeypatch.setattr(redacting, name, watched(name))
    async with library() as lent:
        assert await lent.names("/v1/queue", lent.token(OWNER)) == {"red"}
    assert where == {"listed": False, "named": False, "without_names": False}


async def test_a_pod_that_is_not_there_looks_like_one_that_may_not_be_seen() -> None:
    async with library() as lent:
        there = await lent.get("/v1/explain?namespace=blue&pod=fit-blue", lent.token(OWNER))
        missing = await lent.get("/v1/explain?namespace=blue&pod=none", lent.token(OWNER))
        assert there == missing


def manifest(namespace: str, name: str = "new") -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    pods = {"spec": {"schedulerName": "shuntyard", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parallelism": 2, "completions": 2, "template": pods},
    }


async def asked(lent: Library, *objects: dict[str, Any]) -> tuple[int, str]:
    whole = {"apiVersion": "v1", "kind": "List", "items": objects}
    body = json.dumps(whole if len(objects) > 1 else objects[0])
    return await lent.get("/v1/what-if", lent.token(OWNER), method="POST", data=body)


@pytest.mark.parametrize(("namespace", "status"), [("red", 200), ("blue", 403)])
async def test_what_if_is_answered_where_the_asker_sees_jobs(namespace: str, status: int) -> None:
    async with library() as lent:
        found, text = await asked(lent, manifest(namespace))
        assert found == status, text
        if status == 200:
            assert "blue" not in text
            assert json.loads(text)["waiting"] == 2  # how many there are is no secret


async def test_what_if_works_nothing_out_for_who_may_not_see_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether such a job is there already would be an answer, too."""
    worked_out: list[str] = []
    real = ReadAnswers.what_if

    async def watched(self: ReadAnswers, body: bytes, namespace: str) -> Any:
        worked_out.append(namespace)
        return await real(self, body, namespace)

    monkeypatch.setattr(ReadAnswers, "what_if", watched)
    async with library() as lent:
        there = await asked(lent, manifest("blue", "fit-blue"))
        assert there == await asked(lent, manifest("blue", "none"))
        assert there[0] == 403
        assert (await asked(lent, manifest("red"), manifest("blue")))[0] == 403
        many = [manifest(f"ns-{number}") for number in range(50)]
        assert (await asked(lent, *many))[0] == 400
        assert not worked_out
        assert (await asked(lent, manifest("red")))[0] == 200
        assert worked_out == ["default"]


@pytest.mark.parametrize("name", ["x" * 64, "y" * 100_000, "Red", "red/x", "-"])
async def test_nobody_is_asked_about_what_no_namespace_can_be_called(name: str) -> None:
    """It would be remembered, too."""
    async with library() as lent:
        reviews = lent.fake.access.reviews
        status, text = await asked(lent, manifest(name))
        assert (status, "a name that a namespace can have" in text) == (400, True)
        explained = f"/v1/explain?namespace={name[:1000]}&job=x"
        assert (await lent.get(explained, lent.token(OWNER)))[0] == 400
        assert lent.fake.access.reviews == reviews


async def test_that_somebody_sees_not_all_is_asked_once_an_answer() -> None:
    async with library(review_cache_seconds=0) as lent:
        reviews = lent.fake.access.reviews
        assert await lent.names("/v1/queue", lent.token(OWNER)) == {"red"}
        assert lent.fake.access.reviews == reviews + 3  # everywhere, red, blue


async def test_without_rights_there_is_nothing_to_see() -> None:
    async with library() as lent:
        token = lent.token(NOBODY)
        assert await lent.names("/v1/queue", token) == set()
        assert (await lent.get("/v1/explain?namespace=red&job=fit-red", token))[0] == 403


BAD = {"garbage": "garbage", "expired": {"seconds": -1}, "not for it": {"audiences": ["other"]}}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_a_bad_token_is_worse_than_none(bad: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "REFUSED_SECONDS", 3600.0)  # not asked about again in here
    async with library() as lent:
        assert (await lent.get("/v1/queue"))[0] == 200
        token = bad if isinstance(bad, str) else lent.token(ADMIN, **bad)
        reviews = lent.fake.tokens.reviews
        for _ in range(3):
            status, text = await lent.get("/v1/queue", token)
            assert (status, "the token is not accepted" in text) == (401, True)
        assert lent.fake.tokens.reviews == reviews + 1


async def test_an_audience_of_our_own_can_be_asked_for() -> None:
    async with library() as lent:
        assert (await lent.get("/v1/queue", lent.token(ADMIN)))[0] == 200
    async with opened(audience="readers") as lent:
        status, text = await lent.get("/v1/queue", lent.token(ADMIN))
        assert status == 401
        assert "is invalid for the target audiences" in text
        of_ours = lent.token(ADMIN, audiences=["readers"])
        assert (await lent.get("/v1/queue", of_ours))[0] == 200


async def test_without_tokens_only_probes_are_open_if_so_set() -> None:
    async with library(without_token="health") as lent:
        for path in ("/livez", "/readyz"):
            assert (await lent.get(path))[0] == 200
        for path in ("/metrics", *(f"/v1/{name}" for name in (*LISTS, "nodes", "prices"))):
            assert (await lent.get(path))[0] == 401, path
        assert (await lent.get("/metrics", lent.token(SCRAPER)))[0] == 200
        assert (await lent.get("/metrics", lent.token(OWNER)))[0] == 403


async def test_metrics_need_no_token_and_mind_none_by_default() -> None:
    async with library() as lent:
        assert (await lent.get("/metrics"))[0] == 200
        assert (await lent.get("/metrics", "garbage"))[0] == 200


async def test_verdicts_are_remembered_and_asked_for_again_in_time() -> None:
    async with library() as lent:
        token = lent.token(OWNER)
        await lent.names("/v1/jobs", token)
        asked = lent.fake.access.reviews
        for _ in range(5):
            await lent.names("/v1/jobs", token)
        assert lent.fake.access.reviews == asked
    async with library(review_cache_seconds=0) as lent:
        token = lent.token(OWNER)
        assert await lent.names("/v1/jobs", token) == {"red"}
        lent.fake.access.granted.clear()
        assert await lent.names("/v1/jobs", token) == set()


async def test_while_the_api_server_is_silent_nothing_new_is_shown() -> None:
    async with library() as lent:
        token = lent.token(OWNER)
        lent.fake.faults.order("create", paths.TOKEN_REVIEWS, SERVER_ERROR)
        assert (await lent.get("/v1/jobs", token))[0] == 503
        lent.fake.faults.order("create", paths.ACCESS_REVIEWS, SERVER_ERROR)
        assert (await lent.get("/v1/jobs", token))[0] == 503
        assert await lent.names("/v1/jobs", token) == {"red"}
