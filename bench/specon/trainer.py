"""A training job without a model: it uses CPU time, and its loss falls like real losses.

A step takes a fixed amount of CPU *time*, so its duration depends only on the pod's share of the
node. The loss after a step depends only on the step, so a moved job continues the same curve::

    E(t) = (f + (1 - f)·(1 - s(t)))·(1 + noise·N(0, 1)),   s(t) = (1 - e^(-kt)) / (1 - e^(-k))

with t = step / steps. Environment: STEPS, STEP_CPU_SECONDS, STEEPNESS (k), FLOOR (f), NOISE, SEED,
SAVE_SECONDS (duration of writing a checkpoint), SAVE_EVERY_SECONDS (interval without requests;
empty: never), POLL_SECONDS (poll interval for requests), LIVES (a directory for signs of life),
POD_NAME, NODE_NAME, and those of ``shuntyard_trainer``.

Containers run this file as it is: it needs the standard library and ``shuntyard_trainer``.

Source:
    Mao et al., arXiv 2010.11307, Fig. 1; the shape and its constants are those of the simulation
    (docs/experiments/specon-small.md).
"""

import fcntl
import json
import math
import os
import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuntyard_trainer import Checkpoints, MetricsWriter

BEAT_SECONDS = 0.25
SPIN = 500
"""Additions between two reads of the clock: some twenty microseconds."""


def setting(name: str, default: str) -> str:
    """Return an environment variable; empty counts as not set."""
    return os.environ.get(name) or default


@dataclass(frozen=True)
class Curve:
    """The loss by step."""

    steps: int
    steepness: float
    floor: float
    noise: float
    seed: int

    def loss(self, step: int) -> float:
        """Return the loss after so many steps; always the same."""
        whole = 1.0 - math.exp(-self.steepness)
        fallen = (1.0 - math.exp(-self.steepness * step / self.steps)) / whole
        rng = random.Random(f"{self.seed}/{step}")  # noqa: S311 - noise, nothing secret
        level = self.floor + (1.0 - self.floor) * (1.0 - fallen)
        return level * (1.0 + self.noise * rng.gauss(0.0, 1.0))


def burn(cpu_seconds: float) -> None:
    """Use so much CPU time."""
    until = time.process_time() + cpu_seconds
    while time.process_time() < until:
        total = 0
        for number in range(SPIN):
            total += number


class Life:
    """Writes signs of life of this process, and whether another process of its job runs.

    The kernel releases the lock on ``running.lock`` when the process ends, however it ends. So a
    life whose first line has ``alone: false`` began while another one was not over.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(directory / "running.lock", os.O_RDWR | os.O_CREAT, 0o644)
        uid, pid = setting("SHUNTYARD_POD_UID", "none"), os.getpid()
        self._file = (directory / f"{uid}-{pid}.jsonl").open("a", buffering=1)
        about = {"pod": setting("POD_NAME", ""), "node": setting("NODE_NAME", "")}
        self._write(pid=pid, uid=uid, alone=self._locked(), **about)
        threading.Thread(target=self._beat, daemon=True).start()

    def _locked(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _beat(self) -> None:
        while True:
            time.sleep(BEAT_SECONDS)
            self._write()

    def _write(self, **more: Any) -> None:
        now = time.time()  # noqa: TID251 - a program of its own; compared with other processes
        self._file.write(json.dumps({"time": now, **more}) + "\n")


class Model:
    """The content of a checkpoint: only the number of steps. Only the newest file is kept."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)
        self._save_seconds = float(setting("SAVE_SECONDS", "0"))

    def save(self, step: int) -> Path:
        """Write a checkpoint of so many steps; it takes time but no CPU."""
        time.sleep(self._save_seconds)
        path = self._directory / f"step-{step}.json"
        path.write_text(json.dumps({"step": step}))
        for old in set(self._directory.glob("step-*.json")) - {path}:
            old.unlink()
        return path


def main() -> None:
    """Train from the last checkpoint, or from the beginning."""
    if lives := setting("LIVES", ""):
        Life(Path(lives))
    cpu_seconds = float(setting("STEP_CPU_SECONDS", "0.04"))
    curve = Curve(
        steps=int(setting("STEPS", "100")),
        steepness=float(setting("STEEPNESS", "5.2")),
        floor=float(setting("FLOOR", "0.1")),
        noise=float(setting("NOISE", "0.003")),
        seed=int(setting("SEED", "1")),
    )
    directory, every = setting("SHUNTYARD_CHECKPOINT_DIR", ""), setting("SAVE_EVERY_SECONDS", "")
    checkpoints = Checkpoints.from_environment(
        Model(directory).save if directory else None,
        poll_seconds=float(setting("POLL_SECONDS", "0.5")),
        save_every_seconds=float(every) if every else None,
    )
    metrics = MetricsWriter.from_environment()
    for index in checkpoints.steps(curve.steps):
        burn(cpu_seconds)
        metrics.write(index + 1, total_steps=curve.steps, loss=curve.loss(index + 1))


if __name__ == "__main__":
    main()
