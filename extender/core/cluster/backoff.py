"""Exponential back-off of jobs and pods."""

from typing import TypeVar

from msgspec import Struct

Key = TypeVar("Key")


class Backoff(Struct, frozen=True):
    """Until when (monotonic seconds) somebody waits, and how often it was sent to wait."""

    until: float
    strikes: int


def strike(
    backoff: dict[Key, Backoff], key: Key, monotonic: float, *, first: float, most: float
) -> None:
    """Send a job, or a pod, to wait: ``first`` seconds, doubled each time, at most ``most``."""
    strikes = backoff[key].strikes + 1 if key in backoff else 1
    seconds = min(most, first * 2.0 ** min(strikes - 1, 30))
    backoff[key] = Backoff(monotonic + seconds, strikes)
