"""A training program: its state is the list of steps that were done. Standard library only.

Arguments: the checkpoint directory, the number of steps, and words: ``slow-save`` (until a file
``save-on`` lies there), ``slow-step``, ``kill=N`` (die at the N-th file operation), ``pool``,
``thread``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from shuntyard_trainer import Checkpoints, MetricsWriter, SettingError

DIRECTORY, TOTAL, WORDS = Path(sys.argv[1]), int(sys.argv[2]), set(sys.argv[3:])
done = []


def save(step: int) -> Path:
    (DIRECTORY / "saving").touch()
    while "slow-save" in WORDS and not (DIRECTORY / "save-on").exists():
        time.sleep(0.005)
    path = DIRECTORY / f"step-{step}.json"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(done))
    unfinished.replace(path)
    return path


def die_at(count: int) -> None:
    """From now on, kill this process at the count-th call that changes a file."""
    left = [count]

    def counted(function):
        def call(*arguments, **more):
            left[0] -= 1
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **more)

        return call

    for name in ("open", "write", "fsync", "replace", "rename", "unlink", "mkdir", "chmod"):
        setattr(os, name, counted(getattr(os, name)))


def train() -> None:
    checkpoints = Checkpoints.from_environment(save, directory=DIRECTORY, poll_seconds=0.005)
    if checkpoints.resume is not None:
        done.extend(json.loads(Path(checkpoints.resume.path).read_text()))
    with MetricsWriter(DIRECTORY / "metrics.jsonl") as metrics:
        for step in checkpoints.steps(TOTAL):
            done.append(step)
            time.sleep(0.05 if "slow-step" in WORDS else 0.001)
            metrics.write(step=step + 1, loss=1.0 / (step + 1))


def pool() -> None:
    """A forked child must die of SIGTERM although its parent does not."""
    Checkpoints(DIRECTORY)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"x")
        for _ in range(1000):
            time.sleep(0.01)
        os._exit(0)
    os.read(reader, 1)
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    print("child died of", os.WTERMSIG(status))


def thread() -> None:
    """Off the main thread there is no catching of SIGTERM."""

    def make() -> None:
        try:
            Checkpoints(DIRECTORY)
        except SettingError as error:
            print(error)
        checkpoints = Checkpoints(DIRECTORY, handle_sigterm=False)
        checkpoints.terminate()
        print("terminating:", checkpoints.terminating)

    other = threading.Thread(target=make)
    other.start()
    other.join()


for word in WORDS:
    if word.startswith("kill="):
        die_at(int(word[5:]))
({"pool": pool, "thread": thread}.get(next(iter(WORDS), ""), train))()
