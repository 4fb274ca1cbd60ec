"""What a training job tells the world: a line per step, a metrics file, an honest exit code."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

TERMINATED = 128 + signal.SIGTERM


def setting(name: str, default: str) -> str:
    """Return an environment variable; empty counts as not set."""
    return os.environ.get(name) or default


def start() -> None:
    """From now on end with 143 on SIGTERM: 0 would tell the Job that the training is complete."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, leave)
    print("started", flush=True)


class Progress:
    """Prints ``step=… loss=…``, appends JSON lines to METRICS_FILE, keeps the pace.

    STEP_SECONDS is how long a step takes at least: it stands for reading the input.
    """

    def __init__(self) -> None:
        self._step_seconds = float(setting("STEP_SECONDS", "0.15"))
        self._file = setting("METRICS_FILE", "")
        self._begun = time.monotonic()

    def step(self, step: int, loss: float) -> None:
        """Report a finished step and wait for the rest of its time."""
        print(f"step={step} loss={loss:.4f}", flush=True)
        if self._file:
            line = {"step": step, "loss": round(loss, 6), "time": time.time()}  # noqa: TID251 - a script of its own; there is no clock to inject
            with Path(self._file).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        left_seconds = self._step_seconds - (time.monotonic() - self._begun)
        time.sleep(max(0.0, left_seconds))
        self._begun = time.monotonic()
