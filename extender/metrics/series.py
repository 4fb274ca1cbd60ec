"""Build metrics with a series for every label value from the start, none for names of objects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


@dataclass(frozen=True)
class Series:
    """Builds metrics on one registry; each label is given with all its values.

    Attributes:
        registry: The registry of all of them.
    """

    registry: CollectorRegistry

    def counter(
        self, name: str, text: str, names: Iterable[str] = (), **labels: Iterable[str]
    ) -> Counter:
        """Return a counter, without ``_total`` in its name; ``names`` have open values."""
        counter = Counter(name, text, [*names, *labels], registry=self.registry)
        for values in _combinations(labels):
            counter.labels(**values)
        return counter

    def gauge(
        self, name: str, text: str, names: Iterable[str] = (), **labels: Iterable[str]
    ) -> Gauge:
        """Return a gauge; ``names`` are labels with open values."""
        gauge = Gauge(name, text, [*names, *labels], registry=self.registry)
        for values in _combinations(labels):
            gauge.labels(**values)
        return gauge

    def histogram(
        self, name: str, text: str, buckets: Sequence[float], **labels: Iterable[str]
    ) -> Histogram:
        """Return a histogram; ``buckets`` are upper bounds in the unit of the name."""
        histogram = Histogram(name, text, [*labels], buckets=buckets, registry=self.registry)
        for values in _combinations(labels):
            histogram.labels(**values)
        return histogram


def _combinations(labels: Mapping[str, Iterable[str]]) -> Iterable[dict[str, str]]:
    """Return every combination of label values, so that no series appears later."""
    if not labels:
        return []
    combinations: list[dict[str, str]] = [{}]
    for name, values in labels.items():
        combinations = [{**others, name: str(value)} for others in combinations for value in values]
    return combinations
