"""``bench fresh``: what a new user has, and the steps of a demo that is a small program."""

import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import fresh
from devcluster.demo import show

USED = {
    "PATH": "where programs are",
    "LANG": "the language",
    "https_proxy": "the way to the network",
    "NO_PROXY": "the way to the network",
    "GOPROXY": "the way to modules",
    "PIP_INDEX_URL": "the way to packages",
    "SSL_CERT_FILE": "whom to trust",
    "NODE_EXTRA_CA_CERTS": "whom to trust",
    "REQUESTS_CA_BUNDLE": "whom to trust",
    "GIT_SSL_CAINFO": "whom to trust",
}
LEFT_OUT = {
    "HOME": "caches, and settings of programs",
    "XDG_CACHE_HOME": "caches",
    "PIP_CACHE_DIR": "a cache",
    "GOCACHE": "a cache",
    "GOMODCACHE": "a cache",
    "VIRTUAL_ENV": "packages",
    "PYTHONPATH": "packages",
    "KUBECONFIG": "a cluster",
    "SHUNTYARD_ASSETS": "built programs",
    "KUBEBUILDER_ASSETS": "built programs",
}


def test_a_new_user_has_the_network_and_nothing_of_this_machine(tmp_path: Path) -> None:
    own = dict.fromkeys([*USED, *LEFT_OUT], "here")
    assert fresh.surroundings(own, tmp_path) == dict.fromkeys(USED, "here") | {
        "HOME": str(tmp_path)
    }


def test_official_programs_are_given_by_their_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = fresh.surroundings({}, tmp_path, Path("official"))
    assert given[fresh.GIVEN] == str(tmp_path / "official")


PROGRAM = """
import json, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer

asked = threading.Event()
states = iter(json.loads(sys.argv[1]))

class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        state = next(states) if self.path == "/v1/jobs" else "page"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"entries": [{"state": state}]}).encode())
        if state == "running":
            asked.set()

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("installing the packages of the demo: a minute", flush=True)
print("etcd is ready", flush=True)
print(sys.argv[2] + ": a, b", flush=True)
print(sys.argv[3].replace("0.0.0.0:0", "127.0.0.1:%d" % server.server_port), flush=True)
asked.wait(30)
sys.exit(int(sys.argv[4]))
"""


def address() -> str:
    """The line of the demo, with an address in which the program puts its port."""
    demo: Any = SimpleNamespace(
        command="shuntyard", cluster=SimpleNamespace(extender_url="http://0.0.0.0:0")
    )
    return show.address(demo)


def follow(directory: Path, program: str, *arguments: str) -> tuple[int, list[fresh.Row]]:
    """Follow a program in the place of the demo; any two looks at the clock are a second apart."""
    ticks = count()
    steps = fresh.Steps(clock=lambda: float(next(ticks)))
    command = [sys.executable, "-c", program, *arguments]
    return fresh.follow(command, directory, {}, steps), steps.rows


@pytest.mark.parametrize("code", [0, 3])
def test_each_step_has_its_time(tmp_path: Path, code: int) -> None:
    arguments = ('["waiting", "running"]', show.SUBMITTED, address(), str(code))
    got, rows = follow(tmp_path, PROGRAM, *arguments)
    assert got == code
    assert [(row.step, row.seconds, row.after_seconds) for row in rows] == [
        ("the packages", 1.0, 1.0),
        ("the programs and the control plane; the jobs are submitted", 1.0, 2.0),
        ("the address of the page", 1.0, 3.0),
        ("the page", 1.0, 4.0),
        ("a job that runs", 1.0, 5.0),
        ("the end of the demo", 1.0, 6.0),
    ]


ENDINGS = {
    "a demo that cannot start": ("raise SystemExit(2)", 2, []),
    "a demo that ends well without a page": ("print('done')", 1, ["the packages"]),
    "a page that never answers": (
        "print({address!r}); raise SystemExit(4)",
        4,
        ["the packages", "the address of the page"],
    ),
}


@pytest.mark.parametrize(("program", "code", "steps"), ENDINGS.values(), ids=ENDINGS)
def test_no_step_is_noted_that_was_not_reached(
    program: str, code: int, steps: list[str], tmp_path: Path
) -> None:
    nowhere = address().replace("0.0.0.0:0", "127.0.0.1:1")
    got, rows = follow(tmp_path, program.replace("{address!r}", repr(nowhere)))
    assert got == code
    assert [row.step for row in rows] == [*steps, "the end of the demo"]
