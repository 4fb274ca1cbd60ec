"""The contract's directory below a checkpoint directory, reached without following a single link.

Paths come from users, and the agent reads with more rights than they have. The directory is opened
by its name each time it is looked at: only then does NFS show what other clients have written.
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
"""Of one file of the contract; they have some hundred."""

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o664
"""The trainer, of another user, must be able to read what the agent writes."""


@contextmanager
def opened(checkpoints: int) -> Iterator[int]:
    """Hold a descriptor of the contract's directory in the checkpoint directory of a descriptor.

    Raises:
        OSError: It is not there, no directory, a link, or not to be opened.
    """
    descriptor = os.open(NAME, _DIRECTORY, dir_fd=checkpoints)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read(directory: int, name: str) -> bytes | None:
    """Return the content of a file; None if there is none.

    Raises:
        InputError: It is not a plain file, or larger than ``MOST_BYTES``.
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
            raise InputError(name, "what lies there", "a plain file")
        content = os.read(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MOST_BYTES:
        raise InputError(name, "a longer file", f"at most {MOST_BYTES} bytes")
    return content


def write(directory: int, name: str, content: bytes, *, temporary: str, group: int | None) -> None:
    """Put a file there in one step: nobody ever sees half of it.

    Args:
        directory: Descriptor.
        name: Of the file; what lies there, a link too, is replaced.
        content: All of it.
        temporary: Name it has until it is complete; nobody else may use it.
        group: Group that the file shall belong to; None: as the system decides.

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
