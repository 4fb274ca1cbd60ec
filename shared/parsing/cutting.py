r"""Bytes to complete lines of text; what is not complete is kept here. Pure.

``\r`` ends a line as ``\n`` does: a progress bar that is drawn for an hour is many short lines,
not a long one. Control codes are removed after cutting, from the few bytes that are a line.
"""

import re
from typing import Final, Protocol

from msgspec import Struct

_ESCAPES: Final = re.compile(
    rb"\x1b(?:"
    rb"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves
    rb"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, hyperlinks
    rb"|[ -/]*[0-~]"  # two-character sequences, character sets
    rb"|)"
)
_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe")
"""What Windows puts before UTF-8 and UTF-16; of the latter the NUL bytes are dropped as well."""
_LOWEST_MARK: Final = min(_MARKS)[:1]
_CONTROLS: Final = bytes(c for c in range(32) if c != ord("\t")) + b"\x7f"
LOST_BEGINNING: Final = "… "
"""Prefix of a line whose beginning was dropped: no anchored pattern matches it."""
_UNUSUAL: Final = bytes(c for c in range(32) if c not in b"\t\n") + b"\x7f"
_ENDS: Final = b"\r\n"
_WINDOW: Final = 4096


def clean(line: bytes) -> str:
    """Return the text of a line without a mark of its encoding, controls and trailing blanks.

    Backspaces are dropped and do not erase: programs that write them (Keras) continue with a
    carriage return, which has ended the line already. NUL bytes are the hole left by a program that
    keeps writing at its old offset in a truncated file.
    """
    if b"\x1b" in line:
        line = _ESCAPES.sub(b"", line)
    if line > _LOWEST_MARK:  # quicker than to look for each
        line = line.removeprefix(_MARKS[0]).removeprefix(_MARKS[1])
    return line.translate(None, _CONTROLS).decode("utf-8", "replace").rstrip()


def plain_lines(data: bytes) -> list[str] | None:
    """Return whole lines of plain ASCII, from which ``clean`` would only strip; None for others."""
    if not data.endswith(b"\n") or not data.isascii():
        return None
    if len(data.translate(None, _UNUSUAL)) != len(data):
        return None
    lines = data.decode("ascii").split("\n")
    lines.pop()
    return lines


class Cut(Struct, frozen=True):
    """The result of cutting some bytes; fields as in ``Chunk``.

    Attributes:
        consumed: Bytes used; fewer than given if ``most_lines`` was reached.
    """

    consumed: int
    lines: tuple[str, ...] = ()
    times: tuple[float | None, ...] = ()
    data: bytes = b""
    dropped_bytes: int = 0
    dropped_lines: int = 0


class Cutter(Protocol):
    """Cuts the bytes of one file, in order, into the content of a ``Chunk``."""

    @property
    def enterable(self) -> bool:
        """True if reading may begin in the middle of a file."""
        ...

    @property
    def held_bytes(self) -> int:
        """Bytes kept of incomplete lines."""
        ...

    def cut(self, data: bytes, most_lines: int) -> Cut:
        """Cut the next bytes; whole lines beyond ``most_lines`` are not consumed."""
        ...

    def enter(self) -> None:
        """Skip the rest of a line: the next bytes begin inside one."""
        ...

    def rotate(self) -> Cut:
        """End the file, another one continues at its path; return what was dropped."""
        ...

    def restart(self) -> Cut:
        """Begin the file again; return what was dropped."""
        ...


