"""What was written survives the loss of power, and how large it is."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

_NO_FSYNC = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EROFS})
"""Some network and object-store mounts have no fsync for directories or at all."""


def make_durable(path: Path) -> None:
    """Write a file, or a directory with all below it, and its name through to the storage.

    Raises:
        OSError: Something cannot be opened, or the storage reports a write error.
    """
    for each in _tree(path):
        fsync(each)
    fsync(path.parent)


def size_bytes(path: Path) -> int:
    """Return the size of a file, or of all files below a directory, in bytes."""
    return sum(each.stat().st_size for each in _tree(path) if each.is_file())


def fsync(path: Path) -> None:
    """Write one file or directory through; a mount that cannot do it is left as it is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fsync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def fsync_descriptor(descriptor: int) -> None:
    """Write an open file through; a mount that cannot do it is left as it is."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise


def _tree(path: Path) -> Iterator[Path]:
    """The files first, then their directory: a name is not stored before what it names."""
    if path.is_dir():
        for folder, _, names in os.walk(path, topdown=False):
            yield from (Path(folder, name) for name in names if _is_plain(Path(folder, name)))
            yield Path(folder)
    else:
        yield path


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
