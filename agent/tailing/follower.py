"""Follows one file by its path, by polling, whatever happens to the file.

inotify does not report writes of other clients of a network file system, so each poll checks the
path and the open file. What may happen to a file:

======================  ==========================================================================
it grows                the new bytes are read; an unfinished last line waits
truncated               smaller than what was read, or other content: read from its beginning
renamed and recreated   the old one is read to its end, then the new one from its beginning
deleted and recreated   the same; a new file on the old inode is detected by its content
deleted                 what was written before is read as long as it is open
written at its old      the hole before is skipped
offset after truncation
replaced by a link      refused, like everything that is not a regular file
======================  ==========================================================================

Only these are lost: what was written between two polls and truncated before the second; a file that
was created and removed between two polls; an unfinished last line of a removed file. The last is
counted.
"""

import os
from pathlib import Path
from typing import Final

from msgspec import structs

from agent.tailing.chunk import Chunk, Limits, OpenFiles
from agent.tailing.opening import open_by_inode, open_file, problem
from agent.tailing.source_file import SourceFile, identity
from shared.parsing.cutting import BytesCutter, Cut, Cutter, LineCutter

_NOTHING: Final = Chunk()
_NO_CUT: Final = Cut(0)


class FileFollower:
    """Returns the lines (or bytes) that are appended to a file.

    Args:
        path: The file; it need not exist yet.
        root: Trusted directory above it; no part of the path below it may be a link. Default: the
            file's directory.
        limits: How much is read, kept and skipped.
        from_start: Read the content that the file has when it is first seen; else begin at its end.
        appeared: The file did not exist before: its content is new, and all of it is read.
        binary: Return bytes, not lines.
        cutter: Replaces the one that ``binary`` chooses.
        open_files: The limit shared by all followers.
    """

    def __init__(
        self,
        path: Path,
        *,
        root: Path | None = None,
        limits: Limits | None = None,
        from_start: bool = True,
        appeared: bool = False,
        binary: bool = False,
        cutter: Cutter | None = None,
        open_files: OpenFiles | None = None,
    ) -> None:
        self.path = path
        self._name = str(path)
        self._root = root or path.parent
        self._limits = limits or Limits()
        self._cutter = cutter or (BytesCutter() if binary else LineCutter(self._limits.line_bytes))
        self._open_files = OpenFiles(1) if open_files is None else open_files
        self._from_start = from_start
        self._file: SourceFile | None = None
        self._next: SourceFile | None = None
        self._polled_before = appeared
        self._used_at = 0.0
        self._opened_at = 0.0

    @property
    def is_open(self) -> bool:
        """True while a descriptor is open."""
        return self._file is not None and self._file.is_open

    @property
    def held_bytes(self) -> int:
        """Bytes kept between two polls."""
        return self._cutter.held_bytes

    def poll(self, now: float) -> Chunk:
        """Return what was written since the last poll.

        Args:
            now: Seconds of a monotonic clock.
        """
        try:
            chunk = self._poll(now)
        except OSError as error:
            self.suspend()
            return Chunk(problem=problem(error, self.path))
        self._polled_before = True
        return chunk

    def suspend(self) -> None:
        """Close the file; the next poll that finds something new opens it again."""
        if self._file is not None:
            self._file.close()
        self._drop_next()
        self._open_files.release(self)

    close = suspend

    def _poll(self, now: float) -> Chunk:
        status = self._status()
        if self._file is None:
            return self._first(now) if status is not None else _NOTHING
        if self._next is None and (status is None or identity(status) == self._file.identity):
            return self._read(self._file, status, now)
        if self._next is None:
            self._next = self._opened(now)
        return self._change(self._file, self._next, status, now)

    def _status(self) -> os.stat_result | None:
        """Return the status of the path; only a hint: links in it are detected on opening."""
        try:
            return os.stat(self._name, follow_symlinks=False)  # noqa: PTH116 - half the time of a Path's
        except FileNotFoundError:
            return None

    def _first(self, now: float) -> Chunk:
        file = self._opened(now)
        if file is None:
            return _NOTHING
        self._file = file
        size = file.backlog_bytes
        if self._polled_before:  # it did not exist before: all of it is new
            file.backlog_bytes = 0
            return self._read(file, None, now)
        if not self._from_start:
            self._enter(file, size)
            return _NOTHING
        if self._cutter.enterable and size > self._limits.from_start_bytes:
            return self._head_and_end(file, size)
        return self._read(file, None, now)

    def _head_and_end(self, file: SourceFile, size: int) -> Chunk:
        head = file.read(self._limits.head_bytes)
        head = head[: head.rfind(b"\n") + 1]
        cut = self._cutter.cut(head, self._limits.lines_per_poll)
        self._cutter.restart()
        start = max(len(head), size - self._limits.from_start_bytes)
        self._enter(file, start)
        skipped = Cut(0, dropped_bytes=start - cut.consumed)
        return _chunk(cut, before=skipped, backlog=True, more=True)

    def _enter(self, file: SourceFile, offset: int) -> None:
        if file.move_to(offset):
            self._cutter.enter()

    def _read(self, file: SourceFile, status: os.stat_result | None, now: float) -> Chunk:
        if not file.is_open:
            if status is None:
                return self._drain(file, now)
            if file.unchanged(status):
                return _NOTHING
            if not self._reopened(file, now):
                return _NOTHING  # removed meanwhile: the next poll sees the new state
            status = None  # opening may have shown more
        elif status is not None and now - self._opened_at >= self._limits.reopen_seconds:
            self._reopened(file, now)
            status = None
        chunk = self._take(file, now, status)
        if self._is_idle(now):
            self.suspend()
        return chunk

    def _take(self, file: SourceFile, now: float, status: os.stat_result | None = None) -> Chunk:
        """Read on; ``status`` is the file's, if it was just asked for by its path."""
        status = status or file.status()
        if file.unchanged(status):
            return _NOTHING
        self._used_at = now
        self._open_files.use(self, self.suspend)
        return self._read_on(file, status) or self._read_any(file, status)

    def _read_on(self, file: SourceFile, status: os.stat_result) -> Chunk | None:
        """Return the few bytes that a file has got; None for all that is not so simple."""
        unread = status.st_size - file.offset
        most_bytes = min(self._limits.bytes_per_poll, self._limits.behind_bytes)
        data = file.read_on(unread) if file.offset and 0 <= unread <= most_bytes else None
        if data is None:
            return None
        file.note_status(status)
        backlog = file.offset < file.backlog_bytes
        cut = self._cutter.cut(data, self._limits.lines_per_poll)
        file.advance(data[: cut.consumed])
        more = file.offset < status.st_size
        return _chunk(cut, before=_NO_CUT, backlog=backlog, more=more)

    def _read_any(self, file: SourceFile, status: os.stat_result) -> Chunk:
        before, truncated = _NO_CUT, False
        if not file.is_as_read(status.st_size):
            before, truncated = self._cutter.restart(), True
            file.start_over()
        file.skip_hole()
        file.note_status(status)
        backlog = file.offset < file.backlog_bytes
        if behind_bytes := 0 if backlog else self._catch_up(file, status.st_size):
            before = structs.replace(before, dropped_bytes=before.dropped_bytes + behind_bytes)
        data = file.read(min(self._limits.bytes_per_poll, max(0, status.st_size - file.offset)))
        cut = self._cutter.cut(data, self._limits.lines_per_poll)
        file.advance(data[: cut.consumed])
        more = file.offset < status.st_size
        chunk = _chunk(cut, before=before, truncated=truncated, backlog=backlog, more=more)
        return structs.replace(chunk, behind_bytes=behind_bytes) if behind_bytes else chunk

    def _catch_up(self, file: SourceFile, size: int) -> int:
        """Skip what was written faster than it is read; return how many bytes that is."""
        unread, limits = size - file.offset, self._limits
        if not self._cutter.enterable or unread <= limits.behind_bytes:
            return 0
        lost = self._cutter.restart().dropped_bytes + unread - limits.from_start_bytes
        self._enter(file, size - limits.from_start_bytes)
        return lost

    def _drain(self, file: SourceFile, now: float) -> Chunk:
        """Read on in the file that is no longer at the path."""
        if not file.is_open:
            _, inode = file.identity  # closed while idle, and renamed since
            descriptor = open_by_inode(self._root, self.path.parent, inode)
            if descriptor is None or not file.adopt(descriptor):
                return _NOTHING
            if not file.is_as_read(file.status().st_size):  # another file has the inode now
                file.close()
                return _NOTHING
        return self._take(file, now)

    def _change(
        self, old: SourceFile, new: SourceFile | None, status: os.stat_result | None, now: float
    ) -> Chunk:
        """Read the old file to its end, then change to the new one once it has content.

        Until then, or until the old one is idle, the program may still write to the old one:
        logrotate creates the new file first, and signals the program afterwards.
        """
        if new is None or new.identity == old.identity:  # it changed again meanwhile
            self._drop_next()
            return _NOTHING
        current = status is None or identity(status) == new.identity
        is_awaited = current and new.status().st_size == 0 and not self._is_idle(now)
        chunk = self._drain(old, now)
        if chunk != _NOTHING or is_awaited:
            return chunk
        old.close()
        self._file, self._next = new, None
        new.backlog_bytes = 0
        before = self._cutter.rotate()
        chunk = self._take(new, now)
        return structs.replace(
            chunk,
            rotated=True,
            dropped_bytes=chunk.dropped_bytes + before.dropped_bytes,
            dropped_lines=chunk.dropped_lines + before.dropped_lines,
        )

    def _drop_next(self) -> None:
        if self._next is not None:
            self._next.close()
            self._next = None

    def _opened(self, now: float) -> SourceFile | None:
        try:
            descriptor = open_file(self._root, self.path)
        except FileNotFoundError:
            return None
        self._opened_at = now
        return SourceFile(descriptor, os.fstat(descriptor))

    def _reopened(self, file: SourceFile, now: float) -> bool:
        try:
            descriptor = open_file(self._root, self.path)
        except FileNotFoundError:
            return False
        self._opened_at = now
        return file.adopt(descriptor)

    def _is_idle(self, now: float) -> bool:
        return now - self._used_at >= self._limits.idle_close_seconds


def _chunk(
    cut: Cut, *, before: Cut, truncated: bool = False, backlog: bool = False, more: bool = False
) -> Chunk:
    return Chunk(
        lines=cut.lines,
        times=cut.times,
        data=cut.data,
        truncated=truncated,
        backlog=backlog,
        more=more,
        dropped_bytes=before.dropped_bytes + cut.dropped_bytes,
        dropped_lines=before.dropped_lines + cut.dropped_lines,
    )
