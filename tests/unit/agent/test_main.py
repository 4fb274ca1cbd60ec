"""The command line: its output, and the exit code for wrong settings."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent.main import main
from shared import settings
from tests.fakes.extender import Trust

ROOT = Path(__file__).parents[3]


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
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait(timeout=60) == 0
    assert "Traceback" not in rest


def test_the_agent_is_slim() -> None:
    """Modules that it does not need are not in its memory either."""
    code = "import agent.main, sys; print([m for m in ('numpy', 'kubernetes') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
