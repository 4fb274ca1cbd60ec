"""Through the service proxy what-if sends a token that the API server issues to the Role."""

import json

import pytest

from cli.__main__ import main
from shared.answer import PROXIED_AUTHORIZATION, VIEWERS_AUDIENCE
from tests.unit.cli.conftest import PASS_PATH, ApiServer
from tests.unit.cli.test_by_service import PROXY, status

ASK = ["what-if", "--workers", "1", "--cpu", "1"]


def shown(server: ApiServer) -> list[str | None]:
    return [headers.get(PROXIED_AUTHORIZATION) for headers in server.known.headers]


def test_what_if_sends_a_token_for_the_read_api_only(api_server: ApiServer) -> None:
    """(defect A3)"""
    assert main(ASK) == 0
    assert api_server.known.asked == [PASS_PATH, f"{PROXY}/v1/what-if?namespace=default"]
    assert shown(api_server) == [None, "Bearer role-pass"]
    spec = json.loads(api_server.known.bodies[0])["spec"]
    assert spec == {"audiences": [VIEWERS_AUDIENCE], "expirationSeconds": 600}


def test_the_callers_own_token_goes_to_the_api_server_only(api_server: ApiServer) -> None:
    """It removes ``Authorization`` before it proxies; no other header has it."""
    assert main([*ASK, "--kubeconfig", str(api_server.kubeconfig({"token": "mine"}))]) == 0
    for headers in api_server.known.headers:
        named = [name for name, value in headers.items() if "mine" in value]
        assert named == ["Authorization"]


def test_other_commands_need_none(api_server: ApiServer) -> None:
    assert main(["queue"]) == 0
    assert shown(api_server) == [None]


def test_other_commands_send_one_if_the_extender_requires_it(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """`api.without_token: health`: retried with a token; this server refuses it again."""
    api_server.known.answers[f"{PROXY}/v1/queue"] = (401, b"this needs a token")
    assert main(["queue"]) == 1
    assert shown(api_server) == [None, None, "Bearer role-pass"]
    assert "this needs a token (status 401)" in capsys.readouterr().err


REFUSALS: dict[str, tuple[tuple[int, bytes], tuple[str, ...]]] = {
    "no right": (
        status(403, "Forbidden", "no"),
        ("`create` on `serviceaccounts/token` named `shuntyard-viewer`", "Role shuntyard-viewer"),
    ),
    "an older installation": (
        status(404, "NotFound", 'serviceaccounts "shuntyard-viewer" not found'),
        ("ServiceAccount shuntyard-system/shuntyard-viewer not found", "deploy/base"),
    ),
    "an API server in trouble": (status(500, "InternalError", "etcd is away"), ("etcd is away",)),
    "a malformed answer": ((201, b"{}"), ("has no token",)),
}


@pytest.mark.parametrize(("answer", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refused_token_request_is_an_error(
    api_server: ApiServer,
    answer: tuple[int, bytes],
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    api_server.known.answers[PASS_PATH] = answer
    assert main(ASK) == 1
    printed = capsys.readouterr().err
    assert [word for word in words if word not in printed] == []
    assert api_server.known.asked == [PASS_PATH]
