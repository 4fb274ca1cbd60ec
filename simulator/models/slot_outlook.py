"""When a job can be done, and what that would be worth."""

import math
from typing import Final

from extender.policy.training_job import TrainingJob
from extender.policy.utility import Utility

_STEP: Final = 1e-3
"""Of the difference quotient, in slots."""


def done_after(job: TrainingJob, slot: int, remaining: float, width: int) -> int:
    """Return completion - arrival if the job runs with ``width`` workers from ``slot`` on."""
    return slot + math.ceil(remaining / width) - 1 - job.arrival


def best_worth(job: TrainingJob, slot: int, remaining: float) -> float:
    """Return the utility of a job that runs with all the workers it can use from ``slot`` on."""
    return job.utility.of(done_after(job, slot, remaining, job.chunks))


def decay(utility: Utility, duration: float) -> float:
    """Return -f'(duration): utility lost for each slot of delay."""
    return (utility.of(duration - _STEP) - utility.of(duration + _STEP)) / (2.0 * _STEP)
