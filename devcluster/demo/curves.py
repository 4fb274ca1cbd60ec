"""The learning curves that the examples write: a JSON line per step, a file per pod.

A job's files share a directory, so that the curve of a moved job continues in another pod's file.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TAIL_BYTES = 512


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """Completed steps and the loss of the last one."""

    step: int
    loss: float


def first_point(directory: Path) -> Point | None:
    """Return a job's first point; None before there is one."""
    points = (_first(file) for file in _files(directory))
    return min((point for point in points if point), default=None)


def last_point(directory: Path) -> Point | None:
    """Return the last complete line of the pod that is farthest; None before there is one."""
    points = (_last(file) for file in _files(directory))
    return max((point for point in points if point), default=None)


def repeated_steps(directory: Path) -> int:
    """Return how many steps of a job were repeated by the same member."""
    done = Counter(
        (_member(file), point.step)
        for file in _files(directory)
        for line in file.read_bytes().splitlines(keepends=True)
        if (point := _point(line))
    )
    return sum(times - 1 for times in done.values())


def _member(file: Path) -> str:
    """Return the member of a pod's file: ``job-3`` of ``job-3-x7k2p``."""
    return file.stem.rpartition("-")[0]


def _files(directory: Path) -> Iterator[Path]:
    return directory.glob("metrics/*.jsonl")


def _first(file: Path) -> Point | None:
    with file.open("rb") as stream:
        return _point(stream.readline())


def _last(file: Path) -> Point | None:
    with file.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, 2) - TAIL_BYTES))
        tail = stream.read()
    lines = tail[: tail.rfind(b"\n") + 1].splitlines(keepends=True)
    return _point(lines[-1]) if lines else None


def _point(line: bytes) -> Point | None:
    if not line.endswith(b"\n"):
        return None
    fields = json.loads(line)
    return Point(step=fields["step"], loss=fields["loss"])
