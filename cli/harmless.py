"""What comes from elsewhere, before it is shown: texts of others forge no line, move no cursor."""

import re
from typing import Any, Final

from cli.errors import UnansweredError
from shared.plain import plain

MOST_VALUES: Final = 1_000_000
"""Of a manifest with all that its aliases repeat."""
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT: Final = frozenset("bfnrt")
_LOOSE: Final = re.compile(r"[^\x00-\x7e]")


def answer(body: bytes) -> bytes:
    """Return a JSON answer whose texts hold no control codes: they are spelled out instead."""
    return _ESCAPE.sub(_spelled, as_json(body).decode()).encode()


def as_json(body: bytes) -> bytes:
    """Return a JSON answer that means the same, and has no loose control codes either."""
    text = body.decode(errors="replace")
    return _LOOSE.sub(lambda found: plain(found[0]), text).encode()


def lines(text: str) -> str:
    """Return a text of several lines, each without control codes."""
    return "\n".join(map(plain, text.split("\n")))


def check_size(document: Any) -> None:
    """See that a YAML document is a tree, and no larger than one can be with its aliases.

    Raises:
        UnansweredError: An alias leads into itself, or they repeat too much.
    """
    if _values(document, {}) > MOST_VALUES:
        raise UnansweredError(f"the manifest repeats itself to more than {MOST_VALUES} values")


def _spelled(found: re.Match[str]) -> str:
    code, short = found[1], found[2]
    if code is not None and plain(chr(int(code, 16))) == chr(int(code, 16)):
        return found[0]
    return f"\\{found[0]}" if code is not None or short in _SHORT else found[0]


def _values(document: Any, known: dict[int, int]) -> int:
    """Count what is in a document, each shared part once worked out."""
    if not isinstance(document, dict | list):
        return 1
    if id(document) not in known:
        known[id(document)] = MOST_VALUES + 1  # what is found again inside itself has no end
        parts = document.values() if isinstance(document, dict) else document
        known[id(document)] = 1 + sum(_values(part, known) for part in parts)
    return known[id(document)]
