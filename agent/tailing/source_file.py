"""One opened file: where we are in it, and whether it still is what we have read so far.

A file is told from another by device and inode, and, because inodes are used again and a file may
be written anew in place, by what it holds: its first bytes, and the last ones that were read before
the place where reading goes on. If either is not as it was, what we know of the file is void.

Source:
    The rules that passed Vector's ``file_rotate_truncate_correctness``; Filebeat's fingerprints.
"""

import os
from contextlib import suppress
from typing import Final

HEAD_BYTES: Final = 256
"""First bytes of a file that must stay as they are."""
SEAM_BYTES: Final = 64
"""Bytes before the place of reading that must stay as they are."""


class SourceFile:
    """A file that is read from front to back by one reader, while others write it.

    Args:
        descriptor: Opened for reading; owned by this object.
        status: Of that descriptor.
    """

    def __init__(self, descriptor: int, status: os.stat_result) -> None:
        self._descriptor: int | None = descriptor
        self.identity = identity(status)
        self.offset = 0
        self.backlog_bytes = status.st_size
        self._seen: tuple[int, int] | None = None
        self._head = b""
        self._seam = b""

    @property
    def is_open(self) -> bool:
        """Whether it holds a descriptor."""
        return self._descriptor is not None

    def close(self) -> None:
        """Give the descriptor back; place and content are remembered."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def adopt(self, descriptor: int) -> bool:
        """Take a fresh descriptor of the file; of another one, close it and return False."""
        if identity(os.fstat(descriptor)) != self.identity:
            os.close(descriptor)
            return False
        self.close()
        self._descriptor = descriptor
        return True

    def status(self) -> os.stat_result:
        """Return the file's size and times now, by its descriptor."""
        return os.fstat(self._open)

    def unchanged(self, status: os.stat_result) -> bool:
        """Return whether everything was read when the file was as ``status`` says."""
        return self._seen == (status.st_size, status.st_mtime_ns) and status.st_size == self.offset

    def look(self, status: os.stat_result) -> None:
        """Remember that the file was looked at, to tell a later change."""
        self._seen = (status.st_size, status.st_mtime_ns)

    def is_as_read(self, size: int) -> bool:
        """Return whether the file still begins, and goes on, as it did when it was read."""
        if size < self.offset:
            return False
        if os.pread(self._open, len(self._head), 0) != self._head:
            return False
        start = self.offset - len(self._seam)
        return os.pread(self._open, len(self._seam), start) == self._seam

    def read(self, most_bytes: int) -> bytes:
        """Return the next bytes without going on; ``advance`` does."""
        return os.pread(self._open, most_bytes, self.offset)

    def advance(self, data: bytes) -> None:
        """Go on behind ``data``, the bytes at the place of reading."""
        if len(self._head) == self.offset < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - self.offset]
        self.offset += len(data)
        self._seam = (self._seam + data[-SEAM_BYTES:])[-SEAM_BYTES:]

    def move_to(self, offset: int) -> bool:
        """Go on at ``offset``; return whether that is inside a line."""
        start = max(0, offset - SEAM_BYTES)
        self._seam = os.pread(self._open, offset - start, start)
        self._head = os.pread(self._open, min(HEAD_BYTES, offset), 0)
        self.offset = offset
        return bool(self._seam) and self._seam[-1:] not in b"\r\n"

    def begin_anew(self) -> None:
        """Go back to the first byte and forget what was there."""
        self.backlog_bytes = 0
        self.offset, self._head, self._seam, self._seen = 0, b"", b"", None

    def pass_hole(self) -> None:
        """Go over a hole at the front: the program wrote on at its old place in a cut file."""
        if self.offset == 0:
            with suppress(OSError):  # nothing but a hole, or a file system that cannot tell
                self.offset = os.lseek(self._open, 0, os.SEEK_DATA)

    @property
    def _open(self) -> int:
        assert self._descriptor is not None  # noqa: S101 - because the follower opens before it reads
        return self._descriptor


def identity(status: os.stat_result) -> tuple[int, int]:
    """Return device and inode."""
    return status.st_dev, status.st_ino
