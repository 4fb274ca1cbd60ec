"""Inputs that every pass shares: clock readings."""

from msgspec import Struct


class Reading(Struct, frozen=True):
    """Two clock readings: ``now`` in seconds since the epoch, ``monotonic`` for durations."""

    now: float
    monotonic: float
