"""Programs that load the GPU by a known amount while a test looks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

PROGRAMS = Path(__file__).parent / "programs"
HELD_MEBIBYTES = 1024
SETTLING_SECONDS = 3.0
"""The driver's figure is a mean over up to a second; this is more than twice that."""


@contextmanager
def load(share: float, program: str = "gpu_load") -> Iterator[int]:
    """Yield the pid of a program that computes for this share of the time."""
    with subprocess.Popen(
        [sys.executable, PROGRAMS / f"{program}.py", str(share), str(HELD_MEBIBYTES)],
        env=os.environ | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"},  # as NVML counts devices
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            sleep(SETTLING_SECONDS)  # because the figure is a mean of the past
            yield process.pid
            process.stdin.close()
            assert process.wait(60) == 0
        finally:
            process.kill()
