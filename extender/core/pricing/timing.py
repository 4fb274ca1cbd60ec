"""Seconds of a step of a running job, measured from agents' reports.

An interval runs from one reported step to a later one of the same pod, attempt and number of
workers. All before the second reported step is warm-up. Losing the state costs the time until as
much is measured again.
"""

import math
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster import training_spec
from extender.core.parameters.pricing import SlotTimeParameters
from shared.model import Uid

LEAST_SECONDS: Final = 5.0
"""Of an interval: agents read the metrics from time to time, which a short one would show."""
LEAST_INTERVALS: Final = 4
"""With fewer their spread cannot be estimated."""
MOST_INTERVALS: Final = 64
"""The newest ones are kept."""


class StepReading(Struct, frozen=True):
    """The last step that an agent reported.

    Attributes:
        pod: The pod.
        attempt: Of its training run.
        workers: Workers of the job.
        step: The step.
        at: Time of the agent's reading, seconds since the epoch on its clock.
        total: Steps of the whole run; None if not reported.
    """

    pod: Uid
    attempt: int
    workers: int
    step: int
    at: float
    total: int | None = None


class Timing(Struct, frozen=True):
    """See the module.

    Attributes:
        last: Where the present interval began.
        warm: Whether it began with a step whose arrival was observed.
        intervals: Steps and seconds of each that has ended, the newest last.
    """

    last: StepReading
    warm: bool = False
    intervals: tuple[tuple[int, float], ...] = ()

    @property
    def steps(self) -> int:
        """Steps that were timed."""
        return sum(steps for steps, _ in self.intervals)

    @property
    def seconds(self) -> float | None:
        """Mean seconds of a step; None before the first interval has ended."""
        return sum(s for _, s in self.intervals) / self.steps if self.intervals else None

    @property
    def spread(self) -> float | None:
        """Standard error of that mean, as a part of it; None with fewer than two intervals.

        Evaluations and checkpoints belong to the mean, since they will come again: the mean must
        be accurate, but single steps may differ.

        Source:
            W. G. Cochran, Sampling Techniques, 3rd ed. 1977, section 6.3: ratio estimates.
        """
        count, mean = len(self.intervals), self.seconds
        if count < 2 or mean is None:  # noqa: PLR2004 - one has no spread
            return None
        squares = sum((s - mean * steps) ** 2 for steps, s in self.intervals)
        return math.sqrt(count / (count - 1) * squares) / (mean * self.steps)


def updated(before: Timing | None, reading: StepReading, params: SlotTimeParameters) -> Timing:
    """Return the timing with a new reading.

    Intervals are so long that the kept ones hold all steps that a result needs.
    """
    if before is None or not _same_run(before.last, reading):
        return Timing(reading)
    if reading.step <= before.last.step or reading.at <= before.last.at:
        return before
    if not before.warm:
        return Timing(reading, warm=True)
    steps, seconds = reading.step - before.last.step, reading.at - before.last.at
    if seconds < LEAST_SECONDS or steps * MOST_INTERVALS < params.profile_steps:
        return before
    intervals = (*before.intervals, (steps, seconds))[-MOST_INTERVALS:]
    return replace(before, last=reading, intervals=intervals)


def missing_for_result(timing: Timing | None, params: SlotTimeParameters) -> str | None:
    """Return in words what a result still lacks; None if the time of a step is measured."""
    if timing is None:
        return "a step in the training's metrics: no agent has read one (shuntyard.io/metrics)"
    if not timing.last.total:
        return "the number of all steps in the training's metrics"
    if timing.steps < params.profile_steps:
        return f"{params.profile_steps - timing.steps} more steps"
    if len(timing.intervals) < LEAST_INTERVALS:
        return f"{LEAST_INTERVALS - len(timing.intervals)} more intervals of {LEAST_SECONDS:g} s"
    spread = timing.spread
    if spread is None or spread > params.profile_spread:
        return f"a spread of {params.profile_spread:g} at most; it is {spread or 0.0:.2g}"
    return None


def result(
    timing: Timing | None, batches: int, params: SlotTimeParameters
) -> tuple[str | None, float | None]:
    """Return what is missing in words, or else the seconds of a mini-batch."""
    missing = missing_for_result(timing, params)
    if missing is not None or timing is None:
        return missing, None
    seconds = batch_seconds(timing, batches)
    if seconds is None or not training_spec.is_batch(seconds):
        total = timing.last.total
        return f"steps that fit the {batches} mini-batches of the training: of {total} steps", None
    return None, seconds


def batch_seconds(timing: Timing, batches: int) -> float | None:
    """Return the seconds of a mini-batch on one worker, with push and pull; None if unknown.

    A step is whatever the training's metrics count: all steps together are all mini-batches.

    Args:
        timing: Of the job.
        batches: E·N·M, mini-batches of the whole training.
    """
    seconds, total = timing.seconds, timing.last.total
    if seconds is None or not total:
        return None
    return seconds * timing.last.workers * total / batches


def _same_run(before: StepReading, now: StepReading) -> bool:
    return (before.pod, before.attempt, before.workers, before.total) == (
        now.pod,
        now.attempt,
        now.workers,
        now.total,
    )
