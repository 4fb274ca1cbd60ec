"""Numbered files of the decision log: begin one, append to it, delete the oldest. Blocks.

Every function that writes raises ``OSError``; then only the lines of that call are lost. A file is
never appended to after that: its last line may be incomplete.
"""

import contextlib
import errno
import os
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shared.errors import SettingsError

BUFFER_BYTES: Final = 32 * 2**20
"""Default of ``decision_log.buffer_bytes``: ten seconds of 1000 heartbeats a second (3 MB/s)."""

PAUSE_SECONDS: Final = 0.0005
"""Pause after each piece of an opening, so that the event loop can run in between. An opening of
60,000 pods has some 2000 pieces, so this adds a second to it, in a thread of its own."""

WRITE_BYTES: Final = 2**20
"""Bytes of one write. It waits for the interpreter when it has ended, which on a busy one takes
longer than the write; and until an opening is written, it holds the objects of its time."""

_MISTAKES: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.EROFS, errno.ENAMETOOLONG}
)
"""Errors caused by the settings; any other, such as a full disk, may be temporary."""


@dataclass
class SegmentFiles:
    """The directory of the segments, limited to ``segment_bytes`` x ``segments``.

    Attributes:
        directory: Written by one process at a time.
        segment_bytes: Records of one segment, without the state that it begins with.
        segments: Most files.
        buffer_bytes: Records that may wait in memory until they are written.
    """

    directory: Path
    segment_bytes: int
    segments: int
    buffer_bytes: int = BUFFER_BYTES
    _current: Path | None = field(default=None, repr=False)

    @property
    def most_bytes(self) -> int:
        """Limit of all files together; half of it is the limit of the state at the head of one."""
        return self.segment_bytes * self.segments

    def prepare(self) -> str | None:
        """Make the directory.

        Returns:
            Why it cannot be written now, if that may be temporary; None if it can.

        Raises:
            SettingsError: It cannot be written with these settings.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            (self.directory / ".writable").touch()
        except OSError as error:
            text = f"{self.directory}: {error.strerror}"
            if error.errno not in _MISTAKES:
                return text
            expected = "expected a directory to write to"
            raise SettingsError(f"decision_log.directory: {text}, {expected}") from error
        return None

    def begin(self, opening: Iterable[bytes]) -> None:
        """Begin a new segment with these pieces; delete the oldest beyond the limits.

        Raises:
            OSError: It could not be written, or is larger than half of ``most_bytes``; then there
                is no such segment.
        """
        self._current = None
        self.directory.mkdir(parents=True, exist_ok=True)
        present = self.paths()
        number = int(present[-1].stem.rpartition("-")[2]) + 1 if present else 1
        path = self.directory / f"decisions-{number:08d}.jsonl"
        try:
            self._write_opening(path, opening, present)
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            raise
        self._current = path

    def append(self, lines: Sequence[bytes]) -> None:
        """Write lines to the segment that was begun last.

        Raises:
            OSError: They could not be written, or not all of them.
        """
        path = self._current
        if path is None:
            raise FileNotFoundError(errno.ENOENT, "no segment was begun")
        others = _sized(other for other in self.paths() if other != path)
        self._make_room(others, path.stat().st_size + sum(map(len, lines)))
        # a removed file is not created again: it would have no head
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        with os.fdopen(descriptor, "ab", buffering=WRITE_BYTES) as file:
            file.writelines(lines)  # not joined: there may be ``buffer_bytes`` of them

    def size_bytes(self) -> int:
        """Return the size of all segments.

        Raises:
            OSError: It cannot be read.
        """
        return sum(size for _, size in _sized(self.paths()))

    def paths(self) -> list[Path]:
        """Return the segments, oldest first."""
        return sorted(self.directory.glob("decisions-*.jsonl"))

    def _write_opening(self, path: Path, opening: Iterable[bytes], present: list[Path]) -> None:
        others, written = _sized(present), 0
        while len(others) >= self.segments:
            others.popleft()[0].unlink(missing_ok=True)
        with path.open("xb", buffering=WRITE_BYTES) as file:
            for piece in opening:
                written += len(piece)
                if written > self.most_bytes // 2:
                    text = f"the state takes more than half of {self.most_bytes} bytes"
                    raise OSError(errno.EFBIG, text, str(path))
                self._make_room(others, written)
                file.write(piece)
                time.sleep(PAUSE_SECONDS)

    def _make_room(self, others: deque[tuple[Path, int]], needed: int) -> None:
        """Delete the oldest of the others until they and ``needed`` bytes are within the limit."""
        while others and sum(size for _, size in others) + needed > self.most_bytes:
            others.popleft()[0].unlink(missing_ok=True)


def _sized(paths: Iterable[Path]) -> deque[tuple[Path, int]]:
    return deque((path, path.stat().st_size) for path in paths)
