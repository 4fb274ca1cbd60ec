"""Samples of the extender's metrics in virtual time, and their text for Prometheus."""

from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry

STEP_SECONDS: Final = 15.0
HOUR_SECONDS: Final = 3600.0

Sample = tuple[str, float, float]
"""A series, seconds from the begin, and the value."""


def collected(registry: CollectorRegistry, names: tuple[str, ...], now: float) -> Iterator[Sample]:
    """Yield the present values of the metrics whose names begin with one of ``names``."""
    return (
        (_series(sample.name, sample.labels), now, sample.value)
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name.startswith(names) and not sample.name.endswith("_created")
    )


def lines(samples: Sequence[Sample], begin: float) -> Iterator[str]:
    """Yield samples in the format OpenMetrics; ``begin`` is in seconds since the epoch."""
    for series, at, value in sorted(samples):
        yield f"{series} {value} {begin + at}\n"
    yield "# EOF\n"


def _series(name: str, labels: dict[str, str]) -> str:
    place = {**labels, "job": "shuntyard-extender", "instance": "extender"}
    stated = ",".join(f'{label}="{value}"' for label, value in place.items())
    return f"{name}{{{stated}}}"
