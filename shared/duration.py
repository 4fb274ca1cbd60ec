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


def parse(text: str, *, field: str = "duration") -> float:
    """Return a Go duration in seconds; may be negative.

    Raises:
        DurationError: ``text`` is not a duration.

    Source:
        Go ``time.ParseDuration``.
    """
    if not _WHOLE.fullmatch(text):
        raise DurationError(field, text, _EXPECTED)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    return -seconds if text.startswith("-") else seconds
