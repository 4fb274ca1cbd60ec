"""Numbers as logs print them, and nothing else that Python's ``float`` would take."""

import re
from typing import Final

NUMBER: Final = (
    r"[-+]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
    r"|nan|NaN|inf|Infinity|-nan)"
)
"""Pattern of a number, NaN or infinity; has no group."""
_WHOLE: Final = re.compile(NUMBER)
_COUNT: Final = re.compile(r"[0-9]{1,18}")


def number(text: str) -> float | None:
    """Return the value of a number; None if ``text`` is none (``1_000``, ``1,000``, ``0x1``)."""
    return float(text) if _WHOLE.fullmatch(text) else None


def count(text: str) -> int | None:
    """Return a count of at most 18 digits; None if ``text`` is none."""
    return int(text) if _COUNT.fullmatch(text) else None


def plain(value: object) -> float | None:
    """Return the value of a decoded JSON number, or of a text that is one; None for all else.

    fairseq and Hugging Face write numbers as texts. true and false are no numbers.
    """
    if isinstance(value, str):
        return number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
