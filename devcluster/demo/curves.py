"""The learning curves that the examples write: one JSON line a step, one file a pod."""

import json
from dataclasses import dataclass
from pathlib import Path

TAIL_BYTES = 512


@dataclass(frozen=True, slots=True)
class Point:
    """A step and its loss."""

    step: int
    loss: float


def last_point(directory: Path, pod_name: str) -> Point | None:
    """Return the last complete line of a pod's file; None before there is one."""
    try:
        with (directory / f"{pod_name}.jsonl").open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            tail = file.read()
    except FileNotFoundError:
        return None
    lines = tail[: tail.rfind(b"\n") + 1].splitlines()
    return _point(lines[-1]) if lines else None


def first_point(directory: Path, pod_name: str) -> Point | None:
    """Return the first line of a pod's file; None before it is complete."""
    try:
        with (directory / f"{pod_name}.jsonl").open("rb") as file:
            line = file.readline()
    except FileNotFoundError:
        return None
    return _point(line) if line.endswith(b"\n") else None


def _point(line: bytes) -> Point:
    said = json.loads(line)
    return Point(step=said["step"], loss=said["loss"])
