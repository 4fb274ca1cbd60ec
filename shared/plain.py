"""Makes untrusted texts harmless for one line of a log or terminal. Pure.

A name, a message or a value may have line ends that forge a second line, and control codes that
move a terminal's cursor, colour it, or reverse a line's direction.
"""

import re
from typing import Final

_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""C0, DEL, C1, separators of lines and paragraphs, marks of direction."""


def plain(text: str) -> str:
    r"""Return the text with control codes escaped as in JSON, ``\u001b``."""
    return _CONTROL.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
