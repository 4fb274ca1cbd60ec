"""One opened file: the offset of reading, and whether it still has what was read so far.

A file is identified by device and inode, and, because inodes are reused and a file may be rewritten
in place, by content: its first bytes, and the last bytes before the offset. If either has changed,
the file is read from the beginning.

Source:
    The rules that passed Vector's ``file_rotate_truncate_correctness``; Filebeat's fingerprints.
"""

import os
from contextlib import suppress
from typing import Final

HEAD_BYTES: Final = 256
"""First bytes of a file that must not change."""
SEAM_BYTES: Final = 64
"""Bytes before the offset that must not change."""


class SourceFile:
    """A file that is read sequentially while other programs write it.

    Args:
        descriptor: Opened for reading; owned by this object.
        status: Status of that descriptor.
    """

    def __init__(self, descriptor: int, status: os.stat_result) -> None:
        self._descriptor: int | None = descriptor
        self.identity = identity(status)
        self.offset = 0
        self.backlog_bytes = status.st_size
        self._status_read: tuple[int, int] | None = None
        self._head = b""
        self._seam = b""

    @property
    def is_open(self) -> bool:
        """True while the descriptor is open."""
        return self._descriptor is not None

    def close(self) -> None:
        """Close the descriptor; offset and content are remembered."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def adopt(self, descriptor: int) -> bool:
        """Use a new descriptor of the file; close it and return False if it is another file."""
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
        """Return True if everything was read at this size and modification time."""
        return (
            self._status_read == (status.st_size, status.st_mtime_ns)
            and status.st_size == self.offset
        )

    def note_status(self, status: os.stat_result) -> None:
        """Remember size and modification time, to detect a later change."""
        self._status_read = (status.st_size, status.st_mtime_ns)

    def is_as_read(self, size: int) -> bool:
        """Return True if the file still has its first bytes, and those before the offset."""
        if size < self.offset:
            return False
        if os.pread(self._open, len(self._head), 0) != self._head:
            return False
        start = self.offset - len(self._seam)
        return os.pread(self._open, len(self._seam), start) == self._seam

    def read_on(self, length: int) -> bytes | None:
        """Return the next bytes; None if the file no longer has what was read so far.

        The same as ``is_as_read`` and ``read`` with one system call less.
        """
        seam = len(self._seam)
        data = os.pread(self._open, seam + length, self.offset - seam)
        if not data.startswith(self._seam):
            return None
        if os.pread(self._open, len(self._head), 0) != self._head:
            return None
        return data[seam:]

    def read(self, most_bytes: int) -> bytes:
        """Return the next bytes without moving the offset; ``advance`` does that."""
        return os.pread(self._open, most_bytes, self.offset)

    def advance(self, data: bytes) -> None:
        """Move the offset behind ``data``, the bytes that were read there."""
        if len(self._head) == self.offset < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - self.offset]
        self.offset += len(data)
        self._seam = (self._seam + data[-SEAM_BYTES:])[-SEAM_BYTES:]

    def move_to(self, offset: int) -> bool:
        """Continue at ``offset``; return True if that is inside a line."""
        start = max(0, offset - SEAM_BYTES)
        self._seam = os.pread(self._open, offset - start, start)
        self._head = os.pread(self._open, min(HEAD_BYTES, offset), 0)
        self.offset = offset
        return bool(self._seam) and self._seam[-1:] not in b"\r\n"

    def start_over(self) -> None:
        """Go back to the first byte and forget the content."""
        self.backlog_bytes = 0
        self.offset, self._head, self._seam, self._status_read = 0, b"", b"", None

    def skip_hole(self) -> None:
        """Skip a hole at the front: the program kept its old offset in a truncated file."""
        if self.offset == 0:
            with suppress(OSError):  # only a hole, or a file system without SEEK_DATA
                self.offset = os.lseek(self._open, 0, os.SEEK_DATA)

    @property
    def _open(self) -> int:
        assert self._descriptor is not None  # noqa: S101 - because the follower opens before it reads
        return self._descriptor


def identity(status: os.stat_result) -> tuple[int, int]:
    """Return device and inode."""
    return status.st_dev, status.st_ino
