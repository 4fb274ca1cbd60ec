"""Integers in labels, as Go reads them."""

import re
from typing import Final

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = range(-(2**63), 2**63)
_MOST_DIGITS: Final = 63
"""A label value is no longer, and Python refuses to read integers of thousands of digits."""


def int64(text: str | None) -> int | None:
    """Go ``strconv.ParseInt(text, 10, 64)``; None where it gives an error."""
    if text is None or len(text) > _MOST_DIGITS or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None
