"""Which steps were really done, on which life: one line a step, appended by the training itself."""

import os
import time
from pathlib import Path

SLOW_SECONDS = float(os.environ.get("STEP_SECONDS", "0.02"))


def note(step: int) -> None:
    """Note a step and let it take its time."""
    rank = os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or "0"
    with Path(os.environ["STEPS_LOG"] + f".{rank}").open("a", encoding="utf-8") as file:
        file.write(f"{step}\n")
    time.sleep(SLOW_SECONDS)
