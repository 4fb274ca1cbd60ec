"""What past jobs teach: the worth of a resource, and how long a step takes.

The history outlives the extender as text that is versioned and of limited size.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster import training_spec
from extender.core.records.slot_plan import JobRequest
from shared.errors import InputError
from shared.model import Uid

VERSION: Final = 1


MOST_BYTES: Final = 512 * 1024
"""A ConfigMap holds 1 MiB; of a longer text the older half is left out, as often as needed."""


_EXPECTED: Final = "what the extender wrote there; it is learned anew"


class PastJob(Struct, frozen=True):
    """A job that was offered once.

    Attributes:
        uid: Of what it is about: a job is remembered once.
        asked: What it was.
    """

    uid: Uid
    asked: JobRequest


class History(Struct, frozen=True, omit_defaults=True):
    """See the module.

    Attributes:
        jobs: Offered ones, the newest last.
        step_seconds: Run name (``durations.run_name``) → measured seconds of a mini-batch on one
            worker, with push and pull; in the order in which they were measured.
    """

    jobs: tuple[PastJob, ...] = ()
    step_seconds: Mapping[str, float] = {}


class _Kept(Struct, frozen=True):
    version: int
    history: History


_DECODER: Final = msgspec.json.Decoder(_Kept)


def text(kept: History) -> str:
    """Return the history as one line of JSON of at most ``MOST_BYTES``."""
    line = msgspec.json.encode(_Kept(VERSION, kept))
    while len(line) > MOST_BYTES:
        kept = _newer_half(kept)
        line = msgspec.json.encode(_Kept(VERSION, kept))
    return line.decode()


def read(line: str, *, field: str) -> History:
    """Return the history; empty text is an empty one.

    Args:
        line: What ``text`` returned.
        field: Where it stands, for the error.

    Raises:
        InputError: It is something else, or of another version.
    """
    if not line:
        return History()
    try:
        kept = _DECODER.decode(line)
    except msgspec.MsgspecError as error:
        raise InputError(field, _begin(line), f"{_EXPECTED} ({error})") from None
    if kept.version != VERSION:
        raise InputError(field, f"version {kept.version}", f"version {VERSION}")
    if not all(training_spec.is_batch(seconds) for seconds in kept.history.step_seconds.values()):
        raise InputError(
            field, _begin(line), f"{_EXPECTED} (step_seconds: {training_spec.BATCH_EXPECTED})"
        )
    return kept.history


def together(theirs: History, ours: History) -> History:
    """Return what another replica has written with what we know beyond it; ours is newer."""
    known = with_jobs(theirs, ours.jobs)
    return with_steps(known, ours.step_seconds)


def _newer_half(kept: History) -> History:
    names = list(kept.step_seconds.items())
    return replace(
        kept,
        jobs=kept.jobs[(len(kept.jobs) + 1) // 2 :],
        step_seconds=dict(names[(len(names) + 1) // 2 :]),
    )


def _begin(line: str) -> str:
    return line[:40]


MOST_PAST = 200
"""Jobs that are remembered; the one that was offered longest ago goes first."""


MOST_NAMES = 1000
"""Names whose step time is remembered, likewise."""


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
