"""SIGTERM in real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from shuntyard_trainer import Checkpoints
from shuntyard_trainer.termination import Termination
from tests.unit.trainer.agent import Agent
from tests.unit.trainer.processes import COUNT, end, finish, start, wait_for, wait_until_it_trains

MANY = 1_000_000


def _step(directory: Path) -> int:
    saved = Agent(directory).read("saved.json")
    assert saved is not None
    steps: list[int] = json.loads((directory / saved["path"]).read_text())
    assert steps == list(range(saved["step"]))
    return len(steps)


def test_sigterm_saves_and_ends_with_143(tmp_path: Path) -> None:
    process = start(COUNT, tmp_path, MANY)
    wait_until_it_trains(tmp_path)
    code, output = end(process)
    assert (code, output) == (143, "")
    assert _step(tmp_path) > 0


def test_in_the_hold_sigterm_ends_the_process_at_once(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    process = start(COUNT, tmp_path, MANY)
    wait_until_it_trains(tmp_path)
    agent.ask_now()
    wait_for(lambda: agent.read("ack-r1.json"))
    lines = (tmp_path / "metrics.jsonl").read_bytes()
    assert end(process) == (143, "")  # it waits for a minute; the hold lasts for ten
    answer = agent.read("ack-r1.json")
    assert answer is not None
    assert _step(tmp_path) == answer["step"] == lines.count(b"\n")
    assert (tmp_path / "metrics.jsonl").read_bytes() == lines


def test_a_second_sigterm_does_not_interrupt_the_save(tmp_path: Path) -> None:
    process = start(COUNT, tmp_path, MANY, "slow-save")
    wait_until_it_trains(tmp_path)
    process.send_signal(signal.SIGTERM)
    wait_for((tmp_path / "saving").exists)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    (tmp_path / "save-on").touch()
    assert finish(process) == (143, "")
    assert _step(tmp_path) > 0


def _pod(uid: str) -> dict[str, str]:
    return {"SHUNTYARD_POD_UID": uid}


def _ask_and_move(agent: Agent, request: str, process: subprocess.Popen[str]) -> None:
    """The pod's uid is that of the request: each pod is asked once."""
    wait_for(lambda: (agent.read("trainer.json") or {}).get("pod_uid") == request)
    agent.ask_now(request, pod_uid=request)
    wait_for(lambda: agent.read(f"ack-{request}.json"))
    assert end(process) == (143, "")


def test_a_moved_run_does_every_step_once(tmp_path: Path) -> None:
    agent, total = Agent(tmp_path), 1000  # more than the lives that are asked could do
    for request in ("r1", "r2", "r3"):
        _ask_and_move(agent, request, start(COUNT, tmp_path, total, "slow-step", **_pod(request)))
    code, output = finish(start(COUNT, tmp_path, total))
    assert (code, output) == (0, "")
    steps = [
        json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()
    ]
    assert steps == list(range(1, total + 1))


def test_a_forked_child_still_dies_of_sigterm(tmp_path: Path) -> None:
    code, output = finish(start(COUNT, tmp_path, 1, "pool"))
    assert (code, output) == (0, f"child died of {signal.SIGTERM.value}\n")


def test_off_the_main_thread_the_error_explains_what_to_do(tmp_path: Path) -> None:
    code, output = finish(start(COUNT, tmp_path, 1, "thread"))
    assert code == 0
    assert "give handle_sigterm=False and call terminate()" in output
    assert "terminating: True" in output


@pytest.fixture
def noted() -> list[int]:
    """Yield the signals that a handler of the program got; the test run's handler comes back."""
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: seen.append(number))
    yield seen
    signal.signal(signal.SIGTERM, before)


def test_after_training_sigterm_has_its_previous_handler(tmp_path: Path, noted: list[int]) -> None:
    checkpoints = Checkpoints(tmp_path, lambda _step: None)
    os.kill(os.getpid(), signal.SIGTERM)
    assert (checkpoints.terminating, noted) == (True, [])
    checkpoints.done(1)
    os.kill(os.getpid(), signal.SIGTERM)
    assert noted == [signal.SIGTERM]


def test_sigterm_can_be_taken_back_from_a_framework(tmp_path: Path, noted: list[int]) -> None:
    termination = Termination()
    termination.handle_sigterm()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    checkpoints = Checkpoints(tmp_path, lambda _step: None, termination=termination)
    os.kill(os.getpid(), signal.SIGTERM)
    assert (checkpoints.terminating, noted) == (True, [])
    checkpoints.done(1)
    os.kill(os.getpid(), signal.SIGTERM)
    assert noted == [signal.SIGTERM]


def test_a_framework_that_brings_our_handler_back_later_does_no_harm(
    tmp_path: Path, noted: list[int]
) -> None:
    checkpoints = Checkpoints(tmp_path, lambda _step: None)
    ours = signal.getsignal(signal.SIGTERM)
    checkpoints.done(1)
    signal.signal(signal.SIGTERM, ours)
    os.kill(os.getpid(), signal.SIGTERM)
    assert noted == [signal.SIGTERM]
