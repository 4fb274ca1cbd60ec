"""The read API with tokens: a caller sees what the API server would show the same user."""

import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from extender.servers.auth import redacting, tokens, viewers
from extender.servers.readapi.answers import ReadAnswers
from shared import labels
from shared.kube import paths
from tests.component.shell import Extender, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_faults import SERVER_ERROR
from tests.fakes.kube_tokens import ISSUER

OWNER, ADMIN, STRANGER, SCRAPER = "red-owner", "admin", "stranger", "prometheus"
LISTS = ("queue", "jobs", "migrations", "rescales", "parkings", "namespaces")


@dataclass
class ReadApi:
    """An extender with waiting jobs of two namespaces, and a client with tokens."""

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
async def opened(**section: Any) -> AsyncIterator[ReadApi]:
    """Run the extender; it may not have observed the jobs yet."""
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
        yield ReadApi(fake, running, session)


@contextlib.asynccontextmanager
async def read_api(**section: Any) -> AsyncIterator[ReadApi]:
    async with opened(**section) as api:
        admin = api.token(ADMIN)

        async def waits() -> bool:
            return await api.names("/v1/queue", admin) == {"red", "blue"}

        await eventually(waits)
        yield api


async def test_a_caller_that_may_list_all_pods_sees_everything() -> None:
    async with read_api() as api:
        token = api.token(ADMIN)
        assert await api.names("/v1/jobs", token) == {"red", "blue"}
        assert (await api.get("/v1/nodes", token))[0] == 200
        assert (await api.get("/v1/prices", token))[0] == 200
        status, _ = await api.get("/v1/explain?namespace=blue&job=fit-blue", token)
        assert status == 200


async def test_a_caller_that_may_list_pods_of_one_namespace_sees_no_other() -> None:
    async with read_api() as api:
        token = api.token(OWNER)
        for path in LISTS:
            status, text = await api.get(f"/v1/{path}", token)
            assert (status, "blue" in text) == (200, False), path
        assert await api.names("/v1/queue", token) == {"red"}
        assert await api.names("/v1/namespaces", token) == {"red"}
        status, text = await api.get("/v1/explain?namespace=red&job=fit-red", token)
        assert (status, "blue" in text) == (200, False)
        for path in ("nodes", "prices", "prices?slots=true", "explain?namespace=blue&pod=fit-blue"):
            status, text = await api.get(f"/v1/{path}", token)
            assert (status, "the bearer of the token may not list" in text) == (403, True), path


async def test_other_namespaces_are_shown_as_numbers() -> None:
    async with read_api() as api:
        queue = json.loads((await api.get("/v1/queue", api.token(OWNER)))[1])
        assert queue["others"] == {"jobs": 1, "requests": {"cpu": 1000}}
        shares = json.loads((await api.get("/v1/namespaces", api.token(OWNER)))[1])
        assert shares["others"] == {"namespaces": 1, "waiting": 1, "running": 0, "held": {}}
        for path in ("queue", "namespaces"):
            whole = json.loads((await api.get(f"/v1/{path}", api.token(ADMIN)))[1])
            assert whole["others"] is None


async def test_a_list_of_one_namespace_needs_reviews_of_that_one_only() -> None:
    async with read_api() as api:
        admin, owner = api.token(ADMIN), api.token(OWNER)
        for path in LISTS:
            assert await api.names(f"/v1/{path}?namespace=blue", admin) <= {"blue"}, path
        assert await api.names("/v1/queue?namespace=blue", admin) == {"blue"}
        reviews = api.fake.access.reviews
        assert await api.names("/v1/queue?namespace=red", owner) == {"red"}
        assert api.fake.access.reviews == reviews + 2  # of all namespaces, and of that one
        status, text = await api.get("/v1/queue?namespace=blue", owner)
        assert (status, "may not list pods in the namespace blue" in text) == (403, True)


MANIFEST = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "supposed"},
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
    """Callers that may see it get 404; others get 403, as for any namespace (defect B6)."""
    async with read_api() as api:
        for path, options in NAMED.values():
            status, text = await api.get(path, api.token(ADMIN), **options)
            assert (status, text[:28]) == (404, "namespace absent not found: "), (path, text)
            hidden = await api.get(path, api.token(OWNER), **options)
            forbidden = path.replace(ABSENT, "blue")
            there = await api.get(forbidden, api.token(OWNER), **options)
            assert (hidden[0], hidden[1].replace(ABSENT, "blue")) == there
            assert there[0] == 403


