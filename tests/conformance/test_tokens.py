"""Tokens bound to pods, and the answers of a TokenReview."""

import json
from typing import Any

import pytest

from shared.kube import paths, reviews, writes
from shared.kube.errors import InvalidError, NotFoundError
from tests.conformance.conftest import Server, ref
from tests.fakes.eventually import eventually

OURS, OTHER = "shuntyard-extender", "another-service"
ACCOUNTS = "/api/v1/serviceaccounts"


async def account(server: Server, name: str = "agent") -> str:
    """Make a service account and return its user name."""
    await server.create(ACCOUNTS, {"metadata": {"name": name}})
    return f"system:serviceaccount:{server.namespace}:{name}"


async def issue(server: Server, pod: dict[str, Any] | None, **spec: Any) -> str:
    """Return a token of the service account ``agent``, bound to ``pod``."""
    if pod is not None:
        meta = pod["metadata"]
        spec["boundObjectRef"] = {
            "kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"],
        }  # fmt: skip
    path = paths.namespaced(ACCOUNTS, server.namespace, "agent", "token")
    body = {"spec": {"audiences": [OURS], "expirationSeconds": 600, **spec}}
    return str(json.loads(await server.client.post(path, body))["status"]["token"])


async def agent_pod(server: Server, node: str | None = "node-a") -> dict[str, Any]:
    spec = {"serviceAccountName": "agent", **({"nodeName": node} if node else {})}
    return await server.pod(**spec)


async def test_a_token_of_a_pod_names_account_and_node(server: Server) -> None:
    user = await account(server)
    token = await issue(server, await agent_pod(server))
    found = await reviews.review_token(server.client, token, OURS)
    assert (found.authenticated, found.error) == (True, "")
    assert (found.user.username, found.audiences, found.node) == (user, (OURS,), "node-a")
    end = reviews.expires_at(token)
    assert end is not None


async def test_a_token_of_a_pod_without_a_node_names_none(server: Server) -> None:
    await account(server)
    gated = {"schedulingGates": [{"name": "shuntyard.io/queue"}], "serviceAccountName": "agent"}
    token = await issue(server, await server.pod(**gated))
    found = await reviews.review_token(server.client, token, OURS)
    assert (found.authenticated, found.node) == (True, "")


async def test_a_token_without_a_pod_names_no_node(server: Server) -> None:
    user = await account(server)
    found = await reviews.review_token(server.client, await issue(server, None), OURS)
    assert (found.authenticated, found.user.username, found.node) == (True, user, "")


async def test_only_requested_audiences_are_answered(server: Server) -> None:
    await account(server)
    token = await issue(server, None, audiences=[OURS, OTHER])
    found = await reviews.review_token(server.client, token, OURS)
    assert found.audiences == (OURS,)


async def test_a_token_for_another_audience_is_not_authenticated(server: Server) -> None:
    await account(server)
    token = await issue(server, await agent_pod(server), audiences=[OTHER])
    found = await reviews.review_token(server.client, token, OURS)
    assert (found.authenticated, found.user.username, found.audiences) == (False, "", ())
    assert "audience" in found.error


@pytest.mark.parametrize("token", ["garbage", "a.b.c"])
async def test_an_invalid_token_is_not_authenticated(server: Server, token: str) -> None:
    found = await reviews.review_token(server.client, token, OURS)
    assert (found.authenticated, found.user.username) == (False, "")
    assert "invalid bearer token" in found.error


async def test_a_missing_token_is_a_bad_request(server: Server) -> None:
    with pytest.raises(InvalidError):
        await reviews.review_token(server.client, "", OURS)


async def test_a_token_ends_with_its_pod(server: Server) -> None:
    await account(server)
    pod = await agent_pod(server)
    token = await issue(server, pod)
    assert (await reviews.review_token(server.client, token, OURS)).authenticated
    await writes.delete_pod(server.client, *ref(pod), grace_seconds=0)

    async def refused() -> bool:
        return not (await reviews.review_token(server.client, token, OURS)).authenticated

    await eventually(refused)


async def test_a_token_needs_its_account_its_pod_and_ten_minutes(server: Server) -> None:
    with pytest.raises(NotFoundError):
        await issue(server, None)
    await account(server)
    with pytest.raises(NotFoundError):
        await issue(server, {"metadata": {"name": "missing", "uid": "x"}})
    with pytest.raises(InvalidError):
        await issue(server, None, expirationSeconds=599)
