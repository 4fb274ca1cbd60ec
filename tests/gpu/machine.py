"""This machine's GPU, by the programs of its driver: the code under test has no part in it."""

import shutil
import subprocess
import sys
from functools import cache

import pytest


@cache
def devices() -> tuple[str, ...]:
    """Return the GPUs of this machine, a line each; none without a driver."""
    if shutil.which("nvidia-smi") is None:
        return ()
    command = ["nvidia-smi", "-L"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return tuple(line for line in done.stdout.splitlines() if line.startswith("GPU "))


def skip_without_gpu() -> None:
    """Skip a whole module in one line where there is no GPU."""
    if not devices():
        pytest.skip("nvidia-smi finds no GPU of NVIDIA here", allow_module_level=True)


def smi(kind: str, fields: str) -> list[list[str]]:
    """Return what nvidia-smi has of the first GPU: rows of cells; memory in MiB."""
    done = subprocess.run(
        ["nvidia-smi", "--id=0", f"--query-{kind}={fields}", "--format=csv,noheader,nounits"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return [[cell.strip() for cell in row.split(",")] for row in done.stdout.splitlines() if row]


def note(name: str, figure: object) -> None:
    """Print what was measured; ``pytest -s`` shows it of tests that pass, too."""
    sys.stdout.write(f"\nMEASURED {name}: {figure}\n")
    sys.stdout.flush()
