"""How good start estimates are: the share of starts inside their band, by how far ahead they were.

Of each waiting job one estimate is kept for each of ``Ahead``: the first that was made. When the
job starts, each is judged. A start counts as inside if it misses the band by no more than
``SLACK_SECONDS``: passes, Bindings and reports take their time.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from extender.core.queue.forecast import Estimate
from shared.model import JobKey

SLACK_SECONDS: Final = 10.0


class Ahead(StrEnum):
    """How long before the expected start an estimate was made, at most."""

    TEN_MINUTES = "10m"
    HOUR = "1h"
    SIX_HOURS = "6h"
    MORE = "more"


_BELOW_SECONDS: Final = (
    (600.0, Ahead.TEN_MINUTES),
    (3600.0, Ahead.HOUR),
    (21600.0, Ahead.SIX_HOURS),
)


class Where(StrEnum):
    """Where a start lies beside the band of its estimate."""

    BEFORE = "before"
    INSIDE = "inside"
    AFTER = "after"


@dataclass(frozen=True)
class Judged:
    """An estimate whose job has started."""

    ahead: Ahead
    where: Where


Kept = Mapping[JobKey, Mapping[Ahead, Estimate]]
"""Estimates of jobs that wait."""


def ahead_of(starts_at: float, now: float) -> Ahead:
    """Return how far ahead an expected start is."""
    seconds = starts_at - now
    return next((ahead for below, ahead in _BELOW_SECONDS if seconds < below), Ahead.MORE)


def kept(before: Kept, estimates: Mapping[JobKey, Estimate], now: float) -> Kept:
    """Return what is kept with new estimates; jobs that have none any more are left out."""
    found: dict[JobKey, Mapping[Ahead, Estimate]] = {}
    for key, estimate in estimates.items():
        own = before.get(key, {})
        if estimate.starts_at is not None and estimate.starts_at > now:
            own = {ahead_of(estimate.starts_at, now): estimate, **own}
        if own:
            found[key] = own
    return found


def judged(estimates: Mapping[Ahead, Estimate], started_at: float) -> tuple[Judged, ...]:
    """Return where a start lies beside each of a job's estimates."""
    return tuple(Judged(ahead, where(one, started_at)) for ahead, one in estimates.items())


def where(estimate: Estimate, started_at: float) -> Where:
    """Return where a start lies; a band without a latest start has no end."""
    earliest = -math.inf if estimate.earliest is None else estimate.earliest
    latest = math.inf if estimate.latest is None else estimate.latest
    if started_at < earliest - SLACK_SECONDS:
        return Where.BEFORE
    return Where.AFTER if started_at > latest + SLACK_SECONDS else Where.INSIDE
