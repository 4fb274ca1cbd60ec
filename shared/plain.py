"""Texts that somebody else wrote, as one line that does nothing but stand there. Pure.

A name, a message, a value may hold line ends that make a second, forged line, and control codes
that move a terminal's cursor, colour it, or turn a line's direction round.
"""

import re
from typing import Final

_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""C0, DEL, C1, separators of lines and paragraphs, marks of direction."""


def plain(text: str) -> str:
    r"""Return the text with control codes as they are written in JSON, ``\u001b``."""
    return _CONTROL.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
