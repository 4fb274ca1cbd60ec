"""Runs programs of the system, with their output in errors."""

import subprocess

from devcluster.errors import MachineError


def run(*argv: str, seconds: float = 60.0) -> str:
    """Run a program to its end and return its output.

    Raises:
        MachineError: It is missing, failed, or took longer than ``seconds``.
    """
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"{' '.join(argv)}: {error}") from error
    if done.returncode != 0:
        raise MachineError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def succeeds(*argv: str) -> bool:
    """Return whether a program ends with code 0."""
    try:
        run(*argv)
    except MachineError:
        return False
    return True
