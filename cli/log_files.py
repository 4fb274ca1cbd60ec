"""Files that ``logs-check`` reads: regular ones, pipes and standard input; with their progress."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, Final, TextIO

from cli.errors import UnreadableError
from cli.views.terminal import of_stream
from shared.clock import Clock
from shared.parsing.checking import Read
from shared.terminal import plain

STANDARD_INPUT: Final = "-"
QUIET_SECONDS: Final = 1.0
"""A file that is read within this time needs no line of progress."""
BETWEEN_SECONDS: Final = 0.2
"""Between two lines of progress."""
_MB: Final = 1_000_000


def name_of(file: str) -> str:
    """Return what a file is called in messages; standard input has no name in findings."""
    return "standard input" if file in {STANDARD_INPUT, ""} else file


@contextmanager
def opened(file: str, *, whole: bool, clock: Clock) -> Iterator[Read]:
    """Open a file; on a terminal, standard error says how much of it was read.

    Args:
        file: Its path, or ``STANDARD_INPUT``.
        whole: Its parts are read again, so all of a pipe must be kept.
        clock: For the progress.

    Raises:
        UnreadableError: Standard input is closed.
        OSError: It cannot be opened or read.
    """
    with _bytes_of(file) as data:
        progress = Progress(name_of(file), _size(data), sys.stderr, clock)
        has_parts = file != STANDARD_INPUT and data.seekable()
        read = _parts(data) if has_parts else pipe(data, whole=whole)
        try:
            yield progress.watched(read)
        finally:
            progress.end()


class Progress:
    """How much of a file was read, on one line of a terminal; nothing elsewhere.

    Args:
        name: Of the file.
        size: Its bytes; None if that is not known.
        out: Where to write.
        clock: Says when a line is due.
    """

    def __init__(self, name: str, size: int | None, out: TextIO, clock: Clock) -> None:
        self._name, self._size, self._out, self._clock = name, size, out, clock
        self._is_terminal = of_stream(out).height is not None
        self._due = clock.monotonic() + QUIET_SECONDS
        self._read_bytes = self._drawn = 0

    def watched(self, read: Read) -> Read:
        """Return the same reader, whose reading is shown."""

        def reading(offset: int, length: int) -> bytes:
            data = read(offset, length)
            self._read_bytes = max(self._read_bytes, offset + len(data))
            if self._is_terminal and self._clock.monotonic() >= self._due:
                self._due = self._clock.monotonic() + BETWEEN_SECONDS
                self._draw(f"{plain(self._name)}: {self._amount()}")
            return data

        return reading

    def end(self) -> None:
        """Clear the line."""
        if self._drawn:
            self._draw("")
            self._out.write("\r")
            self._out.flush()

    def _amount(self) -> str:
        read = f"{self._read_bytes / _MB:.0f}"
        return f"{read} MB read" if self._size is None else f"{read} of {self._size / _MB:.0f} MB"

    def _draw(self, text: str) -> None:
        """Write over the line; of a long one the end is shown, which has the amount."""
        text = text[-(of_stream(self._out).width - 1) :]
        self._out.write(f"\r{text:{self._drawn}}")
        self._out.flush()
        self._drawn = len(text)


def pipe(data: BinaryIO, *, whole: bool) -> Read:
    """Return parts of what has one direction only, as in ``<(kubectl logs POD)``.

    Args:
        data: The pipe.
        whole: Keep all of it; else what is before the last offset is dropped.

    Raises:
        ValueError: From a reading of what was dropped.
    """
    held, begin = bytearray(), 0

    def read(offset: int, length: int) -> bytes:
        nonlocal begin
        if offset < begin:
            raise ValueError(f"offset {offset} of a pipe was dropped: {begin} was read")
        if not whole:
            del held[: offset - begin]
            begin = offset
        missing = offset + length - begin - len(held)
        if missing > 0:
            held.extend(data.read(missing))
        return bytes(held[offset - begin : offset - begin + length])

    return read


def _parts(file: BinaryIO) -> Read:
    def read(offset: int, length: int) -> bytes:
        file.seek(offset)
        return file.read(length)

    return read


@contextmanager
def _bytes_of(file: str) -> Iterator[BinaryIO]:
    if file != STANDARD_INPUT:
        with Path(file).open("rb") as data:
            yield data
        return
    if sys.stdin is None:
        raise UnreadableError("standard input: it is closed")
    yield sys.stdin.buffer


def _size(data: BinaryIO) -> int | None:
    """Return the size of a regular file; None for another one."""
    try:
        status = os.fstat(data.fileno())
    except OSError:  # no file of the system at all
        return None
    return status.st_size if S_ISREG(status.st_mode) else None
