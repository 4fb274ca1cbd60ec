"""A line without the control codes of terminals."""

import pytest

from shared.parsing.cutting import clean

CASES = {
    "plain text stays": (b"loss: 0.5", "loss: 0.5"),
    "colours go": (b"\x1b[1m 2/90\x1b[0m \x1b[37mbar\x1b[0m", " 2/90 bar"),
    "backspaces go and erase nothing": (b"loss: 1.3004\x08\x08\x08\x08", "loss: 1.3004"),
    "cursor moves go": (b"\x1b[A{'loss': '1'}", "{'loss': '1'}"),
    "window titles go": (b"\x1b]0;training\x07loss", "loss"),
    "hyperlinks go": (b"\x1b]8;;http://x\x1b\\loss\x1b]8;;\x1b\\", "loss"),
    "an escape sequence without an end goes": (b"loss\x1b[", "loss"),
    "a title without an end takes the rest": (b"loss\x1b]0;training", "loss"),
    "character sets go": (b"\x1b(Bloss", "loss"),
    "the hole of a cut file goes": (b"\0\0\0\0{}", "{}"),
    "tabs stay": (b"1%\tLoss: 2", "1%\tLoss: 2"),
    "blanks in front stay, behind they go": (b"  x  ", "  x"),
    "bytes that are no UTF-8 are marked": (b"a\xffb", "a\ufffdb"),
    "the byte order mark of Windows goes": (b"\xef\xbb\xbfepoch,loss", "epoch,loss"),
    "so do that of UTF-16 and its NUL bytes": ("epoch,loss".encode("utf-16"), "epoch,loss"),
    "letters of every script stay": ("━ é".encode(), "━ é"),
}


@pytest.mark.parametrize(("line", "want"), CASES.values(), ids=CASES)
def test_visible_characters_remain(line: bytes, want: str) -> None:
    assert clean(line) == want
