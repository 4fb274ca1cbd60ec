"""What past jobs teach: what a resource is worth, and how long a step takes."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from extender.core.records.slot_plan import Asked
from shared.model import Uid

MOST_PAST = 200
"""Jobs that are remembered; the one that was offered longest ago goes first."""
MOST_NAMES = 1000
"""Names whose step time is remembered, likewise."""


class PastJob(Struct, frozen=True):
    """A job that was offered once.

    Attributes:
        uid: Of what it is about: a job is remembered once.
        asked: What it was.
    """

    uid: Uid
    asked: Asked


class History(Struct, frozen=True, omit_defaults=True):
    """See the module.

    Attributes:
        jobs: Offered ones, the newest last.
        step_seconds: Run name (``durations.run_name``) → measured seconds of a mini-batch on one
            worker, with push and pull; in the order in which they were measured.
    """

    jobs: tuple[PastJob, ...] = ()
    step_seconds: Mapping[str, float] = {}


def with_jobs(history: History, offered: tuple[PastJob, ...]) -> History:
    """Return the history with these jobs; one that is in it already counts once."""
    known = {job.uid for job in history.jobs}
    new = tuple(job for job in offered if job.uid not in known)
    return replace(history, jobs=(*history.jobs, *new)[-MOST_PAST:]) if new else history


def with_steps(history: History, measured: Mapping[str, float]) -> History:
    """Return the history with these step times by run name."""
    if not measured:
        return history
    kept = {n: s for n, s in history.step_seconds.items() if n not in measured}
    names = [*kept.items(), *measured.items()][-MOST_NAMES:]
    return replace(history, step_seconds=dict(names))
