"""Go durations: ``20m``, ``1h2m3.5s``. Results are seconds."""

import re
from typing import Final

from shared.errors import DurationError

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(r"[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_EXPECTED: Final = "a Go duration such as 90s, 20m or 1h30m"
LONGEST_SECONDS: Final = (2**63 - 1) / 1e9
"""About 292 years: Go counts nanoseconds in 64 bits."""
LONGEST_TEXT: Final = 128
"""Characters; the time to parse grows with their square."""


def parse(text: str, *, field: str = "duration") -> float:
    """Return a Go duration in seconds; may be negative.

    Raises:
        DurationError: ``text`` is not a duration, or beyond what Go counts.

    Source:
        Go ``time.ParseDuration``.
    """
    if len(text) > LONGEST_TEXT or not _WHOLE.fullmatch(text):
        raise DurationError(field, text, _EXPECTED)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    if seconds > LONGEST_SECONDS:
        raise DurationError(field, text, f"{_EXPECTED}, and at most 292 years")
    return -seconds if text.startswith("-") else seconds
