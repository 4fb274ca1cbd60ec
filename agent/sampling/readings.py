"""What the machine counts for one pod at one moment, and the rates between two such readings."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from shared.model import Uid
from shared.progress import Use


class Throttling(Struct, frozen=True):
    """Two counters of one group: CPU periods that passed, and those in which it was stopped."""

    periods: int
    throttled: int


class Reading(Struct, frozen=True, kw_only=True):
    """One pod. Counters began at some moment of the past; None is what could not be read.

    Attributes:
        counter: Which counter ``cpu_seconds`` is; values of different ones are never compared.
        cpu_seconds: CPU time used.
        memory_bytes: Working set.
        throttling: By group: the pod's own and those of its containers, as each may have a limit.
        pressure_ratio: PSI ``some avg10`` of CPU, 0 to 1.
    """

    counter: str = ""
    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    throttling: Mapping[str, Throttling] = {}
    pressure_ratio: float | None = None


class PodSource(Protocol):
    """A place where readings of pods come from."""

    @property
    def words(self) -> str:
        """What it is, for the log."""
        ...

    def read(self, uids: Collection[Uid], now: float) -> Mapping[Uid, Reading]:
        """Return the readings of those pods that it finds; forget all others.

        Args:
            uids: Every pod that is wanted now.
            now: Seconds of the monotonic clock.
        """
        ...

    def pids(self, uid: Uid) -> tuple[int, ...]:
        """Return the processes of a pod found by the last ``read``; only those we can see."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


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