async def test_a_manifest_may_create_the_namespace_of_its_job() -> None:
    async with read_api() as api:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ABSENT}}
        body = {"apiVersion": "v1", "kind": "List", "items": [namespace, MANIFEST]}
        path, options = NAMED["what-if"]
        options = {**options, "json": body}
        status, text = await api.get(path, api.token(ADMIN), **options)
        assert (status, json.loads(text)["job"]) == (200, f"{ABSENT}/job/supposed")


async def test_the_reviews_for_a_caller_with_few_rights_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(viewers, "CALLER_AT_ONCE", 2)
    monkeypatch.setattr(viewers, "CALLER_PER_SECOND", 0.001)
    async with read_api() as api:
        api.fake.access.granted.add((OWNER, "list", "pods", "red"))
        reviews = api.fake.access.reviews
        for _ in range(5):  # of all namespaces, of red or blue; the third is one too many
            status, text = await api.get("/v1/queue", api.token(OWNER))
            assert (status, "too many access reviews" in text) == (429, True)
        assert api.fake.access.reviews == reviews + 2
        assert await api.names("/v1/queue", api.token(ADMIN)) == {"red", "blue"}


async def test_answers_are_redacted_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every text of an answer is read: no other caller would be answered meanwhile."""
    on_loop: dict[str, bool] = {}

    def watched(name: str) -> Callable[..., Any]:
        real = getattr(redacting, name)

        def call(*given: Any) -> Any:
            on_loop[name] = threading.current_thread() is threading.main_thread()
            return real(*given)

        return call

    names = ("listed_namespaces", "named_namespaces", "without_names")
    for name in names:
        monkeypatch.setattr(redacting, name, watched(name))
    async with read_api() as api:
        assert await api.names("/v1/queue", api.token(OWNER)) == {"red"}
    assert on_loop == dict.fromkeys(names, False)


async def test_a_missing_pod_is_answered_like_a_hidden_one() -> None:
    async with read_api() as api:
        hidden = await api.get("/v1/explain?namespace=blue&pod=fit-blue", api.token(OWNER))
        missing = await api.get("/v1/explain?namespace=blue&pod=none", api.token(OWNER))
        assert hidden == missing


def manifest(namespace: str, name: str = "new") -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    pods = {"spec": {"schedulerName": "shuntyard", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parallelism": 2, "completions": 2, "template": pods},
    }


async def what_if(api: ReadApi, *objects: dict[str, Any]) -> tuple[int, str]:
    whole = {"apiVersion": "v1", "kind": "List", "items": objects}
    body = json.dumps(whole if len(objects) > 1 else objects[0])
    return await api.get("/v1/what-if", api.token(OWNER), method="POST", data=body)


@pytest.mark.parametrize(("namespace", "status"), [("red", 200), ("blue", 403)])
async def test_what_if_is_answered_where_the_caller_sees_jobs(namespace: str, status: int) -> None:
    async with read_api() as api:
        answered, text = await what_if(api, manifest(namespace))
        assert answered == status, text
        if status == 200:
            assert "blue" not in text
            assert json.loads(text)["waiting"] == 2  # how many there are is no secret


async def test_what_if_computes_nothing_for_a_caller_that_may_not_see_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether such a job exists already would be an answer, too."""
    computed: list[str] = []
    real = ReadAnswers.what_if

    async def watched(self: ReadAnswers, body: bytes, namespace: str) -> Any:
        computed.append(namespace)
        return await real(self, body, namespace)

    monkeypatch.setattr(ReadAnswers, "what_if", watched)
    async with read_api() as api:
        there = await what_if(api, manifest("blue", "fit-blue"))
        assert there == await what_if(api, manifest("blue", "none"))
        assert there[0] == 403
        assert (await what_if(api, manifest("red"), manifest("blue")))[0] == 403
        many = [manifest(f"ns-{number}") for number in range(50)]
        assert (await what_if(api, *many))[0] == 400
        assert not computed
        assert (await what_if(api, manifest("red")))[0] == 200
        assert computed == ["default"]


