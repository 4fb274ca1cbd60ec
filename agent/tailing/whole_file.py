"""Small files that are written anew as a whole: read again when they have changed."""

import os
import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from agent.tailing.chunk import MIB
from agent.tailing.opening import open_file, problem
from agent.tailing.volume import resolve

MOST_BYTES: Final = 32 * MIB
_NUMBER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


class Document(Struct, frozen=True, kw_only=True):
    """What one poll found.

    Attributes:
        data: The whole file; None if it is as it was, or there is none.
        path: The file; None if there is none.
        problem: Why it cannot be read, in words.
    """

    data: bytes | None = None
    path: Path | None = None
    problem: str = ""


class NewestDocument:
    """The newest of the files that a pattern names, such as ``checkpoint-*/trainer_state.json``.

    Newest is the one whose directory has the highest number (``checkpoint-1000`` is newer than
    ``checkpoint-900``); among equals the one written last.

    Args:
        root: The volume.
        relative: Path or pattern below it; see ``resolve``.
        most_bytes: A larger file is not read.
    """

    def __init__(self, root: Path, relative: str, *, most_bytes: int = MOST_BYTES) -> None:
        self._root = root
        self._relative = relative
        self._most = most_bytes
        self._seen: tuple[Path, int, int, int, int] | None = None

    def poll(self) -> Document:
        """Return the document if it is another one or has changed since the last poll.

        Raises:
            InputError: See ``resolve``.
        """
        newest = max(resolve(self._root, self._relative), key=_age, default=None)
        if newest is None:
            return Document()
        try:
            return self._read(newest)
        except FileNotFoundError:  # rotated away by the trainer while we looked
            return Document()
        except OSError as error:
            return Document(path=newest, problem=problem(error, newest))

    def _read(self, path: Path) -> Document:
        descriptor = open_file(self._root, path)
        try:
            status = os.fstat(descriptor)
            seen = (path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            if seen == self._seen:
                return Document(path=path)
            if status.st_size > self._most:
                return Document(path=path, problem=f"{path} is larger than {self._most} bytes")
            data = os.pread(descriptor, status.st_size, 0)
        finally:
            os.close(descriptor)
        self._seen = seen
        return Document(path=path, data=data)


def _age(path: Path) -> tuple[int, float]:
    numbers = _NUMBER.findall(path.parent.name)
    try:
        written_at = path.stat(follow_symlinks=False).st_mtime
    except OSError:
        written_at = 0.0
    return (int(numbers[-1]) if numbers else -1, written_at)
