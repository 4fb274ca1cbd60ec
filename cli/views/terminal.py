"""Abilities of an output stream."""

import os
import shutil
from collections.abc import Mapping
from typing import NamedTuple, TextIO

from shared.terminal import BLOCKS


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
