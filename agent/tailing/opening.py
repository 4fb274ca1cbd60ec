"""Opening files of other users: read-only, regular files only, without following links.

Each part of a path is opened relative to the directory before it, so that a link created meanwhile
is refused too, not only one that existed when the path was checked.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

_DIRECTORY: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WALK: Final = os.O_PATH | _DIRECTORY
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_NAMES: Final = 4096
"""Names of a directory that are read to find a renamed file."""
_LINK: Final = "is a link: links are not followed"
_IRREGULAR: Final = "is not a regular file"
_WORDS: Final = {
    errno.ELOOP: _LINK,
    errno.ENOTDIR: "has a part that is a link or not a directory",
    errno.EACCES: "may not be read by the agent (permission denied)",
    errno.EPERM: "may not be read by the agent (permission denied)",
    errno.ENOENT: "does not exist",
    errno.ENXIO: _IRREGULAR,
    errno.EISDIR: _IRREGULAR,
}


def open_file(root: Path, path: Path) -> int:
    """Return a descriptor of the regular file ``path`` below ``root``.

    Only ``root`` is trusted: it may be or have links, nothing below it may.

    Raises:
        OSError: It cannot or must not be opened; ``problem`` describes why.
    """
    with directory(root, path.parent) as parent:
        _refuse_irregular(os.stat(path.name, dir_fd=parent, follow_symlinks=False), path)
        descriptor = os.open(path.name, _FILE, dir_fd=parent)
    try:
        _refuse_irregular(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_by_inode(root: Path, folder: Path, inode: int) -> int | None:
    """Return a descriptor of the regular file in ``folder`` with an inode; None if there is none.

    Raises:
        OSError: As ``open_file``.
    """
    with directory(root, folder, listing=True) as parent, os.scandir(parent) as entries:
        for entry in islice(entries, _MOST_NAMES):
            if entry.inode() == inode and entry.is_file(follow_symlinks=False):
                return open_file(root, folder / entry.name)
    return None


@contextmanager
def directory(root: Path, path: Path, *, listing: bool = False) -> Iterator[int]:
    """Open the directory ``path``, which is ``root`` or below it, and yield its descriptor.

    Args:
        root: The trusted directory.
        path: Below it, without ``..``.
        listing: Open it for listing, which needs the right to read.

    Raises:
        OSError: It cannot or must not be opened.
    """
    parts = path.relative_to(root).parts
    if ".." in parts:
        raise OSError(errno.EACCES, "leads out of the volume", str(path))
    descriptor = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            inner = os.open(part, _WALK, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        if listing:
            readable = os.open(".", os.O_RDONLY | _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = readable
        yield descriptor
    finally:
        os.close(descriptor)


def problem(error: OSError, path: Path) -> str:
    """Describe why ``path`` cannot be read."""
    return f"{path} {_WORDS.get(error.errno or 0, f'cannot be read: {error.strerror}')}"


def _refuse_irregular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, _LINK, str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.ENXIO, _IRREGULAR, str(path))