class LineCutter:
    """Cuts lines of text.

    Args:
        line_bytes: Most bytes kept of one line: its end. The beginning is dropped and counted, and
            the line is returned from its first blank on, behind ``LOST_BEGINNING``.
    """

    enterable = True

    def __init__(self, line_bytes: int) -> None:
        self._most = line_bytes
        self._kept = b""
        self._lost = 0
        self._skipping = False

    @property
    def held_bytes(self) -> int:
        """See ``Cutter``."""
        return len(self._kept)

    @property
    def is_empty(self) -> bool:
        """True if the next bytes begin a line."""
        return not (self._kept or self._lost or self._skipping)

    def cut(self, data: bytes, most_lines: int) -> Cut:
        """See ``Cutter``."""
        plain = plain_lines(data) if self.is_empty and len(data) <= self._most else None
        if plain is None or len(plain) > most_lines:
            return self._cut(data, most_lines)
        return Cut(len(data), tuple(filter(None, map(str.rstrip, plain))))

    def _cut(self, data: bytes, most_lines: int) -> Cut:
        pieces = head_of(data, most_lines).splitlines(keepends=True)
        rest = b""
        if len(pieces) > most_lines:
            del pieces[most_lines:]
        elif pieces and pieces[-1][-1] not in _ENDS:
            rest = pieces.pop()
        consumed = sum(map(len, pieces)) + len(rest)
        lines: list[str] = []
        dropped_bytes = dropped_lines = 0
        if pieces and (self._kept or self._lost or self._skipping):
            lines, dropped_bytes, dropped_lines = self._first(pieces.pop(0))
        for piece in pieces:
            if len(piece) > self._most:
                dropped_bytes += self._shortened(piece, lines)
                dropped_lines += 1
            elif text := clean(piece):
                lines.append(text)
        self._keep(rest)
        return Cut(
            consumed,
            tuple(lines),
            dropped_bytes=dropped_bytes,
            dropped_lines=dropped_lines,
        )

    def enter(self) -> None:
        """See ``Cutter``."""
        self._skipping = True

    def rotate(self) -> Cut:
        """See ``Cutter``."""
        lost = len(self._kept) + self._lost
        self._kept, self._lost, self._skipping = b"", 0, False
        return Cut(0, dropped_bytes=lost, dropped_lines=1 if lost else 0)

    restart = rotate

    def _first(self, piece: bytes) -> tuple[list[str], int, int]:
        whole, lost, skipping = self._kept + piece, self._lost, self._skipping
        self._kept, self._lost, self._skipping = b"", 0, False
        if skipping:
            return [], lost + len(whole), 1
        lines: list[str] = []
        if lost or len(whole) > self._most:
            return lines, lost + self._shortened(whole, lines), 1
        if text := clean(whole):
            lines.append(text)
        return lines, 0, 0

    def _shortened(self, piece: bytes, lines: list[str]) -> int:
        tail = piece[-self._most :]
        blanks = [at for at in (tail.find(b" "), tail.find(b"\t")) if at >= 0]
        text = clean(tail[min(blanks) :]).lstrip() if blanks else ""
        if text:
            lines.append(LOST_BEGINNING + text)
        kept = len(tail) - min(blanks) if text else 0
        return len(piece) - kept

    def _keep(self, rest: bytes) -> None:
        kept = self._kept + rest
        if self._skipping:
            self._lost += len(kept)
            self._kept = b""
            return
        self._lost += max(0, len(kept) - self._most)
        self._kept = kept[-self._most :]


class BytesCutter:
    """Returns bytes as they are, for binary formats: the parser knows where a record ends."""

    enterable = False
    held_bytes = 0

    def cut(self, data: bytes, most_lines: int) -> Cut:
        """See ``Cutter``."""
        del most_lines
        return Cut(len(data), data=data)

    def enter(self) -> None:
        """See ``Cutter``."""

    def rotate(self) -> Cut:
        """See ``Cutter``."""
        return Cut(0)

    restart = rotate


def head_of(data: bytes, most_lines: int) -> bytes:
    """Return the beginning of ``data`` that has more than ``most_lines`` line ends, or all of it.

    Else a megabyte of line ends would briefly be a million objects.
    """
    if data.count(b"\n") + data.count(b"\r") <= most_lines + _WINDOW:
        return data
    ends = end = 0
    while ends <= most_lines:
        ends += data.count(b"\n", end, end + _WINDOW) + data.count(b"\r", end, end + _WINDOW)
        end += _WINDOW
    return data[:end]
