"""Through the service proxy what-if sends a token that the API server issues to the Role."""

import json

import pytest

from cli.__main__ import main
from shared.kube import paths
from shared.readapi.answer import PROXIED_AUTHORIZATION, VIEWERS_ACCOUNT, VIEWERS_AUDIENCE
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
    err = capsys.readouterr().err
    assert "this needs a token (status 401); `shuntyard doctor` looks for the cause" in err
    assert "--token-file" not in err  # it needs --url


TEAM_PATH = paths.service_account_token("red", VIEWERS_ACCOUNT)


def test_a_user_without_the_role_shows_a_token_of_the_team(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api_server.known.answers[PASS_PATH] = status(403, "Forbidden", "no")
    api_server.known.answers[TEAM_PATH] = (201, b'{"status": {"token": "team-pass"}}')
    assert main([*ASK, "-n", "red"]) == 0
    assert shown(api_server) == [None, None, "Bearer team-pass"]
    api_server.known.answers[TEAM_PATH] = status(403, "Forbidden", "no")
    assert main([*ASK, "-n", "red"]) == 1
    printed = capsys.readouterr().err
    assert "in the namespace shuntyard-system or red: ask for the Role" in printed
    api_server.known.answers[TEAM_PATH] = status(404, "NotFound", "no")
    assert main([*ASK, "-n", "red"]) == 1
    assert "ServiceAccount red/shuntyard-viewer not found" in capsys.readouterr().err


def test_the_team_is_that_of_the_context(
    api_server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig(context={"namespace": "red"})))
    api_server.known.answers[PASS_PATH] = status(403, "Forbidden", "no")
    api_server.known.answers[TEAM_PATH] = (201, b'{"status": {"token": "team-pass"}}')
    assert main(ASK) == 0
    assert api_server.known.asked[:2] == [PASS_PATH, TEAM_PATH]


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
    own = paths.service_account_token("default", VIEWERS_ACCOUNT)
    api_server.known.answers |= {PASS_PATH: answer, own: answer}
    assert main(ASK) == 1
    printed = capsys.readouterr().err
    assert [word for word in words if word not in printed] == []
    assert api_server.known.asked[0] == PASS_PATH
    assert not any("what-if" in path for path in api_server.known.asked)
