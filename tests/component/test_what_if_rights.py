"""Who may ask what-if: never somebody without a token (defect A3)."""

import json

import aiohttp
import pytest

from extender.settings.listeners import ApiSection
from shared.answer import PROXIED_AUTHORIZATION, VIEWERS_AUDIENCE
from shared.kube import paths
from tests.component.test_reading_rights import ADMIN, NOBODY, OWNER, Library, library

VIEWER = "system:serviceaccount:shuntyard-system:shuntyard-viewer"
QUESTION = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "asked"},
    "spec": {"template": {"spec": {"containers": [{"name": "x"}]}}},
}


async def asked(
    lent: Library, headers: dict[str, str], path: str = "/v1/what-if?namespace=red"
) -> tuple[int, str]:
    host, port = lent.running.others[0]
    url, method = f"http://{host}:{port}{path}", "POST" if "what-if" in path else "GET"
    async with lent.session.request(method, url, json=QUESTION, headers=headers) as answer:
        return answer.status, await answer.text()


def proxied(token: str) -> dict[str, str]:
    """What `shuntyard` sends through the API server, which takes `Authorization` away."""
    return {PROXIED_AUTHORIZATION: f"Bearer {token}"}


@pytest.mark.parametrize("without_token", ["all", "health"])
async def test_without_a_token_nothing_is_worked_out(without_token: str) -> None:
    """(defect A3): whatever else is shown without one."""
    async with library(without_token=without_token) as lent:
        status, text = await asked(lent, {})
        assert (status, "shuntyard-viewer" in text) == (401, True), text
        assert "--token-file" in text
        status, _ = await asked(lent, {}, "/v1/queue")
        assert status == (200 if without_token == "all" else 401)


async def test_a_body_of_somebody_without_a_token_is_not_even_read() -> None:
    async with library() as lent:
        host, port = lent.running.others[0]

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
        assert (await asked(lent, {}, "/v1/queue"))[0] == 200


async def test_who_shows_a_token_asks_about_the_namespaces_that_he_sees() -> None:
    async with library() as lent:
        for user, want in ((ADMIN, 200), (OWNER, 200), (NOBODY, 403)):
            status, text = await asked(lent, {"Authorization": f"Bearer {lent.token(user)}"})
            assert status == want, (user, text)


@pytest.mark.parametrize("without_token", ["all", "health"])
async def test_the_token_of_the_viewers_account_is_worth_the_role(without_token: str) -> None:
    """The API server gives it to those who have the role `shuntyard-viewer`."""
    async with library(without_token=without_token) as lent:
        token, reviews = lent.token(VIEWER, audiences=[VIEWERS_AUDIENCE]), lent.fake.access.reviews
        status, text = await asked(lent, proxied(token))
        assert (status, json.loads(text)["job"]) == (200, "red/job/asked")
        status, text = await asked(lent, proxied(token), "/v1/queue")
        assert {entry["namespace"] for entry in json.loads(text)["entries"]} == {"red", "blue"}
        assert lent.fake.access.reviews == reviews


async def test_another_token_in_that_header_is_worth_what_its_bearer_is() -> None:
    async with library() as lent:
        token = lent.token(OWNER, audiences=[VIEWERS_AUDIENCE])
        assert (await asked(lent, proxied(token)))[0] == 200
        status, text = await asked(lent, proxied(token), "/v1/what-if?namespace=blue")
        assert (status, "may not list pods in the namespace blue" in text) == (403, True)


async def test_a_token_for_the_api_server_is_not_taken_in_that_header() -> None:
    """So that nobody sends one: on its way through the proxy it could be read."""
    async with library() as lent:
        for user in (VIEWER, ADMIN):
            status, text = await asked(lent, proxied(lent.token(user)))
            assert (status, "audience" in text) == (401, True), text


async def test_the_viewers_account_is_nobody_special_by_another_audience() -> None:
    async with library() as lent:
        status, _ = await asked(lent, {"Authorization": f"Bearer {lent.token(VIEWER)}"})
        assert status == 403


async def test_other_accounts_can_be_named() -> None:
    named = "system:serviceaccount:other:readers"
    async with library(viewer_accounts=[named]) as lent:
        for user, want in ((named, 200), (VIEWER, 403)):
            token = lent.token(user, audiences=[VIEWERS_AUDIENCE])
            assert (await asked(lent, proxied(token)))[0] == want


def test_the_account_as_shipped_is_the_one_that_is_believed() -> None:
    assert ApiSection().viewer_accounts == (VIEWER,)
    assert paths.service_account_token("shuntyard-system", "shuntyard-viewer").endswith(
        "/namespaces/shuntyard-system/serviceaccounts/shuntyard-viewer/token"
    )
