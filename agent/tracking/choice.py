"""Chooses the metric and the source that represent a pod. Pure.

Default metrics in the order of ``parsing.metric_names.preferred``: validation before training, but
only once it has more than one value. If several files have the metric, those written at the same
time are ranks with the same values, and the first to begin is used; one that began after the others
had ended is a new attempt and replaces them.
"""

from collections.abc import Sequence
from math import log10
from typing import Final

from msgspec import Struct

from agent.parsing import metric_names
from agent.tracking.source import SETTLED_POINTS, Source
from agent.tracking.track import Track

UNREAD_LINES: Final = 100
"""Lines without a value after which the report says so."""
MOST_SHOWN: Final = 20
"""Names of series that are shown to a user."""


class Choice(Struct, frozen=True):
    """The chosen metric and source.

    Attributes:
        attempt: Attempt of the run, over all its files.
    """

    metric: str
    source: Source
    track: Track
    attempt: int


def choose(sources: Sequence[Source], stated: str | None) -> Choice | None:
    """Return the choice; None while no source has a value of a followed metric.

    Args:
        sources: Sources of one pod.
        stated: Metric that the user named.
    """
    metric = _metric(sources, stated)
    if stated is None and len(_equals(sources, metric)) > 1:
        return None
    candidates = [source for source in sources if metric in source.tracks]
    if metric is None or not candidates:
        return None
    candidates.sort(key=lambda source: source.first_at or 0.0)
    chosen, attempt = candidates[0], candidates[0].attempt
    for source in candidates[1:]:
        later = (source.first_at or 0.0) > chosen.last_at
        if later and source.tracks[metric].points >= SETTLED_POINTS:
            chosen, attempt = source, attempt + source.attempt
    return Choice(metric, chosen, chosen.tracks[metric], attempt)


def _metric(sources: Sequence[Source], stated: str | None) -> str | None:
    points: dict[str, int] = {}
    for source in sources:
        for name, track in source.tracks.items():
            points[name] = max(points.get(name, 0), track.points)
    settled = [name for name, count in points.items() if count >= SETTLED_POINTS] or list(points)
    if stated is not None:
        return stated if stated in points else None
    return settled[0] if len(settled) == 1 else metric_names.preferred(settled)


def _equals(sources: Sequence[Source], metric: str | None) -> list[str]:
    """Return the names that are as good as the metric, itself included."""
    best = metric_names.best_of({name for source in sources for name in source.names})
    return best if metric is None or metric in best else [metric]


def why_no_choice(sources: Sequence[Source], stated: str | None) -> str:
    """Return why nothing was chosen; empty while hardly anything was read."""
    names = sorted({name for source in sources for name in source.names})
    if not names:
        return _why_no_values(sources)
    more = len(names) - MOST_SHOWN
    shown = ", ".join(names[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
    if stated is not None:
        return f"there is no series {stated!r}; there are: {shown}"
    if len(equals := _equals(sources, None)) > 1:
        shown = ", ".join(equals[:MOST_SHOWN])
        return f"several series are equally good, name one with metric=…: {shown}"
    return f"none of the series is known as a loss, name one with metric=…: {shown}"


def _why_no_values(sources: Sequence[Source]) -> str:
    """Return that nothing is understood, once enough was read; in steps, as each is reported."""
    lines = sum(source.lines for source in sources)
    if lines < UNREAD_LINES:
        return ""
    hint = next((source.stream.hint for source in sources if source.stream.hint), "")
    meant = f"; did you mean regex={hint}" if hint else "set format=… or regex=…"
    return f"{10 ** int(log10(lines))} lines or more read, no values found: {meant.lstrip('; ')}"
