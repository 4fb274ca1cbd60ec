"""Abilities of an output stream, and colours."""

import os
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple, TextIO

from shared.terminal import BLOCKS


class Colour(StrEnum):
    """A colour or weight of a text, as a parameter of the escape sequence SGR (ECMA-48)."""

    NONE = ""
    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    BLUE = "34"
    MAGENTA = "35"
    CYAN = "36"


class Terminal(NamedTuple):
    """Abilities of an output stream.

    Attributes:
        width: In characters.
        blocks: Its encoding has block characters.
        colours: It is a terminal with colours, and the user has not turned them off.
        height: In lines; None if it is not a terminal, where lines may be as long as they are.
    """

    width: int
    blocks: bool
    colours: bool
    height: int | None = None


UNLIMITED = Terminal(width=100, blocks=True, colours=False)
"""A file: lines may be as long as they are."""


def of_stream(out: TextIO, environment: Mapping[str, str] = os.environ) -> Terminal:
    """Return what the stream can show.

    Source:
        https://no-color.org: any text in NO_COLOR that is not empty.
    """
    wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    size, is_terminal = shutil.get_terminal_size((100, 24)), out.isatty()
    return Terminal(
        size.columns,
        can_show_blocks(out.encoding),
        is_terminal and wanted,
        size.lines if is_terminal else None,
    )


def wrapped(start: str, text: str, screen: Terminal) -> Iterator[str]:
    """Yield a text after its start, on a terminal in lines that fit; no word is cut.

    Further lines begin below the text.
    """
    whole = f"{start}{text}"
    if screen.height is None or len(whole) <= screen.width:
        yield whole
        return
    yield from textwrap.wrap(
        whole,
        screen.width,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def can_show_blocks(encoding: str | None) -> bool:
    """Return True if a stream of this encoding can show block characters; None: no encoding."""
    try:
        BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def coloured(text: str, colour: Colour) -> str:
    """Return a text with the escape sequences of a colour around it."""
    return f"\x1b[{colour.value}m{text}\x1b[0m" if colour and text.strip() else text
