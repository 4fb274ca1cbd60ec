"""What a follower returns, and what it may use: bytes, lines, open files."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from msgspec import Struct

KIB: Final = 1024
MIB: Final = 1024 * 1024


class Limits(Struct, frozen=True, kw_only=True):
    """How much of one file a follower takes, keeps and skips.

    Attributes:
        bytes_per_poll: Read at most so much in one poll; the rest waits for the next. Small, so
            that it can be seen after each poll whether the pod has used its share of time.
        lines_per_poll: The same in lines.
        line_bytes: Kept of an unfinished line: its end, the beginning is dropped and counted.
        from_start_bytes: Of a file that is larger when it is first seen, only its head and so
            much of its end are read. Not for binary files, which cannot be entered in the middle.
        behind_bytes: Of a file of which more than that is unread, and has come since it was first
            seen, only the last ``from_start_bytes`` are read. Not for binary files.
        head_bytes: Head of such a file: the header of a table, the first values of a run.
        idle_close_seconds: A descriptor from which nothing came for so long is closed.
        reopen_seconds: An open file is opened anew so often: NFS shows what other clients have
            written when a file is opened.
    """

    bytes_per_poll: int = 128 * KIB
    lines_per_poll: int = 1000
    line_bytes: int = 64 * KIB
    from_start_bytes: int = 4 * MIB
    behind_bytes: int = 16 * MIB
    head_bytes: int = 4 * KIB
    idle_close_seconds: float = 60.0
    reopen_seconds: float = 60.0


class Chunk(Struct, frozen=True, kw_only=True):
    """What one poll read; all of it from one file.

    Attributes:
        lines: Complete lines in the order written, without line ends and control codes; empty
            lines are left out.
        times: When the container runtime saw each line, seconds since the epoch, as long as
            ``lines``; empty where the source has no times (plain files).
        data: Of a binary file, in place of lines.
        truncated: The file was cut or written anew: this chunk begins at its beginning. Bytes
            that the caller keeps of a record that was not complete are void.
        rotated: This chunk is the first of another file that has taken the place. Void: as above.
        backlog: The file held this before the follower first saw it: it is of some time ago.
        more: A limit ended this poll; more lies there.
        dropped_bytes: Read but not given, or skipped, in this poll: beginnings of lines that were
            too long, unfinished last lines of files that went, the middle of a huge file.
        dropped_lines: Lines of which a part is in ``dropped_bytes``.
        behind_bytes: The part of ``dropped_bytes`` that was skipped because the file grows faster
            than it is read.
        problem: Why the file cannot be read, in words; empty if it can or is not there yet.
    """

    lines: tuple[str, ...] = ()
    times: tuple[float | None, ...] = ()
    data: bytes = b""
    truncated: bool = False
    rotated: bool = False
    backlog: bool = False
    more: bool = False
    dropped_bytes: int = 0
    dropped_lines: int = 0
    behind_bytes: int = 0
    problem: str = ""


class OpenFiles:
    """Who has a file open; whoever used his longest ago is asked to close it.

    Args:
        most: Open at one time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._closers: OrderedDict[int, Callable[[], None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._closers)

    def use(self, owner: object, close: Callable[[], None]) -> None:
        """``owner`` uses its file now; ``close`` closes it if others need the room."""
        self._closers[id(owner)] = close
        self._closers.move_to_end(id(owner))
        while len(self._closers) > self._most:
            _, close_oldest = self._closers.popitem(last=False)
            close_oldest()

    def release(self, owner: object) -> None:
        """``owner`` has closed its file."""
        self._closers.pop(id(owner), None)
