"""What rank 0 of a job has written: a line for each step, and the end of training."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.elastic.scenario import URGENT
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


class JobOutcome(Struct, frozen=True):
    """One job.

    Attributes:
        submitted: When.
        completed: When the training was complete.
        steps: How many it has.
        missing_steps: Steps that were not done.
        repeated_steps: Steps that were done more often than once, every further time counted.
        rescales: How often its number of workers was changed while it ran.
        workers: From when on how many workers trained.
        loss: Of the last step.
        loss_alone: The same of a run with one worker that nothing happened to.
    """

    name: str
    utility: int
    submitted: float
    completed: float
    steps: int
    missing_steps: int
    repeated_steps: int
    rescales: int
    workers: tuple[tuple[float, int], ...]
    loss: float
    loss_alone: float

    @property
    def seconds(self) -> float:
        """From its submission to its end."""
        return self.completed - self.submitted


class Outcome(Struct, frozen=True):
    """One run.

    Attributes:
        load: Load average of the machine when it began: who else was at work.
        simulated_makespan: What the simulator says for the same jobs, in seconds of this run.
    """

    contestant: str
    experiment: str
    speed: str
    seed: int
    scale: float
    load: float
    simulated_makespan: float
    jobs: tuple[JobOutcome, ...]

    @property
    def makespan(self) -> float:
        """Seconds until the last job was complete."""
        return max(job.completed for job in self.jobs)

    @property
    def mean(self) -> float:
        """Mean seconds of a job."""
        return sum(job.seconds for job in self.jobs) / len(self.jobs)

    @property
    def urgent(self) -> float:
        """Seconds of the last job, in ``mixed`` the important one."""
        return next(job.seconds for job in self.jobs if job.name == URGENT)

    @property
    def rescales(self) -> int:
        """Changes of workers, all jobs together."""
        return sum(job.rescales for job in self.jobs)

    @property
    def loss_difference(self) -> float:
        """Largest difference of a job's final loss from that of its run alone."""
        return max(abs(job.loss - job.loss_alone) for job in self.jobs)


def workers_over_time(steps: Sequence[Step], begun_at: float) -> tuple[tuple[float, int], ...]:
    """Return from when on how many workers trained: where the number differs from the last one."""
    runs = groupby(steps, key=lambda step: step.workers)
    return tuple((round(next(run).at - begun_at, 2), workers) for workers, run in runs)


def row(outcome: Outcome) -> dict[str, Any]:
    """Return a run as a row of results: what it was made of, and what it comes to."""
    made: dict[str, Any] = msgspec.to_builtins(outcome)
    return {
        **made,
        "makespan": round(outcome.makespan, 2),
        "mean": round(outcome.mean, 2),
        "urgent": round(outcome.urgent, 2),
        "rescales": outcome.rescales,
        "loss_difference": outcome.loss_difference,
    }
