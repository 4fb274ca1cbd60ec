"""Texts of the kernel: ``key value`` lines and pressure (pure).

Source:
    Documentation/admin-guide/cgroup-v2.rst ("Flat keyed") and Documentation/accounting/psi.rst of
    Linux.
"""

from typing import Final

_SOME_AVG10: Final = b"some avg10="


def number(data: bytes | None) -> int | None:
    """Return the one number of a file; None if it is not there or not a number (``max``)."""
    return int(data) if data is not None and data.strip().isdigit() else None


def value(data: bytes | None, key: bytes) -> int | None:
    """Return the number of a key; None if the file or the key is missing.

    It looks for the one line: ``memory.stat`` has sixty, and all but one do not matter here.
    """
    if data is None:
        return None
    text = b"\n" + data
    _, found, rest = text.partition(b"\n" + key + b" ")
    return number(rest.partition(b"\n")[0]) if found else None


def pressure_ratio(data: bytes | None) -> float | None:
    """Return ``some avg10`` as 0 to 1; None without it."""
    if data is None or not data.startswith(_SOME_AVG10):
        return None
    try:
        percent = float(data[len(_SOME_AVG10) :].split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return None
    return min(1.0, percent / 100) if percent >= 0 else None
