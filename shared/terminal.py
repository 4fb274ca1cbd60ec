"""Texts for one line of a terminal or log: harmless, or a curve of small bars. Pure.

An untrusted text may have line ends that forge a second line, and control codes that move a
terminal's cursor, colour it, or reverse a line's direction.
"""

import math
import re
from collections.abc import Sequence
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


BLOCKS: Final = "▁▂▃▄▅▆▇█"
PLAIN: Final = "_.:-=+*#"
"""The levels where a terminal's encoding has no blocks, from low to high."""


def sparkline(values: Sequence[float], *, width: int = 16, blocks: bool = True) -> str:
    """Return a curve in one line, oldest value first; only finite values count.

    Args:
        values: In order.
        width: Characters at most, at least 2; more values than that are thinned out evenly, both
            ends kept.
        blocks: Whether the terminal can show block characters.
    """
    levels = BLOCKS if blocks else PLAIN
    shown = _thinned([value for value in values if math.isfinite(value)], width)
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    span = high / 2 - low / 2  # halves: the difference of two huge values may be infinite
    if span == 0:
        return levels[0] * len(shown)
    parts = ((value / 2 - low / 2) / span for value in shown)
    return "".join(levels[round(part * (len(levels) - 1))] for part in parts)


def _thinned(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    last = len(values) - 1
    return [values[round(i * last / (width - 1))] for i in range(width)]
