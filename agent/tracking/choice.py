"""Which metric of which source speaks for a pod. Pure.

Default metrics in the order of ``parsing.naming.preferred``: validation before training, but only
once it has more than one value. If several files have the metric, those that ran at the same time
are ranks that tell the same, and the first to begin speaks for them; one that began when the others
had ended is a new attempt and takes their place.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from agent.parsing import metric_names
from agent.tracking.source import SETTLED_POINTS, Source
from agent.tracking.track import Track

MOST_SHOWN: Final = 20
"""Names of series that a user is told."""


class Choice(Struct, frozen=True):
    """Who speaks.

    Attributes:
        attempt: Of the run, over all its files.
    """

    metric: str
    source: Source
    track: Track
    attempt: int


def choose(sources: Sequence[Source], wanted: str | None) -> Choice | None:
    """Return who speaks; None while nobody has a value of a metric that is followed.

    Args:
        sources: Of one pod.
        wanted: The metric that the user named.
    """
    metric = _metric(sources, wanted)
    having = [source for source in sources if metric in source.tracks]
    if metric is None or not having:
        return None
    having.sort(key=lambda source: source.first_at or 0.0)
    speaker, attempt = having[0], having[0].attempt
    for source in having[1:]:
        later = (source.first_at or 0.0) > speaker.last_at
        if later and source.tracks[metric].points >= SETTLED_POINTS:
            speaker, attempt = source, attempt + source.attempt
    return Choice(metric, speaker, speaker.tracks[metric], attempt)


def _metric(sources: Sequence[Source], wanted: str | None) -> str | None:
    points: dict[str, int] = {}
    for source in sources:
        for name, track in source.tracks.items():
            points[name] = max(points.get(name, 0), track.points)
    settled = [name for name, count in points.items() if count >= SETTLED_POINTS] or list(points)
    if wanted is not None:
        return wanted if wanted in points else None
    return settled[0] if len(settled) == 1 else metric_names.preferred(settled)


def nothing_to_choose(sources: Sequence[Source], wanted: str | None) -> str:
    """Return why nobody speaks although there are values, in words; empty if there are none."""
    names = sorted({name for source in sources for name in source.names})
    if not names:
        return ""
    more = len(names) - MOST_SHOWN
    known = ", ".join(names[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
    if wanted is not None:
        return f"there is no series {wanted!r}; there are: {known}"
    return f"none of the series is known as a loss, name one with metric=…: {known}"
