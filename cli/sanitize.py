"""Texts from elsewhere, before they are shown: none may forge a line or move the cursor."""

import re
from typing import Final

from shared.terminal import plain

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT: Final = frozenset("bfnrt")
_UNSAFE: Final = re.compile(r"[^\x00-\x7e]")


def json_texts(body: bytes) -> bytes:
    """Return a JSON document whose strings hold no control codes: they are spelled out instead."""
    return _ESCAPE.sub(_spelled_out, raw_json(body).decode()).encode()


def raw_json(body: bytes) -> bytes:
    """Return a JSON document of the same meaning without unescaped control codes."""
    text = body.decode(errors="replace")
    return _UNSAFE.sub(lambda match: plain(match[0]), text).encode()


def lines(text: str) -> str:
    """Return a text of several lines, each without control codes."""
    return "\n".join(map(plain, text.split("\n")))


def _spelled_out(match: re.Match[str]) -> str:
    code, short = match[1], match[2]
    if code is not None and plain(chr(int(code, 16))) == chr(int(code, 16)):
        return match[0]
    return f"\\{match[0]}" if code is not None or short in _SHORT else match[0]
