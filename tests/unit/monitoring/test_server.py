"""The scrape targets of Prometheus, and the errors when it does not answer."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from monitoring import programs, server
from monitoring.errors import ProgramError, QueryError
from monitoring.server import Line, Prometheus

VECTOR = {"result": [{"metric": {"job": "a"}, "value": [5.0, "1.5"]}]}
MATRIX = {"result": [{"metric": {"job": "a"}, "values": [[5.0, "1.5"], [6.0, "NaN"]]}]}
TARGETS = {"activeTargets": [{"labels": {"instance": "x"}, "health": "up"}]}


class Handler(BaseHTTPRequestHandler):
    """A Prometheus that knows one answer to each kind of question."""

    def do_GET(self) -> None:
        found = {"/api/v1/query?": VECTOR, "/api/v1/query_range?": MATRIX, "/api/v1/tar": TARGETS}
        known = [data for start, data in found.items() if self.path.startswith(start)]
        refused = "bad" in self.path
        body = b"no such function" if refused else json.dumps({"data": known[0]}).encode()
        self.send_response(400 if refused else 200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        """Say nothing."""


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Prometheus]:
    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield Prometheus(f"http://127.0.0.1:{http.server_port}", tmp_path)
        http.shutdown()
        thread.join()


def test_answers_are_lines(prometheus: Prometheus) -> None:
    assert prometheus.ask("x", at=5.0) == (Line({"job": "a"}, ((5.0, 1.5),)),)
    (line,) = prometheus.between("x", 5.0, 6.0, 1.0)
    assert line.points[0] == (5.0, 1.5)
    assert prometheus.targets() == {"x": "up"}


def test_a_query_that_is_refused_is_shown_with_the_reason(prometheus: Prometheus) -> None:
    with pytest.raises(QueryError, match=r"bad.*no such function"):
        prometheus.ask("bad(x)", at=5.0)


def test_an_unreachable_server_raises_our_error(tmp_path: Path) -> None:
    with pytest.raises(QueryError):
        Prometheus("http://127.0.0.1:9", tmp_path).ask("x", at=5.0)


def test_targets_are_written_with_their_job_and_instance(tmp_path: Path) -> None:
    Prometheus("", tmp_path).watch({"agent": {"n1": "127.0.0.1:1"}, "extender": {}})
    targets = json.loads((tmp_path / "targets.json").read_text())
    assert targets == [{"targets": ["127.0.0.1:1"], "labels": {"job": "agent", "instance": "n1"}}]


def test_a_program_that_ends_at_once_is_an_error_that_names_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "prometheus"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv(programs.ASSETS, str(tmp_path))
    with (
        pytest.raises(ProgramError, match=r"prometheus\.log"),
        server.running(tmp_path / "run", 9, rules=tmp_path / "rules.yaml", interval_seconds=1),
    ):
        pass
