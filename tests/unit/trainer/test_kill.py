"""kill -9 at every file operation of the protocol: files stay readable, no answered work is lost.

The program has no peer: the request exists before it starts, and its hold deadline is past, so
that one run goes through all of it: begin, save, answer, release, train on, save at the end, done.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.unit.trainer.agent import Agent
from tests.unit.trainer.processes import COUNT, finish, start

STEPS = 3
MOST_OPERATIONS = 300


def _check_files(directory: Path) -> None:
    """Every file of the contract can be parsed; what was answered is there, whole."""
    agent = Agent(directory)
    if not agent.folder.is_dir():
        return
    files = {name: agent.read(name) for name in agent.names() if not name.startswith(".")}
    saved, answer = files.get("saved.json"), files.get("ack-r1.json")
    if saved is not None:
        assert json.loads((directory / saved["path"]).read_text()) == list(range(saved["step"]))
    if answer is not None:
        assert saved is not None
        assert answer["ok"]
        assert (directory / answer["path"]).exists()
        assert saved["step"] >= answer["step"]


def _resume(directory: Path) -> None:
    code, output = finish(start(COUNT, directory, STEPS))
    assert (code, output) == (0, "")
    assert Agent(directory).read("ack-r1.json")
    last = json.loads((directory / f"step-{STEPS}.json").read_text())
    assert last == list(range(STEPS))
    assert not list(directory.glob(".shuntyard/.*"))


def test_kill_9_at_every_file_operation(tmp_path: Path) -> None:
    killed = []
    for count in range(1, MOST_OPERATIONS):
        directory = tmp_path / str(count)
        Agent(directory).ask_now(hold_seconds=-1.0)
        code, output = finish(start(COUNT, directory, STEPS, f"kill={count}"))
        assert output == ""
        _check_files(directory)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        killed.append(count)
        acked = (Agent(directory).read("ack-r1.json") or {"step": 0})["step"]
        _resume(directory)
        trainer = Agent(directory).read("trainer.json")
        assert trainer is not None
        assert (trainer["resumed_step"] or 0) >= acked
    assert 40 < len(killed) < MOST_OPERATIONS - 1
