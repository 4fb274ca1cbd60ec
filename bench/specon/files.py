"""What the training programs of one job have left in its directory, as values.

Nothing here asks our own programs: files of the trainers alone, so that they can bear witness.
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
    """One process; times are seconds since the epoch.

    Attributes:
        pod: Name of its pod.
        uid: Its uid.
        node: Where it ran.
        pid: Of the process.
        alone: No other process of the job lived when this one began.
        begun_at: When it began.
        seen_at: When it was last seen to live.
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
    """A step that was done: the number of steps completed with it, when, by which pod."""

    step: int
    at: float
    loss: float
    pod: str


@dataclass(frozen=True)
class Ack:
    """A checkpoint that was asked for, saved and told; times are seconds since the epoch.

    ``written_at`` is when the file came into being.
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
        member: Which of several equal pods; empty: there is one.
    """

    def __init__(self, directory: Path, member: str = "") -> None:
        self.directory = directory
        self._lives = directory / "lives" / member
        self._contract = directory / "checkpoints" / member / ".shuntyard"

    def lives(self) -> tuple[Life, ...]:
        """Return the processes, in the order in which they began."""
        found = (_life(file) for file in self._lives.glob("*.jsonl"))
        return tuple(sorted((life for life in found if life), key=lambda life: life.begun_at))

    def pods(self) -> frozenset[str]:
        """Return the names of the pods whose processes lived."""
        return frozenset(life.pod for life in self.lives())

    def steps(self) -> tuple[Step, ...]:
        """Return every step that was done, in the order of time."""
        files = [self.directory / "metrics" / f"{pod}.jsonl" for pod in self.pods()]
        found = [_step(file.stem, line) for file in files for line in _lines(file)]
        return tuple(sorted(found, key=lambda step: (step.at, step.step)))

    def acks(self) -> tuple[Ack, ...]:
        """Return the answers to requests that were carried out, in the order of time."""
        found = (_ack(file) for file in self._contract.glob("ack-*.json"))
        return tuple(sorted((ack for ack in found if ack), key=lambda ack: ack.finished_at))

    def saved_step(self) -> int:
        """Return the step of the last complete checkpoint; 0 before the first."""
        record = _record(self._contract / "saved.json")
        return int(record["step"]) if record else 0

    def resumed_step(self) -> int:
        """Return where the last process began."""
        record = _record(self._contract / "trainer.json") or {}
        return int(record.get("resumed_step") or 0)

    def done(self) -> bool:
        """Whether the training is complete."""
        return (self._contract / "done.json").exists()

    def done_at(self) -> float:
        """Return when the training was complete, seconds since the epoch.

        Raises:
            LookupError: It is not.
        """
        record = _record(self._contract / "done.json")
        if record is None:
            raise LookupError(f"{self.directory} is not complete")
        return float(record["finished_at"])


def repeated(steps: tuple[Step, ...]) -> int:
    """Return how many steps were done more often than once, every further time counted."""
    return sum(times - 1 for times in Counter(step.step for step in steps).values())


def overlaps(lives: tuple[Life, ...]) -> tuple[tuple[Life, Life], ...]:
    """Return pairs of processes of one job that lived at one time."""
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
        found: Record = json.loads(file.read_text())
    except FileNotFoundError:
        return None
    return found


def _lines(file: Path) -> Iterator[Record]:
    """Yield the complete lines; the last one may still be on its way."""
    if file.exists():
        for line in file.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)
