"""The command through the API server's service proxy, with a kubeconfig's credentials."""

import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.__main__ import main
from cli.service import DEFAULT_SERVICE, Service, parse
from devcluster.shuntyard import read_api_service
from tests.root import ROOT
from tests.unit.cli.conftest import ApiServer, ReadApi

PROXY = "/api/v1/namespaces/shuntyard-system/services/http:shuntyard-extender:api/proxy"
PLUGIN = """#!/bin/sh
echo run >> {count}
echo '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {{"token": "from plugin"}}}}'
"""


def status(code: int, reason: str, message: str) -> tuple[int, bytes]:
    """An error of the API server."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}}
    return code, json.dumps({**body, "code": code, "reason": reason, "message": message}).encode()


def plugin(directory: Path, text: str) -> dict[str, Any]:
    """The user of an exec plugin."""
    file = directory / "plugin"
    file.write_text(text)
    file.chmod(0o700)
    section = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(file)}
    return {"exec": {**section, "args": [], "env": None}}


def test_without_a_url_the_kubeconfig_leads_through_the_service_proxy(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queue"]) == 0
    assert "resnet" in capsys.readouterr().out
    assert api_server.known.asked == [f"{PROXY}/v1/queue"]
    assert api_server.known.subjects == ["ann"]
    assert "Authorization" not in api_server.known.headers[0]


def test_a_pod_is_looked_for_where_the_context_works(
    api_server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = api_server.kubeconfig(context={"namespace": "team-a"})
    monkeypatch.setenv("KUBECONFIG", str(file))
    main(["explain", "resnet-0"])
    main(["explain", "resnet-0", "-n", "team-b"])
    assert [path.split("?")[1] for path in api_server.known.asked] == [
        "namespace=team-a&name=resnet-0",
        "namespace=team-b&name=resnet-0",
    ]


TOKENS: dict[str, tuple[dict[str, Any], str]] = {
    "in the kubeconfig": ({"token": "inline"}, "inline"),
    "in a file": ({"tokenFile": "token"}, "from file"),
}


@pytest.mark.parametrize(("user", "want"), TOKENS.values(), ids=TOKENS.keys())
def test_a_bearer_token_is_sent(api_server: ApiServer, user: dict[str, Any], want: str) -> None:
    (api_server.directory / "token").write_text("from file\n")
    assert main(["queue", "--kubeconfig", str(api_server.kubeconfig(user))]) == 0
    assert api_server.known.headers[0]["Authorization"] == f"Bearer {want}"


def test_a_token_that_fits_no_header_is_not_printed(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    file = api_server.kubeconfig({"token": "secret\nhidden"})
    assert main(["queue", "--kubeconfig", str(file)]) == 1
    printed = capsys.readouterr().err
    assert "the token is not one line of ASCII" in printed
    assert "secret" not in printed


def test_a_refused_token_of_a_plugin_is_renewed_once(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    count = api_server.directory / "count"
    user = plugin(api_server.directory, PLUGIN.format(count=count))
    api_server.known.answers[f"{PROXY}/v1/queue"] = status(401, "Unauthorized", "Unauthorized")
    assert main(["queue", "--kubeconfig", str(api_server.kubeconfig(user))]) == 1
    assert len(api_server.known.asked) == len(count.read_text().split()) == 2
    assert "does not accept the credentials" in capsys.readouterr().err


def test_a_failed_plugin_is_an_error_of_one_line(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    user = plugin(api_server.directory, "#!/bin/sh\necho log in first >&2\nexit 3\n")
    assert main(["queue", "--kubeconfig", str(api_server.kubeconfig(user))]) == 1
    err = capsys.readouterr().err
    assert "failed with exit status 3: log in first" in err
    assert err.count("\n") == 1


def test_redirects_are_not_followed(
    api_server: ApiServer, read_api: ReadApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHUNTYARD_URL")
    elsewhere = f"{read_api.url}/v1/queue".encode()
    api_server.known.answers[f"{PROXY}/v1/queue"] = (307, elsewhere)
    assert main(["queue"]) == 1
    assert read_api.asked == []


def test_the_api_server_may_have_a_path_prefix(api_server: ApiServer) -> None:
    below = f"/k8s/clusters/c-1{PROXY}/v1/queue"
    api_server.known.answers[below] = api_server.known.answers[f"{PROXY}/v1/queue"]
    file = api_server.kubeconfig(server=f"{api_server.known.url}/k8s/clusters/c-1")
    assert main(["queue", "--kubeconfig", str(file)]) == 0
    assert api_server.known.asked == [below]


REFUSALS: dict[str, tuple[tuple[int, bytes], tuple[str, ...]]] = {
    "no such user": (status(401, "Unauthorized", "Unauthorized"), ("does not accept",)),
    "no right": (
        status(403, "Forbidden", 'User "bob" cannot get resource "services/proxy"'),
        (
            "`get` on `services/proxy` named `http:shuntyard-extender:api`",
            "shuntyard-viewer",
            "bob",
        ),
    ),
    "no Service": (
        status(404, "NotFound", 'endpoints "shuntyard-extender" not found'),
        ("Service shuntyard-extender in the namespace shuntyard-system not found", "installed"),
    ),
    "no endpoint of the Service, or since 1.37 no Service": (
        status(503, "ServiceUnavailable", 'no endpoints available for service "x"'),
        ("no extender is ready at port api", "no such Service"),
    ),
    "the extender does not listen": (
        status(503, "ServiceUnavailable", "error trying to reach service: dial tcp: refused"),
        ("the API server cannot reach the extender", "refused"),
    ),
    "an API server in trouble": (
        status(500, "InternalError", "etcd is away"),
        ("etcd is away (status 500)",),
    ),
    "too many requests": (status(429, "TooManyRequests", "later"), ("later (status 429)",)),
    "the extender itself": (
        (404, b"there is no pod default/x\n"),
        ("shuntyard: there is no pod default/x (status 404)\n",),
    ),
    "a page of another server": ((200, b"<html>"), ("not that of a Shuntyard read API",)),
    "another version": (
        (200, b'{"apiVersion":"v9","generated_at":0,"acting":true,"order":"cps"}'),
        ("the extender serves v9",),
    ),
}


@pytest.mark.parametrize(("answer", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_is_one_line_with_a_remedy(
    api_server: ApiServer,
    answer: tuple[int, bytes],
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    api_server.known.answers[f"{PROXY}/v1/queue"] = answer
    assert main(["queue"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert [word for word in words if word not in captured.err] == []


def test_an_untrusted_certificate_is_an_error_of_one_line(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = ssl.get_default_verify_paths().cafile
    file = api_server.kubeconfig(**{"certificate-authority": stranger})
    assert main(["queue", "--kubeconfig", str(file)]) == 1
    assert "is not trusted" in capsys.readouterr().err
    assert api_server.known.asked == []


NAMES: dict[str, tuple[dict[str, Any], int]] = {
    "the name that the certificate has": ({"tls-server-name": "api.example.org"}, 0),
    "a name that it does not have": ({"tls-server-name": "other.example.org"}, 1),
    "not to be verified": ({"insecure-skip-tls-verify": True, "tls-server-name": "other"}, 0),
}


@pytest.mark.parametrize(("cluster", "code"), NAMES.values(), ids=NAMES.keys())
def test_the_kubeconfig_sets_the_expected_server_name(
    api_server: ApiServer, cluster: dict[str, Any], code: int
) -> None:
    assert main(["queue", "--kubeconfig", str(api_server.kubeconfig(**cluster))]) == code


NO_WAY: dict[str, tuple[list[str], str]] = {
    "nothing at all": ([], "no credentials"),
    "a missing file": (["--kubeconfig", "missing"], "none of missing exists"),
    "a context without a file": (["--context", "east"], "/.kube/config exists"),
}


@pytest.mark.parametrize(("argv", "want"), NO_WAY.values(), ids=NO_WAY.keys())
def test_without_a_connection_the_error_names_the_options(
    argv: list[str], want: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queue", *argv]) == 1
    err = capsys.readouterr().err
    assert want in err
    assert "--url or SHUNTYARD_URL" in err


def test_an_unknown_context_is_named(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queue", "--context", "west"]) == 1
    assert "there is no context named 'west'" in capsys.readouterr().err
    assert api_server.known.asked == []


def test_an_unreachable_api_server_is_named(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    file = api_server.kubeconfig(server="https://127.0.0.1:1")
    assert main(["queue", "--kubeconfig", str(file)]) == 1
    assert "no answer from https://127.0.0.1:1: Connection refused" in capsys.readouterr().err


WAYS: dict[str, tuple[list[str], str]] = {
    "the environment's URL wins over a kubeconfig": ([], "read_api"),
    "an option of the kubeconfig wins over the URL": (["--context", "east"], "api_server"),
    "a named Service wins over the URL": (["--service", DEFAULT_SERVICE], "api_server"),
}


@pytest.mark.parametrize(("argv", "want"), WAYS.values(), ids=WAYS.keys())
def test_options_win_over_the_environment(
    api_server: ApiServer, read_api: ReadApi, argv: list[str], want: str
) -> None:
    assert main(["queue", *argv]) == 0
    asked = {"read_api": read_api.asked, "api_server": api_server.known.asked}
    assert [name for name, paths in asked.items() if paths] == [want]


SERVICES: dict[str, Service] = {
    "a/b:c": Service("a", "b", "c"),
    "a/b:10262": Service("a", "b", "10262"),
    "a/http:b:c": Service("a", "b", "c"),
    "a/https:b:c": Service("a", "b", "c", "https"),
    "a/http:c": Service("a", "http", "c"),
}


@pytest.mark.parametrize(("text", "want"), SERVICES.items(), ids=SERVICES.keys())
def test_a_service_is_parsed_and_has_its_proxy_path(text: str, want: Service) -> None:
    assert parse(text) == want
    key = f"{want.scheme}:{want.name}:{want.port}"
    assert want.path("/v1/queue") == f"/api/v1/namespaces/a/services/{key}/proxy/v1/queue"


@pytest.mark.parametrize(
    "text",
    ["", "a", "a/b", "b:c", "a/b:c:d", "a/ftp:b:c", "a/b/c:d", "a/B:c", "a/../b:c", "a/b:c\n"],
)
def test_a_malformed_service_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAMESPACE/NAME:PORT"):
        parse(text)


def test_the_viewer_role_and_the_devcluster_name_the_same_service() -> None:
    service = parse(DEFAULT_SERVICE)
    role, *_ = yaml.safe_load_all((ROOT / "deploy/base/viewer.yaml").read_text())
    rule, _ = role["rules"]
    assert service.key in rule["resourceNames"]
    assert role["metadata"]["namespace"] == service.namespace == read_api_service.NAMESPACE
    assert (service.name, service.port) == (read_api_service.SERVICE, read_api_service.PORT_NAME)


def test_the_environment_can_name_another_service(
    api_server: ApiServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHUNTYARD_SERVICE", "team/yard:web")
    path = "/api/v1/namespaces/team/services/http:yard:web/proxy/v1/queue"
    api_server.known.answers[path] = status(404, "NotFound", "not found")
    assert main(["queue"]) == 1
    assert "Service yard in the namespace team not found" in capsys.readouterr().err
    monkeypatch.setenv("SHUNTYARD_SERVICE", "yard")
    with pytest.raises(SystemExit, match="2"):
        main(["queue"])
