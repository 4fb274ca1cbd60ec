"""Times, numbers and requests in human-readable form; amounts: ``shared.amounts``."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from shared import accelerators, amounts

_MISCONFIGURED: Final = "Misconfigured"
_TEN_SECONDS: Final = 10
_MINUTE_SECONDS: Final = 60
_HOUR_SECONDS: Final = 60 * _MINUTE_SECONDS
_DAY_SECONDS: Final = 24 * _HOUR_SECONDS


def duration(seconds: float) -> str:
    """Return ``45s``, ``3m12s``, ``2h05m`` or ``3d04h``."""
    whole = max(0, int(seconds))
    if whole < _MINUTE_SECONDS:
        return f"{whole}s"
    if whole < _HOUR_SECONDS:
        return f"{whole // _MINUTE_SECONDS}m{whole % _MINUTE_SECONDS:02}s"
    if whole < _DAY_SECONDS:
        return f"{whole // _HOUR_SECONDS}h{whole % _HOUR_SECONDS // _MINUTE_SECONDS:02}m"
    return f"{whole // _DAY_SECONDS}d{whole % _DAY_SECONDS // _HOUR_SECONDS:02}h"


def rough(seconds: float) -> str:
    """Return a duration without its seconds: ``45s``, ``12m``, ``2h05m``, ``3d04h``."""
    is_minutes = _MINUTE_SECONDS <= seconds < _HOUR_SECONDS
    return f"{int(seconds // _MINUTE_SECONDS)}m" if is_minutes else duration(seconds)


def span(seconds: float) -> str:
    """Return a duration, with a decimal below ten seconds: ``0.3s``, ``8.2s``, ``45s``."""
    tenths = max(0.0, round(seconds, 1))
    return f"{tenths:.1f}s" if tenths < _TEN_SECONDS else duration(tenths)


def coming(at: float, now: float) -> str:
    """Return a future time as precisely as an estimate can be.

    Within the hour ``in 45s`` or ``in 4m``, within the day the time of day, else with its date;
    ``now`` for a time that has passed. Times are seconds since the epoch, shown as local time.
    """
    left = at - now
    if left < 1:
        return "now"
    if left < _MINUTE_SECONDS:
        return f"in {int(left)}s"
    if left < _HOUR_SECONDS:
        return f"in {int(left // _MINUTE_SECONDS)}m"
    local = datetime.fromtimestamp(at, UTC).astimezone()
    return f"{local:%H:%M}" if left < _DAY_SECONDS else f"{local:%m-%d %H:%M}"


def coming_between(earliest: float | None, latest: float | None, now: float) -> str:
    """Return a band of future times in brackets; empty if it has no width that ``coming`` shows.

    ``latest``: None if that is not known.
    """
    if earliest is None:
        return ""
    first = coming(earliest, now)
    if latest is None:
        return f" ({first} or later)"
    last = coming(latest, now)
    return "" if first == last else f" ({first} to {last.removeprefix('in ')})"


def number(value: float) -> str:
    """Return a number with at most two decimals, none where it is whole."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def requests(requested: Mapping[str, int]) -> str:
    """Return what a job requests in short: its GPUs, else other devices, else its CPUs.

    A MIG slice counts as its part of a GPU: ``0.14 GPU`` for ``nvidia.com/mig-1g.5gb``.
    """
    if count := gpus(requested):
        return amounts.gpus(count)
    others = [name for name in sorted(requested) if "/" in name and requested[name]]
    if others:
        return f"{requested[others[0]]} {others[0].rpartition('/')[2]}"
    return amounts.amount("cpu", requested["cpu"]) if requested.get("cpu") else ""


def gpus(of: Mapping[str, int]) -> float:
    """Return how many GPUs are among some resources; slices count by their part."""
    return sum(n * accelerators.parts(name) for name, n in of.items()) / accelerators.PARTS


def in_short(message: str, reason: str = "") -> str:
    """Return the details of a message without its general sentence.

    A message that goes into details begins with a general sentence and a colon; that of a job which
    is misconfigured begins with the field, which stays.
    """
    details = "" if reason == _MISCONFIGURED else message.partition(": ")[2]
    return details or message
