"""Metrics of the watches that feed the store."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from extender.metrics.series import Series


class Watched(Protocol):
    """The part of ``shared.kube.resources.ResourceKind`` that is used here."""

    @property
    def source(self) -> str:
        """The watched collection, e.g. ``Pod``."""
        ...


class Watching(Protocol):
    """The part of ``shared.kube.reflector.Reflector`` that is used here."""

    last_event_at: float

    @property
    def kind(self) -> Watched:
        """The watched kind."""
        ...

    @property
    def relists(self) -> Mapping[str, int]:
        """Number of lists after the first, by reason."""
        ...


class WatchMetrics:
    """Lists after the first, ages of the last events, and objects that could not be parsed."""

    def __init__(self, series: Series) -> None:
        self.relists = series.counter(
            "shuntyard_watch_relists",
            "Full lists after the first, by watched collection and reason.",
            ["source", "reason"],
        )
        self.last_event_age_seconds = series.gauge(
            "shuntyard_watch_last_event_age_seconds",
            "Time since the last event of a watch, by collection; only of watches that run.",
            ["source"],
        )
        self.skipped_objects = series.counter(
            "shuntyard_skipped_objects", "Objects that could not be parsed and were skipped."
        )
        self._relists_seen: dict[tuple[str, str], int] = {}
        self._sources_seen: set[str] = set()

    def observe(self, reflectors: Iterable[Watching], monotonic: float) -> None:
        """Count relists and set ages of the watches; ``monotonic`` is the clock's reading."""
        gone, self._sources_seen = self._sources_seen, set()
        for reflector in reflectors:
            source = reflector.kind.source
            self._sources_seen.add(source)
            age_seconds = monotonic - reflector.last_event_at
            self.last_event_age_seconds.labels(source=source).set(age_seconds)
            for reason, count in reflector.relists.items():
                before = self._relists_seen.get((source, reason), 0)
                self.relists.labels(source=source, reason=reason).inc(count - before)
                self._relists_seen[source, reason] = count
        for source in gone - self._sources_seen:
            self.last_event_age_seconds.remove(source)
