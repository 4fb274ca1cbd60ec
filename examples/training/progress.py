"""The output of a training job: a line per step, a metrics file, a correct exit code."""

import os
import signal
import sys
import time
from types import FrameType

from shuntyard_trainer import MetricsWriter

TERMINATED = 128 + signal.SIGTERM


def setting(name: str, default: str) -> str:
    """Return an environment variable; empty counts as not set."""
    return os.environ.get(name) or default


def start() -> None:
    """From now on end with 143 on SIGTERM: because 0 would mean that the training is complete."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, leave)
    print("started", flush=True)


class Progress:
    """Prints ``step=… loss=…``, appends JSON lines to the pod's metrics file, keeps the pace.

    STEP_SECONDS is how long a step takes at least: it stands for reading the input.
    """

    def __init__(self, total_steps: int) -> None:
        self._step_seconds = float(setting("STEP_SECONDS", "0.15"))
        self._total_steps = total_steps
        self._metrics = MetricsWriter.from_environment()
        self._begun = time.monotonic()

    def step(self, completed: int, loss: float) -> None:
        """Report that so many steps are completed, and wait for the rest of the last one's time."""
        print(f"step={completed} loss={loss:.4f}", flush=True)
        self._metrics.write(completed, total_steps=self._total_steps, loss=loss)
        left_seconds = self._step_seconds - (time.monotonic() - self._begun)
        time.sleep(max(0.0, left_seconds))
        self._begun = time.monotonic()
