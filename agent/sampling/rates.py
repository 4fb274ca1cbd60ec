"""From counters to what a pod uses now (pure)."""

from collections.abc import Iterator

from agent.sampling.reading import Reading
from shared.progress import Use


def cores(before: float | None, after: float | None, seconds: float) -> float | None:
    """Return the mean number of cores between two values of a counter of CPU seconds.

    None if one is missing, no time has passed, or the counter went back: the group was made anew,
    and what it used before cannot be told.
    """
    if before is None or after is None or seconds <= 0 or after < before:
        return None
    return (after - before) / seconds


def throttled_ratio(before: Reading, after: Reading) -> float | None:
    """Return the largest part of periods in which a group of the pod was stopped, 0 to 1.

    The largest, as one stopped container holds up the pod. A group in which no period has passed
    (no limit, or nothing ran) was never stopped: 0. None if no group can be compared.
    """
    return max(_ratios(before, after), default=None)


def _ratios(before: Reading, after: Reading) -> Iterator[float]:
    for group, late in after.throttling.items():
        early = before.throttling.get(group)
        if early is None:
            continue
        periods, throttled = late.periods - early.periods, late.throttled - early.throttled
        if periods >= 0 and throttled >= 0:
            yield min(1.0, throttled / periods) if periods else 0.0


class Rates:
    """One pod's previous reading."""

    def __init__(self) -> None:
        self._reading = Reading()
        self._at = 0.0

    def use(self, reading: Reading, now: float) -> Use:
        """Return what is used since the previous reading, and remember this one.

        Args:
            reading: Of this moment.
            now: Its moment; seconds of the monotonic clock.
        """
        before, seconds = self._reading, now - self._at
        if before.counter != reading.counter:
            before = Reading()
        self._reading, self._at = reading, now
        return Use(
            cpu_cores=cores(before.cpu_seconds, reading.cpu_seconds, seconds),
            memory_bytes=reading.memory_bytes,
            throttled_ratio=throttled_ratio(before, reading),
            cpu_pressure_ratio=reading.pressure_ratio,
        )
