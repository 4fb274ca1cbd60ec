"""What the output can show, and a curve drawn in one line of it."""

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TextIO

BLOCKS: Final = "▁▂▃▄▅▆▇█"
PLAIN: Final = "_.:-=+*#"
"""The levels where the terminal's encoding has no blocks, from low to high."""


class Terminal(NamedTuple):
    """Abilities of an output stream.

    Attributes:
        width: In characters.
        blocks: Its encoding has block characters.
        colours: It is a terminal with colours, and the user has not turned them off.
    """

    width: int
    blocks: bool
    colours: bool


def of_stream(out: TextIO, environment: Mapping[str, str] = os.environ) -> Terminal:
    """Return what the stream can show.

    Source:
        https://no-color.org: any text in NO_COLOR that is not empty.
    """
    wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Terminal(
        shutil.get_terminal_size((100, 24)).columns,
        can_show_blocks(out.encoding),
        out.isatty() and wanted,
    )


def can_show_blocks(encoding: str | None) -> bool:
    """Return True if a stream of this encoding can show block characters; None: no encoding."""
    try:
        BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def sparkline(values: Sequence[float], *, width: int, blocks: bool) -> str:
    """Return a curve in one line, oldest value first; empty for no values.

    Args:
        values: Finite numbers.
        width: Characters at most, at least 2; more values than that are thinned out evenly, both
            ends kept.
        blocks: Whether the terminal can show block characters.
    """
    levels = BLOCKS if blocks else PLAIN
    shown = _thinned(values, width)
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    if high == low:
        return levels[0] * len(shown)
    # Halves, because the distance of two finite numbers may not be finite.
    parts = ((value / 2 - low / 2) / (high / 2 - low / 2) for value in shown)
    return "".join(levels[round(part * (len(levels) - 1))] for part in parts)


def _thinned(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    last = len(values) - 1
    return [values[round(i * last / (width - 1))] for i in range(width)]
