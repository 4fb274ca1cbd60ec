"""How long steps took with how many workers: what agents' reports said, as a bounded value."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from shared.model import JobKey, Uid

MOST_NAMES: Final = 1000
"""Names of jobs of which samples are kept; the one that was measured longest ago goes first."""
MOST_INTERVALS: Final = 7
"""Intervals that are kept of each number of workers; the newest ones."""


class Mark(Struct, frozen=True):
    """Where a run was when it was last looked at.

    Attributes:
        pod: Whose word it is.
        attempt: Of its training run.
        workers: How many there were.
        servers: The same of its other pods.
        step: The step.
        at: When that was said, seconds since the epoch; None: with these workers no step was seen
            yet.
    """

    pod: Uid
    attempt: int
    workers: int
    servers: int
    step: int
    at: float | None


class Sample(Struct, frozen=True):
    """Seconds a step, of the last intervals with so many pods; the newest last."""

    workers: int
    servers: int
    seconds: tuple[float, ...]


class SpeedMemory(Struct, frozen=True):
    """What is remembered from one look to the next; losing it costs time, not correctness.

    Attributes:
        marks: Of jobs that run, by key.
        samples: By name of the runs that share them (``durations.run_name``), the names in the
            order in which they were measured last.
    """

    marks: Mapping[JobKey, Mark] = {}
    samples: Mapping[str, tuple[Sample, ...]] = {}
