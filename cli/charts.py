"""Small charts of text."""

from collections.abc import Sequence
from typing import Final

BLOCKS: Final = "▁▂▃▄▅▆▇█"
PLAIN: Final = "_.:-=+*#"
"""From low to high where the terminal's encoding has no blocks."""


def sparkline(values: Sequence[float], *, width: int, blocks: bool) -> str:
    """Return a curve in one line, oldest value first; empty for no values.

    Args:
        values: Finite numbers.
        width: Most characters, at least 2; of more values as many are taken, evenly spread, with
            both ends.
        blocks: Whether the terminal can show block characters.
    """
    levels = BLOCKS if blocks else PLAIN
    shown = _spread(values, width)
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    if high == low:
        return levels[0] * len(shown)
    # Halves, because the distance of two finite numbers may not be finite.
    parts = ((value / 2 - low / 2) / (high / 2 - low / 2) for value in shown)
    return "".join(levels[round(part * (len(levels) - 1))] for part in parts)


def can_show_blocks(encoding: str | None) -> bool:
    """Say whether a stream of this encoding can show the blocks; None: it has none."""
    try:
        BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _spread(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    last = len(values) - 1
    return [values[round(i * last / (width - 1))] for i in range(width)]
