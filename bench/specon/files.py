"""The files that the training programs of a job wrote into its directory, as values.

Only files of the trainers are read, so that they are evidence independent of our own programs.
"""

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Life:
    """The life of one process; times are seconds since the epoch.

    Attributes:
        pod: Name of its pod.
        uid: Its uid.
        node: Its node.
        pid: Process id.
        alone: True if no other process of the job ran when this one began.
        begun_at: Beginning.
        seen_at: Last sign of life.
    """

    pod: str
    uid: str
    node: str
    pid: int
    alone: bool
    begun_at: float
    seen_at: float


@dataclass(frozen=True)
class Step:
    """A completed step: number of completed steps, time, pod."""

    step: int
    at: float
    loss: float
    pod: str


@dataclass(frozen=True)
class Ack:
    """A requested checkpoint that was saved and acknowledged; times are seconds since the epoch.

    ``written_at`` is the creation of the file.
    """

    request: str
    uid: str
    step: int
    finished_at: float
    written_at: float


class JobFiles:
    """The directory of a job on the shared volume.

    Args:
        directory: ``<volume>/<namespace>/<job>``.
        member: The pod, where a job has several equal ones; empty: it has one.
    """

    def __init__(self, directory: Path, member: str = "") -> None:
        self.directory = directory
        self._lives = directory / "lives" / member
        self._contract = directory / "checkpoints" / member / ".shuntyard"

    def lives(self) -> tuple[Life, ...]:
        """Return the processes by beginning."""
        lives = (_life(file) for file in self._lives.glob("*.jsonl"))
        return tuple(sorted((life for life in lives if life), key=lambda life: life.begun_at))

    def pods(self) -> frozenset[str]:
        """Return the names of the pods of all processes."""
        return frozenset(life.pod for life in self.lives())

    def steps(self) -> tuple[Step, ...]:
        """Return all completed steps by time."""
        files = [self.directory / "metrics" / f"{pod}.jsonl" for pod in self.pods()]
        steps = [_step(file.stem, line) for file in files for line in _lines(file)]
        return tuple(sorted(steps, key=lambda step: (step.at, step.step)))

    def acks(self) -> tuple[Ack, ...]:
        """Return the acknowledged checkpoints by time."""
        acks = (_ack(file) for file in self._contract.glob("ack-*.json"))
        return tuple(sorted((ack for ack in acks if ack), key=lambda ack: ack.finished_at))

    def saved_step(self) -> int:
        """Return the step of the last complete checkpoint; 0 before the first."""
        record = _record(self._contract / "saved.json")
        return int(record["step"]) if record else 0

    def resumed_step(self) -> int:
        """Return the step at which the last process began."""
        record = _record(self._contract / "trainer.json") or {}
        return int(record.get("resumed_step") or 0)

    def done(self) -> bool:
        """Return True if the training is complete."""
        return (self._contract / "done.json").exists()

    def done_at(self) -> float:
        """Return the completion of the training, seconds since the epoch.

        Raises:
            LookupError: The training is not complete.
        """
        record = _record(self._contract / "done.json")
        if record is None:
            raise LookupError(f"{self.directory} is not complete")
        return float(record["finished_at"])


def repeated(steps: tuple[Step, ...]) -> int:
    """Return the number of repetitions of steps."""
    return sum(times - 1 for times in Counter(step.step for step in steps).values())


def overlaps(lives: tuple[Life, ...]) -> tuple[tuple[Life, Life], ...]:
    """Return pairs of processes of one job that ran at the same time."""
    pairs = itertools.pairwise(lives)
    return tuple((a, b) for a, b in pairs if not b.alone or b.begun_at < a.seen_at)


def _life(file: Path) -> Life | None:
    lines = list(_lines(file))
    if not lines:
        return None
    first = lines[0]
    return Life(
        pod=first["pod"],
        uid=first["uid"],
        node=first["node"],
        pid=first["pid"],
        alone=first["alone"],
        begun_at=first["time"],
        seen_at=lines[-1]["time"],
    )


def _step(pod: str, line: Record) -> Step:
    return Step(step=line["step"], at=line["time"], loss=line["loss"], pod=pod)


def _ack(file: Path) -> Ack | None:
    record = _record(file)
    if record is None or not record["ok"]:
        return None
    return Ack(
        request=record["id"],
        uid=record["pod_uid"],
        step=record["step"],
        finished_at=record["finished_at"],
        written_at=file.stat().st_mtime,
    )


def _record(file: Path) -> Record | None:
    try:
        record: Record = json.loads(file.read_text())
    except FileNotFoundError:
        return None
    return record


def _lines(file: Path) -> Iterator[Record]:
    """Yield the complete lines; the last one may be partly written."""
    if file.exists():
        for line in file.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)
