"""What the place of the output can show."""

import os
import shutil
from collections.abc import Mapping
from typing import NamedTuple, TextIO

from cli import charts


class Screen(NamedTuple):
    """See the module.

    Attributes:
        width: In characters.
        blocks: It has block characters.
        colours: It has colours, and nobody said that he does not want them.
    """

    width: int
    blocks: bool
    colours: bool


def of(out: TextIO, environment: Mapping[str, str] = os.environ) -> Screen:
    """Return what the stream can show.

    Source:
        https://no-color.org: any text in NO_COLOR that is not empty.
    """
    wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Screen(
        shutil.get_terminal_size((100, 24)).columns,
        charts.can_show_blocks(out.encoding),
        out.isatty() and wanted,
    )
