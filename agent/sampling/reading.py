"""What the machine says about one pod at one moment, before anything is computed of it."""

from collections.abc import Collection, Mapping
from typing import Protocol

from msgspec import Struct

from shared.model import Uid


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
