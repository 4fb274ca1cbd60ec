"""Counters of one pod at one moment, and the rates between two such readings."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from shared.model import Uid
from shared.progress import Use


class Throttling(Struct, frozen=True):
    """Two counters of one group: CPU periods, and those in which it was throttled."""

    periods: int
    throttled: int


class Reading(Struct, frozen=True, kw_only=True):
    """The counters of one pod, since some moment of the past; None for what could not be read.

    Attributes:
        counter: Name of the counter of ``cpu_seconds``; different ones are never compared.
        cpu_seconds: CPU time used.
        memory_bytes: Working set.
        throttling: By group: that of the pod and of its containers, each may have a limit.
        pressure_ratio: PSI ``some avg10`` of CPU, 0 to 1.
    """

    counter: str = ""
    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    throttling: Mapping[str, Throttling] = {}
    pressure_ratio: float | None = None


class PodSource(Protocol):
    """A source of readings of pods."""

    @property
    def description(self) -> str:
        """Description, for the log."""
        ...

    def read(self, uids: Collection[Uid], now: float) -> Mapping[Uid, Reading]:
        """Return the readings of the pods that it finds; forget all others.

        Args:
            uids: Uids of all current pods.
            now: Seconds of the monotonic clock.
        """
        ...

    def pids(self, uid: Uid) -> tuple[int, ...]:
        """Return the visible processes of a pod, found by the last ``read``."""
        ...

    def close(self) -> None:
        """Close everything."""
        ...


def cores(before: float | None, after: float | None, seconds: float) -> float | None:
    """Return the mean number of cores between two values of a counter of CPU seconds.

    None if one is missing, no time has passed, or the counter went back: the group was recreated,
    and its use before is unknown.
    """
    if before is None or after is None or seconds <= 0 or after < before:
        return None
    return (after - before) / seconds


def throttled_ratio(before: Reading, after: Reading) -> float | None:
    """Return the largest share of periods in which a group of the pod was throttled, 0 to 1.

    The largest, because one throttled container delays the pod. A group without periods (no limit,
    or nothing ran) was never throttled: 0. None if no group can be compared.
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
    """Computes rates from one pod's previous reading."""

    def __init__(self) -> None:
        self._reading = Reading()
        self._at = 0.0

    def use(self, reading: Reading, now: float) -> Use:
        """Return the use since the previous reading, and remember this one.

        Args:
            reading: The current reading.
            now: When it was made; seconds of the monotonic clock.
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
