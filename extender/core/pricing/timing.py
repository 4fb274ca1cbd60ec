"""Seconds of a step of a running job, measured from agents' reports.

An interval runs from one reported step to a later one of the same pod, attempt and number of
workers. All before the second reported step is warm-up. Losing the value costs the time until as
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
        pod: The pod that it is of.
        attempt: Of its training run.
        workers: How many the job has.
        step: The step.
        at: When it was read, seconds since the epoch on the agent's clock.
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
        warm: It began after a step that was seen as it came.
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

        Evaluations and checkpoints belong to the mean: they will come again. So it is the mean
        that must be known well, not single steps that must be alike.

        Source:
            W. G. Cochran, Sampling Techniques, 3rd ed. 1977, section 6.3: ratio estimates.
        """
        count, mean = len(self.intervals), self.seconds
        if count < 2 or mean is None:  # noqa: PLR2004 - one alone says nothing of spread
            return None
        squares = sum((s - mean * steps) ** 2 for steps, s in self.intervals)
        return math.sqrt(count / (count - 1) * squares) / (mean * self.steps)


def followed(before: Timing | None, seen: StepReading, params: SlotTimeParameters) -> Timing:
    """Return the timing with what was seen now.

    Intervals are long enough that those that are kept can hold all steps that are wanted.
    """
    if before is None or not _same_run(before.last, seen):
        return Timing(seen)
    if seen.step <= before.last.step or seen.at <= before.last.at:
        return before
    if not before.warm:
        return Timing(seen, warm=True)
    steps, seconds = seen.step - before.last.step, seen.at - before.last.at
    if seconds < LEAST_SECONDS or steps * MOST_INTERVALS < params.profile_steps:
        return before
    intervals = (*before.intervals, (steps, seconds))[-MOST_INTERVALS:]
    return replace(before, last=seen, intervals=intervals)


def lacking(timing: Timing | None, params: SlotTimeParameters) -> str | None:
    """Return what is missing before the time of a step counts as measured; None: nothing is."""
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
    """Return what is missing, or else the seconds of a mini-batch."""
    lacks = lacking(timing, params)
    if lacks is not None or timing is None:
        return lacks, None
    found = batch_seconds(timing, batches)
    if found is None or not training_spec.is_batch(found):
        total = timing.last.total
        return f"steps that fit the {batches} mini-batches of the training: of {total} steps", None
    return None, found


def batch_seconds(timing: Timing, batches: int) -> float | None:
    """Return the seconds of a mini-batch on one worker, with push and pull; None if unknown.

    A step is what the training's metrics call so. All steps together are all mini-batches, so that
    it does not matter what that is.

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
