"""The command line: its output, and the exit code for wrong settings."""

import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from agent.main import main
from shared import settings
from tests.fakes.extender import Trust

ROOT = Path(__file__).parents[3]
PLACES = [str(ROOT), sysconfig.get_path("purelib")]


def test_the_settings_in_force_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-settings"]) == 0
    assert "preset: recommended" in capsys.readouterr().out


WRONG = {
    "no name of the node": ("", {}, "agent.node: not set, and neither is the variable NODE_NAME"),
    "no CA": ("", {"NODE_NAME": "n1"}, "/etc/nowhere/ca.crt: No such file or directory"),
    "no control groups": (
        "sampling: {source: cgroup2, cgroup_root: /etc}",
        {"NODE_NAME": "n1"},
        "is not available below /etc",
    ),
    "a wrong value": ("report: {interval_seconds: 0}", {}, "report.interval_seconds: expected"),
}


@pytest.mark.parametrize(("text", "environ", "message"), WRONG.values(), ids=WRONG)
def test_wrong_settings_are_reported_and_exit_with_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    environ: dict[str, str],
    message: str,
) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    monkeypatch.setenv(settings.variable(("extender", "authority")), "/etc/nowhere/ca.crt")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "agent.yaml"
    file.write_text(text)
    assert main(["--settings", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_the_process_ends_clean_on_sigterm_while_no_replica_answers(tmp_path: Path) -> None:
    trust = Trust.create(tmp_path)
    environ = {
        "PATH": os.environ["PATH"],
        "NODE_NAME": "n1",
        "SHUNTYARD__EXTENDER__URLS": "https://127.0.0.1:1",
        "SHUNTYARD__EXTENDER__AUTHORITY": str(trust.authority),
        "SHUNTYARD__EXTENDER__TOKEN": str(trust.token),
        "SHUNTYARD__API__LISTEN_PORT": "0",
    }
    command = [sys.executable, "-m", "agent"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "the pods cannot be updated" in line:
                break
        libraries = Path(f"/proc/{process.pid}/maps").read_text()
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait(timeout=60) == 0
    assert "Traceback" not in rest
    assert ("_http_parser" in libraries, "pydantic" in libraries) == (True, False)


LOADED = frozenset(
    {
        *("agent", "shared"),
        *("aiohttp", "aiohappyeyeballs", "aiosignal", "attr", "frozenlist", "idna", "multidict"),
        *("propcache", "yarl", "typing_extensions", "cython_runtime"),
        *("annotated_types", "msgspec", "prometheus_client", "psutil"),
    }
)
"""Packages that an agent loads before it reads anything: each costs every node 0.3 to 11 MiB."""
NOT_LOADED = ("ctypes", "multiprocessing", "sqlite3", "zipfile", "zoneinfo")
"""Modules of Python that it does not need."""


def test_an_agent_that_runs_loads_only_what_it_needs() -> None:
    code = "import agent.main, agent.running, sys; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {PLACES!r}; {code}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    own = {name for name in loaded if name not in sys.stdlib_module_names and name[0] != "_"}
    assert own == LOADED
    assert loaded.isdisjoint(NOT_LOADED)
