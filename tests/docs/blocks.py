"""The fenced blocks of a page: what a reader copies, and what tests run.

The first word behind a fence is the language; what follows says what a test does with the block::

    ```sh                          run, in the order of the page, by one shell
    ```sh no-run: it never ends    not run, and why
    ```yaml save: job.yaml         written to that file when it is its turn
    ```yaml                        read, but for the reader alone
    ```console                     a look at a terminal: prompts and answers, never run

``script`` makes one program of the first and the third.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SHELLS: Final = frozenset({"sh", "bash"})
_FENCE: Final = re.compile(
    r"^(?P<indent>[ ]*)(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_NO_RUN: Final = "no-run"
_SAVE: Final = "save"
_END: Final = "END_OF_FILE"


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        language: First word behind the fence; empty if there is none.
        mark: ``no-run`` or ``save``; empty if there is none.
        words: What stands behind the mark: a reason, or a file's name.
        text: What is between the fences, without their indentation.
        line: Of the opening fence, from 1.
    """

    language: str
    mark: str
    words: str
    text: str
    line: int

    @property
    def is_run(self) -> bool:
        """Whether it is commands that a test executes."""
        return self.language in SHELLS and self.mark != _NO_RUN

    @property
    def file(self) -> str:
        """Name of the file that it is; empty if it is none."""
        return self.words if self.mark == _SAVE else ""


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in its order."""
    for found in _FENCE.finditer(text):
        language, _, rest = found["info"].strip().partition(" ")
        mark, _, words = rest.partition(":")
        indent = found["indent"]
        lines = [line.removeprefix(indent) for line in found["text"].splitlines(keepends=True)]
        number = text.count("\n", 0, found.start()) + 1
        yield Block(language, mark.strip(), words.strip(), "".join(lines), number)


def of_page(page: Path) -> list[Block]:
    """Return the blocks of a file."""
    return list(blocks(page.read_text()))


def script(page: Path) -> str:
    """Return the page as one bash program: its commands, and its files before what needs them.

    It ends at the first command that fails, and says at each block from which line it is. It is to
    be run in the repository's root; variables that are the reader's own come from the environment.
    """
    parts = ["set -euo pipefail\n"]
    for block in of_page(page):
        at = shlex.quote(f"+ {page.name}:{block.line}")
        if block.file:
            name = shlex.quote(block.file)
            parts.append(f"cat > {name} <<'{_END}'\n{block.text}{_END}\n")
        elif block.is_run:
            parts.append(f"echo {at} >&2\n{block.text}")
    return "".join(parts)
