"""The command with the kubeconfigs of clouds and companies (defect B7).

Credential plugins, proxies, impersonation.
"""

import base64
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.__main__ import main
from tests.unit.cli.conftest import ApiServer, ReadApi, serving
from tests.unit.cli.test_by_service import PROXY, plugin, status

V1 = "client.authentication.k8s.io/v1"
QUEUE = f"{PROXY}/v1/queue"


def printing(directory: Path, **credential: str) -> dict[str, Any]:
    """The user of a plugin that prints a credential, and counts its runs."""
    body = json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": credential})
    return plugin(directory, f"#!/bin/sh\necho run >> {directory}/runs\ncat <<'END'\n{body}\nEND\n")


def test_a_plugins_client_certificate_is_shown(api_server: ApiServer) -> None:
    pair = api_server.client
    user = printing(
        api_server.directory,
        clientCertificateData=pair.certificate.read_text(),
        clientKeyData=pair.key.read_text(),
        expirationTimestamp="2099-01-01T00:00:00Z",
    )
    assert main(["queue", "--kubeconfig", str(api_server.kubeconfig(user))]) == 0
    assert api_server.known.subjects == ["ann"]
    assert "Authorization" not in api_server.known.headers[0]


def test_a_plugins_token_is_sent_and_printed_nowhere(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    file = api_server.kubeconfig(printing(api_server.directory, token="hidden-token"))
    assert main(["queue", "--kubeconfig", str(file)]) == 0
    assert api_server.known.headers[0]["Authorization"] == "Bearer hidden-token"
    api_server.known.answers[QUEUE] = status(403, "Forbidden", "no")
    assert main(["queue", "--kubeconfig", str(file)]) == 1
    printed = capsys.readouterr()
    assert "hidden-token" not in printed.out + printed.err


def test_one_command_runs_a_plugin_once(api_server: ApiServer) -> None:
    file = api_server.kubeconfig(printing(api_server.directory, token="t"))
    assert main(["what-if", "--workers", "1", "--cpu", "1", "--kubeconfig", str(file)]) == 0
    assert (api_server.directory / "runs").read_text() == "run\n"


def test_a_plugin_needs_no_package_beside_those_of_the_command(api_server: ApiServer) -> None:
    """As installed by ``pip install .[cli]``, without the client library."""
    file = api_server.kubeconfig(printing(api_server.directory, token="t"))
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('kubernetes', 'aiohttp', 'numpy')));"
        f"from cli.__main__ import main; sys.exit(main(['queue', '--kubeconfig', {str(file)!r}]))"
    )
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "resnet" in done.stdout


def test_impersonation_is_sent_with_every_request(api_server: ApiServer) -> None:
    pair = {"client-certificate": str(api_server.client.certificate)}
    pair["client-key"] = str(api_server.client.key)
    file = api_server.kubeconfig({**pair, "as": "bob", "as-groups": ["red", "blue"]})
    assert main(["queue", "--kubeconfig", str(file)]) == 0
    sent = api_server.known.pairs[0]
    assert [text for name, text in sent if name == "Impersonate-User"] == ["bob"]
    assert [text for name, text in sent if name == "Impersonate-Group"] == ["red", "blue"]


@contextmanager
def forward_proxy() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """An HTTP proxy: its address, and what was asked of it with which authorization."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append((self.path, self.headers.get("Proxy-Authorization", "")))
            if "wrong" in self.path:
                self.send_error(407)
                return
            host, port = self.path.rsplit(":", 1)
            with socket.create_connection((host, int(port))) as far:
                self.send_response(200)
                self.end_headers()
                back = threading.Thread(target=_copy, args=(far, self.connection))
                back.start()
                _copy(self.connection, far)
                back.join()

        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Proxy-Authorization", "")))
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def test_the_proxy_of_the_kubeconfig_is_used_and_sees_no_content(api_server: ApiServer) -> None:
    with forward_proxy() as (address, asked):
        file = api_server.kubeconfig(**{"proxy-url": f"http://me:p%40ss@{address}"})
        assert main(["queue", "--kubeconfig", str(file)]) == 0
    shown = base64.b64encode(b"me:p@ss").decode()
    assert asked == [(api_server.known.url.removeprefix("https://"), f"Basic {shown}")]
    assert api_server.known.subjects == ["ann"]


def test_a_plain_server_is_called_through_the_proxy_too(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with forward_proxy() as (address, asked), serving(ReadApi()) as plain:
        file = api_server.kubeconfig({}, server=plain.url, **{"proxy-url": f"http://{address}"})
        assert main(["queue", "--kubeconfig", str(file)]) == 1
        assert asked == [(f"{plain.url}{QUEUE}", "")]
    assert "status 404" in capsys.readouterr().err


def test_a_refusal_by_a_proxy_is_one_sentence_without_its_password(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with forward_proxy() as (address, _):
        more = {"proxy-url": f"http://me:hidden@{address}", "server": "https://wrong:1"}
        assert main(["queue", "--kubeconfig", str(api_server.kubeconfig(**more))]) == 1
    printed = capsys.readouterr().err
    assert "407" in printed
    assert "hidden" not in printed
