"""Files that are rewritten as a whole: read again when they have changed."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from agent.tailing.chunk import MIB
from agent.tailing.opening import open_file, problem
from agent.tailing.volume import resolve

MOST_BYTES: Final = 32 * MIB
_NUMBER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


Stamp = tuple[Path, int, int, int, int]
"""Path, device, inode, size and time: a file with the same stamp has the same content."""


class Document(Struct, frozen=True, kw_only=True):
    """An open file.

    Attributes:
        stamp: Identity and version of the file; None if there is none to read.
        problem: Why it cannot be read.
        descriptor: Descriptor of the file.
    """

    stamp: Stamp | None = None
    problem: str = ""
    descriptor: int = -1

    @property
    def path(self) -> Path | None:
        """The file; None if there is none to read."""
        return None if self.stamp is None else self.stamp[0]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return 0 if self.stamp is None else self.stamp[3]

    def read(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from an offset on; fewer if the file has become shorter."""
        return os.pread(self.descriptor, length, offset)


class NewestDocument:
    """Opens the newest file that matches a pattern, such as ``checkpoint-*/trainer_state.json``.

    The newest is the one whose directory has the highest number (``checkpoint-1000`` is newer than
    ``checkpoint-900``); among equals the one written last.

    Args:
        root: The volume.
        relative: Path or pattern below it; see ``resolve``.
        most_bytes: Larger files are not read.
    """

    def __init__(self, root: Path, relative: str, *, most_bytes: int = MOST_BYTES) -> None:
        self._root = root
        self._relative = relative
        self._most = most_bytes

    @contextmanager
    def opened(self) -> Iterator[Document]:
        """Open the document that is the newest now, and yield it.

        Raises:
            InputError: See ``resolve``.
        """
        newest = max(resolve(self._root, self._relative), key=_age, default=None)
        document = Document() if newest is None else self._open(newest)
        try:
            yield document
        finally:
            if document.descriptor >= 0:
                os.close(document.descriptor)

    def _open(self, path: Path) -> Document:
        try:
            descriptor = open_file(self._root, path)
        except FileNotFoundError:  # removed by the trainer meanwhile
            return Document()
        except OSError as error:
            return Document(problem=problem(error, path))
        status = os.fstat(descriptor)
        if status.st_size > self._most:
            os.close(descriptor)
            return Document(problem=f"{path} is larger than {self._most} bytes")
        stamp = (path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        return Document(stamp=stamp, descriptor=descriptor)


def _age(path: Path) -> tuple[int, float]:
    numbers = _NUMBER.findall(path.parent.name)
    try:
        written_at = path.stat(follow_symlinks=False).st_mtime
    except OSError:
        written_at = 0.0
    return (int(numbers[-1]) if numbers else -1, written_at)
