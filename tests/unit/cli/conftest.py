"""Servers with canned answers: a read API, and an API server before it."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from cli.service import DEFAULT_SERVICE, parse
from devcluster.credentials.certificates import Authority, Pair
from shared.kube import paths
from shared.readapi.answer import VIEWERS_ACCOUNT
from shared.system_clock import SystemClock
from tests.fakes.answers import (
    EXPLAIN,
    JOBS,
    MIGRATIONS,
    NAMESPACES,
    NODES,
    PARKINGS,
    PRICES,
    QUEUE,
    RESCALES,
    WHAT_IF,
)

PASS_PATH = paths.service_account_token("shuntyard-system", VIEWERS_ACCOUNT)
"""Where the API server issues the token for the Role ``shuntyard-viewer``."""

CANNED = {
    "queue": QUEUE,
    "nodes": NODES,
    "jobs": JOBS,
    "explain": EXPLAIN,
    "migrations": MIGRATIONS,
    "rescales": RESCALES,
    "parkings": PARKINGS,
    "prices": PRICES,
    "namespaces": NAMESPACES,
    "what-if": WHAT_IF,
}


Canned = tuple[int, bytes]
NOT_SERVED: Canned = (404, b"404 page not found\n")


@dataclass
class ReadApi:
    """A server; ``answers`` maps a path to status and body; the body of a redirect is its target.

    A function takes the posted body and returns both.

    Attributes:
        asked: Requested paths with their queries.
        headers: Of each request.
        pairs: The same, with repeated names.
        subjects: Common name of each request's client certificate, None without one.
        bodies: Of the POSTs.
    """

    url: str = ""
    answers: dict[str, Canned | Callable[[bytes], Canned]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    pairs: list[list[tuple[str, str]]] = field(default_factory=list)
    subjects: list[str | None] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@contextmanager
def serving(known: ReadApi, tls: ssl.SSLContext | None = None) -> Iterator[ReadApi]:
    """Serve on loopback until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            known.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.do_GET()

        def do_GET(self) -> None:
            known.asked.append(self.path)
            known.headers.append(dict(self.headers))
            known.pairs.append(self.headers.items())
            known.subjects.append(_subject(self.connection))
            found = known.answers.get(self.path.split("?")[0], NOT_SERVED)
            if callable(found):
                found = found(known.bodies[-1])
            status, body = found
            self.send_response(status)
            if status in range(300, 400):
                self.send_header("Location", body.decode())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:  # a client that does not trust us disconnects
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        scheme = "http" if tls is None else "https"
        known.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        try:
            yield known
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove this machine's configuration of Shuntyard."""
    ways = ("SHUNTYARD_URL", "SHUNTYARD_CA", "SHUNTYARD_TOKEN_FILE", "SHUNTYARD_SERVICE")
    for name in (*ways, "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def read_api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReadApi]:
    answers = {f"/v1/{name}": (200, msgspec.json.encode(body)) for name, body in CANNED.items()}
    with serving(ReadApi(answers=answers)) as known:
        monkeypatch.setenv("SHUNTYARD_URL", known.url)
        yield known


@dataclass(frozen=True)
class ApiServer:
    """An API server with TLS, whose service proxy leads to a read API.

    Attributes:
        client: A client certificate of the user ``ann``.
    """

    known: ReadApi
    authority: Path
    client: Pair
    directory: Path

    def kubeconfig(
        self,
        user: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        **cluster: Any,
    ) -> Path:
        """Write a kubeconfig with one context, ``east``; without a user: ann's certificate."""
        pair = {"client-certificate": str(self.client.certificate)}
        pair["client-key"] = str(self.client.key)
        whole = {"server": self.known.url, "certificate-authority": str(self.authority), **cluster}
        document = {
            "current-context": "east",
            "contexts": [
                {"name": "east", "context": {"cluster": "c", "user": "u"} | (context or {})}
            ],
            "clusters": [{"name": "c", "cluster": whole}],
            "users": [{"name": "u", "user": pair if user is None else dict(user)}],
        }
        file = self.directory / "kubeconfig"
        file.write_text(yaml.safe_dump(document))
        return file


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    authority = Authority.create(tmp_path_factory.mktemp("pki"), SystemClock())
    authority.issue_server("server", names=("api.example.org",), addresses=("127.0.0.1",))
    authority.issue_client("ann", "ann")
    return authority


@pytest.fixture
def api_server(
    pki: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ApiServer]:
    """An API server whose kubeconfig is in the environment."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki.certificate))
    tls.load_cert_chain(pki.directory / "server.crt", pki.directory / "server.key")
    tls.verify_mode = ssl.CERT_OPTIONAL
    service = parse(DEFAULT_SERVICE)
    answers = {
        service.path(f"/v1/{name}"): (200, msgspec.json.encode(body))
        for name, body in CANNED.items()
    }
    answers[PASS_PATH] = (201, b'{"status": {"token": "role-pass"}}')
    ann = Pair(pki.directory / "ann.crt", pki.directory / "ann.key")
    with serving(ReadApi(answers=answers), tls) as known:
        server = ApiServer(known, pki.certificate, ann, tmp_path)
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))
        yield server


def _subject(connection: Any) -> str | None:
    if not isinstance(connection, ssl.SSLSocket):
        return None
    fields = dict(
        pair for part in (connection.getpeercert() or {}).get("subject", ()) for pair in part
    )
    return fields.get("commonName")
