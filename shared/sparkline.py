"""A row of values as a line of small bars."""

import math
from collections.abc import Sequence
from typing import Final

BLOCKS: Final = "▁▂▃▄▅▆▇█"
ASCII: Final = "_.-=+*#@"
"""The same steps where a terminal's encoding has no blocks."""


def sparkline(values: Sequence[float], bars: str = BLOCKS, *, width: int = 16) -> str:
    """Return at most ``width`` bars, the largest value as the highest; only finite values count.

    Args:
        values: In order.
        bars: Characters from the lowest to the highest.
        width: More values than this are thinned; first and last are kept.
    """
    finite = [value for value in values if math.isfinite(value)]
    shown = _thinned(finite, width)
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    span = high / 2 - low / 2  # halves: the difference of two huge values may be infinite
    if span == 0:
        return bars[0] * len(shown)
    return "".join(bars[round((len(bars) - 1) * ((v / 2 - low / 2) / span))] for v in shown)


def _thinned(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    last = len(values) - 1
    return [values[round(i * last / (width - 1))] for i in range(width)]
