"""Training programs as processes, and waiting for what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import shuntyard_trainer
from tests.unit.trainer.agent import POD

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = str(Path(shuntyard_trainer.__file__).parents[1])
_started: list[subprocess.Popen[str]] = []
COUNT = ROOT / "tests/unit/trainer/programs/count.py"


def start(
    program: Path, *arguments: object, python: str = sys.executable, **variables: str
) -> subprocess.Popen[str]:
    places = os.pathsep.join(filter(None, (LIBRARY, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": places, "SHUNTYARD_POD_UID": POD}
    command = [python, str(program), *map(str, arguments)]
    process = subprocess.Popen(
        command,
        env={**environment, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    _started.append(process)
    return process


def kill_all() -> None:
    """End what a failed test has left."""
    while _started:
        process = _started.pop()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def finish(process: subprocess.Popen[str], within_seconds: float = 60.0) -> tuple[int, str]:
    """Return exit code and output; a process that does not end is killed, which fails the test."""
    try:
        output, _ = process.communicate(timeout=within_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        raise AssertionError(f"it did not end within {within_seconds} s: {output}") from None
    return process.returncode, output


def end(process: subprocess.Popen[str], within_seconds: float = 60.0) -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    return finish(process, within_seconds)


def wait_for(check: Callable[[], object], within_seconds: float = 60.0) -> None:
    """Wait until it is so. ``tests.fakes.eventually`` without an event loop."""
    deadline = time.monotonic() + within_seconds
    while not check():
        assert time.monotonic() < deadline, f"not so within {within_seconds} s"
        time.sleep(0.005)


def wait_until_it_trains(directory: Path) -> None:
    """Wait for the first line of metrics: a step is done and can be saved."""
    metrics = directory / "metrics.jsonl"
    wait_for(lambda: metrics.exists() and metrics.stat().st_size)
