"""Results of one run, read from the files of rank 0: a line per step, and the end of training.

Seconds count from the beginning of the run, the first job's submission.
"""

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
    """A completed step: number from 1, time, number of workers, loss."""

    number: int
    at: float
    workers: int
    loss: float


def steps(directory: Path) -> tuple[Step, ...]:
    """Return the steps of a job by time; only rank 0 writes them."""
    steps_ = [_step(line) for file in directory.glob("metrics/*.jsonl") for line in _lines(file)]
    return tuple(sorted(steps_, key=lambda step: (step.at, step.number)))


def done(directory: Path) -> bool:
    """Return True if the training is complete."""
    return JobFiles(directory).done()


def done_at(directory: Path) -> float:
    """Return the completion of the training, seconds since the epoch.

    Raises:
        LookupError: The training is not complete.
    """
    return JobFiles(directory).done_at()


def _lines(file: Path) -> list[bytes]:
    """Return the complete lines; the last one may be partly written."""
    lines = file.read_bytes().splitlines(keepends=True)
    return [line for line in lines if line.endswith(b"\n")]


def _step(line: bytes) -> Step:
    record = json.loads(line)
    return Step(record["step"], record["time"], int(record["workers"]), record["loss"])


class JobOutcome(Struct, frozen=True):
    """Result of one job.

    Attributes:
        submitted: Submission.
        completed: Completion of the training.
        steps: Number of its steps.
        missing_steps: Steps that were not done.
        repeated_steps: Repetitions of steps.
        rescales: Changes of its number of workers while it ran.
        workers: Time and number of workers, at each change.
        loss: Of the last step.
        loss_alone: Loss of an undisturbed run with one worker.
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
        """From submission to completion."""
        return self.completed - self.submitted


class Outcome(Struct, frozen=True):
    """Result of one run.

    Attributes:
        load: Load average of the machine at the beginning, by other programs.
        simulated_makespan: The simulator's makespan of the same jobs, in seconds of this run.
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
        """Seconds until the last job completed."""
        return max(job.completed for job in self.jobs)

    @property
    def mean(self) -> float:
        """Mean seconds of a job."""
        return sum(job.seconds for job in self.jobs) / len(self.jobs)

    @property
    def urgent(self) -> float:
        """Seconds of the last job; in ``mixed`` that is the important one."""
        return next(job.seconds for job in self.jobs if job.name == URGENT)

    @property
    def rescales(self) -> int:
        """Changes of workers of all jobs."""
        return sum(job.rescales for job in self.jobs)

    @property
    def loss_difference(self) -> float:
        """Largest difference of a job's final loss from that of its run alone."""
        return max(abs(job.loss - job.loss_alone) for job in self.jobs)


def workers_over_time(steps: Sequence[Step], begun_at: float) -> tuple[tuple[float, int], ...]:
    """Return time and number of workers at each change of the number."""
    runs = groupby(steps, key=lambda step: step.workers)
    return tuple((round(next(run).at - begun_at, 2), workers) for workers, run in runs)


def row(outcome: Outcome) -> dict[str, Any]:
    """Return a run as a row of results: its inputs and its measures."""
    fields: dict[str, Any] = msgspec.to_builtins(outcome)
    return {
        **fields,
        "makespan": round(outcome.makespan, 2),
        "mean": round(outcome.mean, 2),
        "urgent": round(outcome.urgent, 2),
        "rescales": outcome.rescales,
        "loss_difference": outcome.loss_difference,
    }
