"""Files that survive the loss of power: checkpoints, and small JSON files replaced atomically."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

_NO_FSYNC = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EROFS})
"""Errors of mounts without fsync for directories or at all, such as object stores."""
_NO_LINK = frozenset({errno.EPERM, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK})
"""Errors of mounts without hard links."""
MOST_BYTES = 64 * 1024
LEFTOVERS = ".*.trainer-tmp"
"""Our temporary files; the agent's have another suffix."""


def make_durable(path: Path) -> None:
    """Flush a file, or a directory with all below it, and its name to the storage.

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
    """Flush one file or directory; does nothing on a mount without fsync."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fsync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def fsync_descriptor(descriptor: int) -> None:
    """Flush an open file; does nothing on a mount without fsync."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise


def _tree(path: Path) -> Iterator[Path]:
    """Yield files before their directory: a name is not stored before its content."""
    if path.is_dir():
        for folder, _, names in os.walk(path, topdown=False):
            yield from (Path(folder, name) for name in names if _is_plain(Path(folder, name)))
            yield Path(folder)
    else:
        yield path


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def write_record(
    path: Path, record: Mapping[str, Any], *, life: str = "", permit: Callable[[], object] = bool
) -> None:
    """Replace a JSON file atomically: temporary file in the same directory, fsync, rename, fsync.

    Args:
        path: The file.
        record: Its content.
        life: Part of the temporary name that no other writer of the directory has.
        permit: Called between the temporary file and the rename; an ``OSError`` ends the write.

    Raises:
        OSError: It could not be written; the file is unchanged.
    """
    temporary = _written(path, record, life)
    try:
        permit()
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    temporary.replace(path)
    fsync(path.parent)


def create_record(path: Path, record: Mapping[str, Any]) -> bool:
    """Create a JSON file whole; return False if it exists, or a later start removed our part of it.

    Raises:
        OSError: It could not be written.
    """
    temporary = _written(path, record, os.urandom(8).hex())
    try:
        os.link(temporary, path)
    except (FileExistsError, FileNotFoundError):
        return False
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        return _created(path, temporary.read_bytes())
    finally:
        temporary.unlink(missing_ok=True)
    fsync(path.parent)
    return True


def _created(path: Path, data: bytes) -> bool:
    """Create a file on a mount without hard links: another one may see it before it is whole."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o664)
    except FileExistsError:
        return False
    _fill(descriptor, data)
    return True


def _written(path: Path, record: Mapping[str, Any], life: str) -> Path:
    """Return a temporary file beside ``path`` with its content."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{life}.trainer-tmp")
    data = (json.dumps(record) + "\n").encode()
    _fill(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o664), data)
    return temporary


def _fill(descriptor: int, data: bytes) -> None:
    try:
        _write_all(descriptor, data)
        fsync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def parse_record(data: bytes) -> Mapping[str, Any]:
    """Parse the JSON object of a file.

    Raises:
        ValueError: It is not a JSON object, nested too deep, or larger than 64 KiB.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes")
    try:
        record = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - an error of the text
    return record


def read_object(path: Path) -> Mapping[str, Any]:
    """Read the JSON object of a file.

    Raises:
        FileNotFoundError: The file does not exist.
        OSError: It cannot be read.
        ValueError: It cannot be parsed.
    """
    with path.open("rb") as file:
        return parse_record(file.read(MOST_BYTES + 1))


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
