"""TensorBoard's event files, read without TensorFlow or TensorBoard.

A file is a sequence of records (length, its checksum, data, its checksum); the data is an ``Event``
with a ``Summary`` of tagged values. The checksum is CRC-32C, masked. Scalars come in two forms:
``simple_value`` (PyTorch) and a tensor of one element (TensorFlow, Keras). Everything else (images,
histograms, texts) is skipped.

Source:
    TensorFlow, ``tsl/lib/io/record_writer.cc`` and ``.h``, ``tsl/lib/hash/crc32c.h``,
    ``event.proto``, ``summary.proto``, ``tensor.proto``; protobuf.dev, "Encoding".
"""

import struct
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Final

from shared.parsing.base import LONGEST_NAME, Point

_POLYNOMIAL: Final = 0x82F63B78
_ALL_BITS: Final = 0xFFFFFFFF
_MASK_DELTA: Final = 0xA282EAD8
Field = tuple[int, int | bytes]
"""Field number and value: an int of a varint, else bytes."""
_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_FIXED_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT: Final = 10
MOST_RECORD_BYTES: Final = 128 * 1024
"""Larger records are images and graphs: they are skipped unread. A scalar has 50 bytes."""
_LENGTH: Final = struct.Struct("<QI")
_CRC: Final = struct.Struct("<I")
_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
_EVENT_TIME, _EVENT_STEP, _EVENT_SUMMARY = 1, 2, 5
_VALUE = 1
_TAG, _SIMPLE, _TENSOR = 1, 2, 8
_DTYPE, _SHAPE, _CONTENT, _FLOATS, _DOUBLES = 1, 2, 4, 5, 6
_TENSOR_FIELDS: Final = (_DTYPE, _SHAPE, _CONTENT, _FLOATS, _DOUBLES)
_SIZE = 1
_OF_TYPE: Final = {1: (_FLOATS, _FLOAT), 2: (_DOUBLES, _DOUBLE)}
_VALIDATION: Final = frozenset(("validation", "val", "valid", "eval", "test"))


