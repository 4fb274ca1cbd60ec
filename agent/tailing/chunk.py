"""What a follower returns, and what it may use: bytes, lines, open files."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import Ge, Le
from msgspec import Struct
from typing_extensions import Doc

KIB: Final = 1024
MIB: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much of one file a follower reads, keeps and skips.

    Attributes:
        behind_bytes: If more than this is unread, and was written after the file was first seen,
            only the last ``from_start_bytes`` are read. Not for binary files.
        head_bytes: Head of a large file: the header of a table, the first values of a run.
        idle_close_seconds: A descriptor without new data for so long is closed.
        reopen_seconds: An open file is reopened this often: NFS shows what other clients have
            written when a file is opened.
    """

    # small, because the pod's share of time is checked after each poll
    bytes_per_poll: Annotated[
        int,
        Ge(4 * KIB),
        Le(256 * MIB),
        Doc("Most bytes of one file that one poll reads; the next poll reads on."),
    ] = 128 * KIB
    lines_per_poll: Annotated[
        int, Ge(1), Le(10**6), Doc("Most lines of one file that one poll reads.")
    ] = 1000
    line_bytes: Annotated[
        int,
        Ge(256),
        Le(16 * MIB),
        Doc("Most bytes kept of an unfinished line: its end; the beginning is dropped."),
    ] = 64 * KIB
    from_start_bytes: Annotated[
        int,
        Ge(0),
        Le(2**34),
        Doc(
            "Of a file that is larger when it is first seen, only its head and so much of its end "
            "are read. Not for binary files, which are read from the start."
        ),
    ] = 4 * MIB
    behind_bytes: int = 16 * MIB
    head_bytes: int = 4 * KIB
    idle_close_seconds: float = 60.0
    reopen_seconds: float = 60.0


class Chunk(Struct, frozen=True, kw_only=True):
    """What one poll read, all from one file.

    Attributes:
        lines: Complete lines in the order written, without line ends and control codes; empty
            lines are left out.
        times: When the container runtime wrote each line, seconds since the epoch, one for each
            of ``lines``; empty where the source has no times (plain files).
        data: The bytes of a binary file, instead of lines.
        truncated: The file was truncated or rewritten: this chunk begins at its beginning. The
            caller must discard the bytes it kept of an incomplete record.
        rotated: This chunk is the first of another file at the same path. Discard: as above.
        backlog: The file had this content before the follower first saw it: it is older.
        more: A limit ended this poll; more is unread.
        dropped_bytes: Read but not returned, or skipped, in this poll: beginnings of long lines,
            unfinished last lines of removed files, the middle of a huge file.
        dropped_lines: Lines of which a part is in ``dropped_bytes``.
        behind_bytes: The part of ``dropped_bytes`` that was skipped because the file grows faster
            than it is read.
        problem: Why the file cannot be read; empty if it can, or does not exist yet.
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
    """Limits the open files of all followers: the least recently used one is closed.

    Args:
        most: Files that may be open at one time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._closers: OrderedDict[int, Callable[[], None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._closers)

    def use(self, owner: object, close: Callable[[], None]) -> None:
        """Note that ``owner`` uses its file now; ``close`` closes it when the limit is reached."""
        self._closers[id(owner)] = close
        self._closers.move_to_end(id(owner))
        while len(self._closers) > self._most:
            _, close_oldest = self._closers.popitem(last=False)
            close_oldest()

    def release(self, owner: object) -> None:
        """Note that ``owner`` has closed its file."""
        self._closers.pop(id(owner), None)
