"""Bytes of one line to text: control codes of terminals go, what remains is what one would see."""

import re
from typing import Final

_ESCAPES: Final = re.compile(
    rb"\x1b(?:"
    rb"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves
    rb"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, hyperlinks
    rb"|[ -/]*[0-~]"  # two-character sequences, character sets
    rb"|)"
)
_CONTROLS: Final = bytes(c for c in range(32) if c != ord("\t")) + b"\x7f"


def clean(line: bytes) -> str:
    """Return the text of a line without escape sequences, controls and blanks at its end.

    Backspaces are dropped and do not erase: programs that write them (Keras) go on with a carriage
    return, which has ended the line already. NUL bytes are the hole that a program leaves which
    goes on writing at its old place in a file that was cut.
    """
    if b"\x1b" in line:
        line = _ESCAPES.sub(b"", line)
    return line.translate(None, _CONTROLS).decode("utf-8", "replace").rstrip()
