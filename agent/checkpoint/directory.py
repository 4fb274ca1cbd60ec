"""The contract's directory below a checkpoint directory, opened without following links.

Paths come from users, and the agent reads with more rights than they have. The directory is opened
by its name each time: only then does NFS show what other clients have written.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from shared.errors import InputError

NAME: Final = ".shuntyard"
MOST_BYTES: Final = 64 * 1024
"""Size of one file of the contract; they have a few hundred bytes."""

FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o664
"""The trainer runs as another user and must be able to read the file."""


@contextmanager
def opened(checkpoints: int) -> Iterator[int]:
    """Open the contract's directory in the checkpoint directory, and yield its descriptor.

    Raises:
        OSError: It does not exist, is not a directory or is a link, or cannot be opened.
    """
    descriptor = os.open(NAME, FLAGS, dir_fd=checkpoints)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read(directory: int, name: str) -> bytes | None:
    """Return the content of a file; None if it does not exist.

    Raises:
        InputError: It is not a regular file, or larger than ``MOST_BYTES``.
        OSError: It cannot be read.
    """
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(name, "a link", "a plain file") from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(name, "a special file or directory", "a plain file")
        content = os.read(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MOST_BYTES:
        raise InputError(name, "a longer file", f"at most {MOST_BYTES} bytes")
    return content


def write(directory: int, name: str, content: bytes, *, temporary: str, group: int | None) -> None:
    """Write a file atomically.

    Args:
        directory: Descriptor.
        name: Name of the file; an existing file or link is replaced.
        content: The content.
        temporary: Name until the file is complete; no other process may use it.
        group: Group of the file; None: the system's default.

    Raises:
        OSError: It cannot be written.
    """
    _remove(directory, temporary)
    descriptor = os.open(temporary, _CREATE, _MODE, dir_fd=directory)
    try:
        os.fchmod(descriptor, _MODE)
        if group is not None and os.fstat(descriptor).st_gid != group:
            os.fchown(descriptor, -1, group)
        _write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    os.fsync(directory)


def _remove(directory: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