def _crc_entry(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_CRC_TABLE: Final = tuple(_crc_entry(byte) for byte in range(256))


def masked_crc32c(data: bytes) -> int:
    """Return the masked CRC-32C of ``data``."""
    crc = _ALL_BITS
    table = _CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= _ALL_BITS
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL_BITS


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
        if wire == _BYTES:
            size, at = varint(data, at)
        elif wire in _FIXED_SIZES:
            size = _FIXED_SIZES[wire]
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > len(data):
            raise ValueError("a field goes beyond the end")
        yield key >> 3, data[at : at + size]
        at += size


def picked(data: bytes, *numbers: int) -> dict[int, int | bytes]:
    """Return the last value of each field of ``numbers``; all other fields are ignored.

    Raises:
        ValueError: It is not a message.
    """
    return {number: value for number, value in fields(data) if number in numbers}


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at ``at``, of at most 64 bits, and where it ends.

    Raises:
        ValueError: It does not end.
    """
    if at < len(data) and data[at] < 128:  # noqa: PLR2004 - because a byte without its top bit is a whole number
        return data[at], at + 1
    value = 0
    for index in range(_LONGEST_VARINT):
        if at + index >= len(data):
            break
        byte = data[at + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:  # noqa: PLR2004 - because the top bit means that more bytes follow
            return value & (2**64 - 1), at + index + 1
    raise ValueError("a number without an end")


def signed(value: int) -> int:
    """Return the int64 that a varint encodes."""
    return value - 2**64 if value >= 2**63 else value


class TfEvents:
    """Scalars under their tags.

    Args:
        directory: Name of the file's directory. Keras writes the same tags into ``train`` and
            ``validation``: tags of the latter (and of ``val``, ``eval``, ``test``) get the prefix
            ``val_``.
    """

    format = "tfevents"

    def __init__(self, *, directory: str = "") -> None:
        self._prefix = "val_" if directory in _VALIDATION else ""
        self._skipping = 0
        self.problem = ""

    def feed_bytes(self, data: bytes, *, skip: bool = False) -> tuple[Sequence[Point], int]:
        """See ``RecordParser``. A record with a wrong checksum is skipped."""
        if self.problem:
            return (), len(data)
        points: list[Point] = []
        at = min(self._skipping, len(data))
        self._skipping -= at
        while at + _LENGTH.size <= len(data):
            size, checksum = _LENGTH.unpack_from(data, at)
            if masked_crc32c(data[at : at + 8]) != checksum:
                self.problem = "this is not a tfevents file, or it is damaged: a length is wrong"
                return points, len(data)
            body, end = at + _LENGTH.size, at + _LENGTH.size + size
            following = end + _CRC.size
            if size > MOST_RECORD_BYTES:
                self._skipping = max(0, following - len(data))
            elif following <= len(data) and skip:
                pass
            elif following <= len(data):
                points += self._record(data[body:end], _CRC.unpack_from(data, end)[0])
            else:
                break
            at = min(following, len(data))
        return points, at

    def reset(self) -> None:
        """See ``RecordParser``."""
        self._skipping, self.problem = 0, ""

    def _record(self, data: bytes, checksum: int) -> list[Point]:
        if masked_crc32c(data) != checksum:
            return []
        try:
            return self._event(data)
        except (ValueError, struct.error):
            return []

    def _event(self, data: bytes) -> list[Point]:
        at_seconds: float | None = None
        step = 0
        scalars: list[tuple[str, float]] = []
        for number, value in fields(data):
            if number == _EVENT_TIME and isinstance(value, bytes):
                at_seconds = _DOUBLE.unpack(value)[0]
            elif number == _EVENT_STEP and isinstance(value, int):
                step = signed(value)
            elif number == _EVENT_SUMMARY and isinstance(value, bytes):
                scalars = [s for n, v in fields(value) if n == _VALUE for s in _scalar(v)]
        if at_seconds is not None and not isfinite(at_seconds):
            at_seconds = None
        return [
            Point(self._prefix + tag, value, step, at_seconds=at_seconds) for tag, value in scalars
        ]


def _scalar(data: int | bytes) -> list[tuple[str, float]]:
    """Return tag and value of a summary's value; empty if it is not a scalar."""
    if isinstance(data, int):
        return []
    fields_of_value = picked(data, _TAG, _SIMPLE, _TENSOR)
    tag, simple, tensor = (
        fields_of_value.get(_TAG),
        fields_of_value.get(_SIMPLE),
        fields_of_value.get(_TENSOR),
    )
    if not isinstance(tag, bytes) or not 0 < len(tag) <= LONGEST_NAME:
        return []
    name = tag.decode("utf-8", "replace")
    if isinstance(simple, bytes):
        return [(name, _FLOAT.unpack(simple)[0])]
    value = _element(tensor) if isinstance(tensor, bytes) else None
    return [] if value is None else [(name, value)]


def _element(data: bytes) -> float | None:
    """Return the only element of a tensor of floats; None if it has more or is of another type."""
    fields_of_tensor = picked(data, *_TENSOR_FIELDS)
    kind, shape = fields_of_tensor.get(_DTYPE), fields_of_tensor.get(_SHAPE, b"")
    if not isinstance(kind, int) or kind not in _OF_TYPE or not isinstance(shape, bytes):
        return None
    sizes = [picked(d, _SIZE).get(_SIZE) for _, d in fields(shape) if isinstance(d, bytes)]
    if any(size != 1 for size in sizes):
        return None
    field, packed = _OF_TYPE[kind]
    for number in (field, _CONTENT):
        value = fields_of_tensor.get(number)
        if isinstance(value, bytes) and len(value) == packed.size:
            return float(packed.unpack(value)[0])
    return None
