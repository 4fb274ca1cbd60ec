"""Chooses the metric and the source that represent a pod. Pure.

Default metrics in the order of ``parsing.metric_names.preferred``: validation before training, but
only once it has more than one value, and a number among them. If several files have the metric,
those written at the same time are ranks with the same values, and the first to begin is used; one
that began after the others had ended is a new attempt and replaces them.
"""

from collections.abc import Sequence

from msgspec import Struct

from agent.tracking.source import Source
from agent.tracking.track import Track
from shared.parsing.following import SETTLED_POINTS, followed, why_no_values, why_none


class Choice(Struct, frozen=True):
    """The chosen metric and source.

    Attributes:
        attempt: Attempt of the run, over all its files.
        names: Number of metrics that the source had; None if it was not the only one.
    """

    metric: str
    source: Source
    track: Track
    attempt: int
    names: int | None

    def holds(self, sources: Sequence[Source]) -> bool:
        """Return True if nothing has come that could change it: the usual case, a single metric."""
        source = self.source
        return (
            len(sources) == 1
            and sources[0] is source
            and len(source.tracks) == 1
            and source.tracks.get(self.metric) is self.track
            and len(source.names) == self.names
            and source.attempt == self.attempt
        )


def choose(
    sources: Sequence[Source], stated: str | None, before: Choice | None = None
) -> Choice | None:
    """Return the choice; None while no source has a value of a followed metric.

    Args:
        sources: Sources of one pod.
        stated: Metric that the user named.
        before: The choice at the reading before, for the same metric named; it saves time.
    """
    if before is not None and before.holds(sources):
        return before
    metric = _metric(sources, stated)
    candidates = [source for source in sources if metric in source.tracks]
    if metric is None or not candidates:
        return None
    candidates.sort(key=lambda source: source.first_at or 0.0)
    chosen, attempt = candidates[0], candidates[0].attempt
    for source in candidates[1:]:
        later = (source.first_at or 0.0) > chosen.last_at
        if later and source.tracks[metric].points >= SETTLED_POINTS:
            chosen, attempt = source, attempt + source.attempt
    names = len(chosen.names) if len(sources) == 1 else None
    return Choice(metric, chosen, chosen.tracks[metric], attempt, names)


def _metric(sources: Sequence[Source], stated: str | None) -> str | None:
    points: dict[str, int] = {}
    finite: set[str] = set()
    for source in sources:
        for name, track in source.tracks.items():
            points[name] = max(points.get(name, 0), track.points)
            if track.value is not None:
                finite.add(name)
    return followed(points, _names(sources), stated, finite=finite)


def _names(sources: Sequence[Source]) -> set[str]:
    return {name for source in sources for name in source.names}


def why_no_choice(sources: Sequence[Source], stated: str | None) -> str:
    """Return why nothing was chosen; empty while hardly anything was read."""
    if names := _names(sources):
        return why_none(names, stated)
    hint = next((source.stream.hint for source in sources if source.stream.hint), "")
    return why_no_values(sum(source.lines for source in sources), hint)
