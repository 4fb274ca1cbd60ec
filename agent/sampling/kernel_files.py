"""Small files of the kernel: kept open between samples (three times faster), and parsed.

Source:
    Documentation/admin-guide/cgroup-v2.rst ("Flat keyed") and Documentation/accounting/psi.rst of
    Linux.
"""

import contextlib
import errno
import os
import resource
from typing import Final

_SOME_AVG10: Final = b"some avg10="
DEFAULT_MOST: Final = 1024
"""Files kept open: four of each of 250 pods. Further ones are opened for each reading."""
_MOST_BYTES: Final = 16 * 1024
_GONE: Final = frozenset({errno.ENODEV, errno.ESTALE})


def number(data: bytes | None) -> int | None:
    """Return the only number of a file; None if it is missing or not a number (``max``)."""
    return int(data) if data is not None and data.strip().isdigit() else None


def value(data: bytes | None, key: bytes) -> int | None:
    """Return the number of a key; None if the file or the key is missing.

    It searches for the one line, because ``memory.stat`` has sixty.
    """
    if data is None:
        return None
    text = b"\n" + data
    _, separator, rest = text.partition(b"\n" + key + b" ")
    return number(rest.partition(b"\n")[0]) if separator else None


def pressure_ratio(data: bytes | None) -> float | None:
    """Return ``some avg10`` of a pressure file, 0 to 1; None if it is missing."""
    if data is None or not data.startswith(_SOME_AVG10):
        return None
    try:
        percent = float(data[len(_SOME_AVG10) :].split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return None
    return min(1.0, percent / 100) if percent >= 0 else None


def affordable(most: int = DEFAULT_MOST) -> int:
    """Return ``most``, limited to a quarter of the files that this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else min(most, soft // 4)


class OpenFiles:
    """Reads small files from their beginning, every time, and keeps them open.

    Args:
        most: Files that stay open.

    Attributes:
        kept: Files that are open now.
    """

    def __init__(self, most: int = DEFAULT_MOST) -> None:
        self._most = most
        self._by_directory: dict[str, dict[str, int]] = {}
        self.kept = 0

    def read(self, directory: str, name: str) -> bytes | None:
        """Return the content; None if it cannot be read.

        A file whose directory was recreated is opened again.
        """
        descriptor = self._by_directory.get(directory, {}).get(name)
        if descriptor is not None:
            try:
                return os.pread(descriptor, _MOST_BYTES, 0)
            except OSError as error:
                self.drop(directory)
                if error.errno not in _GONE:
                    return None
        return self._open_and_read(directory, name)

    def _open_and_read(self, directory: str, name: str) -> bytes | None:
        try:
            descriptor = os.open(f"{directory}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            content = os.pread(descriptor, _MOST_BYTES, 0)
        except OSError:  # e.g. EOPNOTSUPP: pressure is disabled
            os.close(descriptor)
            return None
        self._keep(directory, name, descriptor)
        return content

    def _keep(self, directory: str, name: str, descriptor: int) -> None:
        if self.kept >= self._most:
            os.close(descriptor)
            return
        self._by_directory.setdefault(directory, {})[name] = descriptor
        self.kept += 1

    def drop(self, directory: str) -> None:
        """Close the open files of a directory."""
        for descriptor in self._by_directory.pop(directory, {}).values():
            self.kept -= 1
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def close(self) -> None:
        """Close all."""
        for directory in list(self._by_directory):
            self.drop(directory)
