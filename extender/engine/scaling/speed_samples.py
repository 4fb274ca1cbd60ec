"""How long steps took with how many workers: what agents' reports said, as a bounded value."""

from collections.abc import Mapping
from statistics import median_low
from typing import Final

from msgspec import Struct

from extender.policy.speed import Measured
from shared.model import JobKey, Uid

MOST_NAMES: Final = 1000
"""Names of jobs of which samples are kept; the one that was measured longest ago goes first."""
MOST_NUMBERS: Final = 16
"""Numbers of workers that are kept of a name; the one that was measured longest ago goes first."""
MOST_INTERVALS: Final = 7
"""Intervals that are kept of each number of workers, and pauses of a name; the newest ones."""
LEAST_INTERVALS: Final = 2
"""With fewer a number of workers counts as not measured: one may hold an evaluation."""


class Mark(Struct, frozen=True):
    """Where a run was when it was last looked at; times in seconds since the epoch.

    Attributes:
        pod: Whose word it is.
        attempt: Of its training run.
        workers: How many there were.
        servers: The same of its other pods.
        step: The step.
        since: When that step was said.
        steady: It was made with just these pods: an interval can begin with it.
        changed: The pods are others than those that made it, or the trainer was started anew.
    """

    pod: Uid
    attempt: int
    workers: int
    servers: int
    step: int
    since: float
    steady: bool = False
    changed: bool = False


class Sample(Struct, frozen=True):
    """Seconds a step, of the last intervals with so many pods; the newest last."""

    workers: int
    servers: int
    seconds: tuple[float, ...]


class Samples(Struct, frozen=True):
    """What is known of one name.

    Attributes:
        numbers: By number of workers, the one that was measured last at the end.
        pauses: For how long it took no step when its workers changed, in seconds.
    """

    numbers: tuple[Sample, ...] = ()
    pauses: tuple[float, ...] = ()

    def with_interval(self, workers: int, servers: int, seconds: float) -> "Samples":
        """Return the samples with the seconds a step of one interval more."""
        known = {(one.workers, one.servers): one for one in self.numbers}
        before = known.pop((workers, servers), None)
        intervals = (*(before.seconds if before else ()), seconds)[-MOST_INTERVALS:]
        numbers = (*known.values(), Sample(workers, servers, intervals))[-MOST_NUMBERS:]
        return Samples(numbers, self.pauses)

    def with_pause(self, seconds: float) -> "Samples":
        """Return the samples with one pause more."""
        return Samples(self.numbers, (*self.pauses, seconds)[-MOST_INTERVALS:])

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The usual step time with each number: an evaluation makes single intervals longer."""
        return tuple(
            Measured(one.workers, one.servers, median_low(one.seconds))
            for one in self.numbers
            if len(one.seconds) >= LEAST_INTERVALS
        )

    @property
    def pause_seconds(self) -> float | None:
        """The usual pause; None if none was seen."""
        return median_low(self.pauses) if self.pauses else None


class SpeedMemory(Struct, frozen=True):
    """What is remembered from one look to the next; losing it costs time, not correctness.

    Attributes:
        marks: Of jobs that run, by key.
        samples: By name of the runs that share them (``durations.run_name``), the name in which
            something was measured last at the end.
    """

    marks: Mapping[JobKey, Mark] = {}
    samples: Mapping[str, Samples] = {}
