"""What-if needs a token, and is answered for the namespaces that its bearer sees (defect A3)."""

import json

import aiohttp
import pytest

from extender.settings.listeners import ApiSection
from shared.kube import paths
from shared.readapi.answer import PROXIED_AUTHORIZATION, VIEWERS_AUDIENCE
from tests.component.test_reading_rights import ADMIN, OWNER, STRANGER, ReadApi, read_api

VIEWER = "system:serviceaccount:shuntyard-system:shuntyard-viewer"
MANIFEST = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "supposed"},
    "spec": {"template": {"spec": {"containers": [{"name": "x"}]}}},
}


async def ask(
    api: ReadApi, headers: dict[str, str], path: str = "/v1/what-if?namespace=red"
) -> tuple[int, str]:
    host, port = api.running.others[0]
    url, method = f"http://{host}:{port}{path}", "POST" if "what-if" in path else "GET"
    async with api.session.request(method, url, json=MANIFEST, headers=headers) as answer:
        return answer.status, await answer.text()


def proxied(token: str) -> dict[str, str]:
    """The header of `shuntyard` behind the API server, which removes `Authorization`."""
    return {PROXIED_AUTHORIZATION: f"Bearer {token}"}


@pytest.mark.parametrize("without_token", ["all", "health"])
async def test_what_if_is_refused_without_a_token(without_token: str) -> None:
    """(defect A3): whatever else is shown without one."""
    async with read_api(without_token=without_token) as api:
        status, text = await ask(api, {})
        assert (status, "shuntyard-viewer" in text) == (401, True), text
        assert "who-may-read" in text
        status, _ = await ask(api, {}, "/v1/queue")
        assert status == (200 if without_token == "all" else 401)


async def test_the_body_of_a_request_without_a_token_is_not_read() -> None:
    async with read_api() as api:
        host, port = api.running.others[0]

        async def endless():
            while True:
                yield b" " * 2**16

        url = f"http://{host}:{port}/v1/what-if"
        async with aiohttp.ClientSession() as session:
            try:
                async with session.post(url, data=endless()) as answer:
                    assert answer.status == 401
            except aiohttp.ClientError:  # the connection ended in the middle of the body
                pass
        assert (await ask(api, {}, "/v1/queue"))[0] == 200


async def test_a_token_allows_what_if_in_the_namespaces_that_its_bearer_sees() -> None:
    async with read_api() as api:
        for user, want in ((ADMIN, 200), (OWNER, 200), (STRANGER, 403)):
            status, text = await ask(api, {"Authorization": f"Bearer {api.token(user)}"})
            assert status == want, (user, text)


@pytest.mark.parametrize("without_token", ["all", "health"])
async def test_the_token_of_the_viewers_account_stands_for_the_role(without_token: str) -> None:
    """The API server issues it to users with the Role `shuntyard-viewer`."""
    async with read_api(without_token=without_token) as api:
        token, reviews = api.token(VIEWER, audiences=[VIEWERS_AUDIENCE]), api.fake.access.reviews
        status, text = await ask(api, proxied(token))
        assert (status, json.loads(text)["job"]) == (200, "red/job/supposed")
        status, text = await ask(api, proxied(token), "/v1/queue")
        assert {entry["namespace"] for entry in json.loads(text)["entries"]} == {"red", "blue"}
        assert api.fake.access.reviews == reviews


async def test_another_token_in_that_header_has_the_rights_of_its_bearer() -> None:
    async with read_api() as api:
        token = api.token(OWNER, audiences=[VIEWERS_AUDIENCE])
        assert (await ask(api, proxied(token)))[0] == 200
        status, text = await ask(api, proxied(token), "/v1/what-if?namespace=blue")
        assert (status, "may not list pods in the namespace blue" in text) == (403, True)


async def test_a_token_for_the_api_server_is_refused_in_that_header() -> None:
    """So that no client sends one: on its way through the proxy it could be read."""
    async with read_api() as api:
        for user in (VIEWER, ADMIN):
            status, text = await ask(api, proxied(api.token(user)))
            assert (status, "audience" in text) == (401, True), text


async def test_the_viewers_account_has_no_special_rights_with_another_audience() -> None:
    async with read_api() as api:
        status, _ = await ask(api, {"Authorization": f"Bearer {api.token(VIEWER)}"})
        assert status == 403


async def test_other_viewer_accounts_can_be_set() -> None:
    named = "system:serviceaccount:other:readers"
    async with read_api(viewer_accounts=[named]) as api:
        for user, want in ((named, 200), (VIEWER, 403)):
            token = api.token(user, audiences=[VIEWERS_AUDIENCE])
            assert (await ask(api, proxied(token)))[0] == want


def test_the_viewers_account_is_the_one_in_our_manifests() -> None:
    assert ApiSection().viewer_accounts == (VIEWER,)
    assert paths.service_account_token("shuntyard-system", "shuntyard-viewer").endswith(
        "/namespaces/shuntyard-system/serviceaccounts/shuntyard-viewer/token"
    )
