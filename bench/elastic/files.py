"""What rank 0 of a job has written: a line for each step, and the end of training."""

import json
from dataclasses import dataclass
from pathlib import Path

from bench.specon.files import JobFiles


@dataclass(frozen=True)
class Step:
    """A step that was done: its number from 1, when, by how many workers, its loss."""

    number: int
    at: float
    workers: int
    loss: float


def steps(directory: Path) -> tuple[Step, ...]:
    """Return the steps of a job in the order of time; rank 0 alone tells of them."""
    found = [_step(line) for file in directory.glob("metrics/*.jsonl") for line in _lines(file)]
    return tuple(sorted(found, key=lambda step: (step.at, step.number)))


def done(directory: Path) -> bool:
    """Whether the training is complete."""
    return JobFiles(directory).done()


def done_at(directory: Path) -> float:
    """Return when the training was complete, seconds since the epoch.

    Raises:
        LookupError: It is not.
    """
    return JobFiles(directory).done_at()


def _lines(file: Path) -> list[bytes]:
    """Return the complete lines; the last one may still be on its way."""
    lines = file.read_bytes().splitlines(keepends=True)
    return [line for line in lines if line.endswith(b"\n")]


def _step(line: bytes) -> Step:
    said = json.loads(line)
    return Step(said["step"], said["time"], int(said["workers"]), said["loss"])
