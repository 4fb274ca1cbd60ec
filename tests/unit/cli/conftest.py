"""A read API that gives canned answers."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest

from tests.fakes.ports import EXPLAIN, JOBS, MIGRATIONS, NODES, QUEUE


@dataclass
class ReadApi:
    """A read API; ``answers`` maps a path to status and body, ``asked`` keeps the requests."""

    url: str = ""
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def read_api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReadApi]:
    canned = {"queue": QUEUE, "nodes": NODES, "jobs": JOBS, "explain": EXPLAIN}
    canned["migrations"] = MIGRATIONS
    known = ReadApi()
    known.answers = {f"/v1/{k}": (200, msgspec.json.encode(v)) for k, v in canned.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append(self.path)
            status, body = known.answers[self.path.split("?")[0]]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        known.url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("SHUNTYARD_URL", known.url)
        yield known
        server.shutdown()
        thread.join()