@pytest.mark.parametrize("name", ["x" * 64, "y" * 100_000, "Red", "red/x", "-"])
async def test_a_name_that_no_namespace_can_have_is_not_reviewed(name: str) -> None:
    """The verdict would be cached under it, too."""
    async with read_api() as api:
        reviews = api.fake.access.reviews
        status, text = await what_if(api, manifest(name))
        assert (status, "a name that a namespace can have" in text) == (400, True)
        explained = f"/v1/explain?namespace={name[:1000]}&job=x"
        assert (await api.get(explained, api.token(OWNER)))[0] == 400
        assert api.fake.access.reviews == reviews


async def test_the_right_to_see_all_namespaces_is_reviewed_once_an_answer() -> None:
    async with read_api(review_cache_seconds=0) as api:
        reviews = api.fake.access.reviews
        assert await api.names("/v1/queue", api.token(OWNER)) == {"red"}
        assert api.fake.access.reviews == reviews + 3  # of all namespaces, red, blue


async def test_a_caller_without_rights_sees_nothing() -> None:
    async with read_api() as api:
        token = api.token(STRANGER)
        assert await api.names("/v1/queue", token) == set()
        assert (await api.get("/v1/explain?namespace=red&job=fit-red", token))[0] == 403


BAD = {"garbage": "garbage", "expired": {"seconds": -1}, "not for it": {"audiences": ["other"]}}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_a_bad_token_is_refused_where_none_is_needed(
    bad: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "REFUSED_SECONDS", 3600.0)  # not reviewed again in here
    async with read_api() as api:
        assert (await api.get("/v1/queue"))[0] == 200
        token = bad if isinstance(bad, str) else api.token(ADMIN, **bad)
        reviews = api.fake.tokens.reviews
        for _ in range(3):
            status, text = await api.get("/v1/queue", token)
            assert (status, "the token is not accepted" in text) == (401, True)
        assert api.fake.tokens.reviews == reviews + 1


async def test_tokens_may_need_an_audience_of_our_own() -> None:
    async with read_api() as api:
        assert (await api.get("/v1/queue", api.token(ADMIN)))[0] == 200
    async with opened(audience="readers") as api:
        status, text = await api.get("/v1/queue", api.token(ADMIN))
        assert status == 401
        assert "is invalid for the target audiences" in text
        of_ours = api.token(ADMIN, audiences=["readers"])
        assert (await api.get("/v1/queue", of_ours))[0] == 200


async def test_only_probes_are_open_without_a_token_if_so_set() -> None:
    async with read_api(without_token="health") as api:
        for path in ("/livez", "/readyz"):
            assert (await api.get(path))[0] == 200
        for path in ("/metrics", *(f"/v1/{name}" for name in (*LISTS, "nodes", "prices"))):
            assert (await api.get(path))[0] == 401, path
        assert (await api.get("/metrics", api.token(SCRAPER)))[0] == 200
        assert (await api.get("/metrics", api.token(OWNER)))[0] == 403


async def test_metrics_need_no_token_and_ignore_one_by_default() -> None:
    async with read_api() as api:
        assert (await api.get("/metrics"))[0] == 200
        assert (await api.get("/metrics", "garbage"))[0] == 200


async def test_verdicts_are_cached_for_a_while() -> None:
    async with read_api() as api:
        token = api.token(OWNER)
        await api.names("/v1/jobs", token)
        reviews = api.fake.access.reviews
        for _ in range(5):
            await api.names("/v1/jobs", token)
        assert api.fake.access.reviews == reviews
    async with read_api(review_cache_seconds=0) as api:
        token = api.token(OWNER)
        assert await api.names("/v1/jobs", token) == {"red"}
        api.fake.access.granted.clear()
        assert await api.names("/v1/jobs", token) == set()


async def test_nothing_new_is_shown_while_the_api_server_does_not_answer() -> None:
    async with read_api() as api:
        token = api.token(OWNER)
        api.fake.faults.order("create", paths.TOKEN_REVIEWS, SERVER_ERROR)
        assert (await api.get("/v1/jobs", token))[0] == 503
        api.fake.faults.order("create", paths.ACCESS_REVIEWS, SERVER_ERROR)
        assert (await api.get("/v1/jobs", token))[0] == 503
        assert await api.names("/v1/jobs", token) == {"red"}
