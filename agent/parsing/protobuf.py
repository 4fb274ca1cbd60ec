"""Walking over encoded protocol buffers without their schemas.

Source:
    protobuf.dev, "Encoding".
"""

from collections.abc import Iterator
from typing import Final

Field = tuple[int, int | bytes]
"""Number, and value: an int of a varint, the bytes of everything else."""

_VARINT: Final = 0
_FIXED64: Final = 1
_LENGTH: Final = 2
_FIXED32: Final = 5
_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT: Final = 10


def fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of one message in order.

    Raises:
        ValueError: It is not a message.
    """
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if wire == _LENGTH:
            size, at = varint(data, at)
        elif wire in _SIZES:
            size = _SIZES[wire]
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > len(data):
            raise ValueError("a field goes beyond the end")
        yield key >> 3, data[at : at + size]
        at += size


def picked(data: bytes, *numbers: int) -> dict[int, int | bytes]:
    """Return the last value of each field that is wanted: a message may have any number of others.

    Raises:
        ValueError: It is not a message.
    """
    return {number: value for number, value in fields(data) if number in numbers}


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at ``at``, of at most 64 bits, and where the next field is.

    Raises:
        ValueError: It has no end.
    """
    if at < len(data) and data[at] < 128:  # noqa: PLR2004 - because a byte without its top bit is the whole number
        return data[at], at + 1
    value = 0
    for index in range(_LONGEST_VARINT):
        if at + index >= len(data):
            break
        byte = data[at + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:  # noqa: PLR2004 - because the top bit says that more follows
            return value & (2**64 - 1), at + index + 1
    raise ValueError("a number without an end")


def signed(value: int) -> int:
    """Return a varint as the int64 that it stands for."""
    return value - 2**64 if value >= 2**63 else value
