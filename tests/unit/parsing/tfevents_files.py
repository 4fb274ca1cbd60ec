"""Encoding event files by the book, to have ones that no writer at hand writes."""

import struct

from shared.parsing import tfevents


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: bytes | float) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def simple(tag: str, value: float) -> bytes:
    return field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value)


def tensor(tag: str, body: bytes) -> bytes:
    return field(1, tag.encode()) + field(8, body)


def event(step: int, *values: bytes, wall_time: float = 1700000000.0) -> bytes:
    summary = b"".join(field(1, value) for value in values)
    return field(1, wall_time) + field(2, step) + field(5, summary)


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    crcs = [struct.pack("<I", tfevents.masked_crc32c(part)) for part in (length, data)]
    return length + crcs[0] + data + crcs[1]


VERSION = record(field(1, 1700000000.0) + field(3, b"brain.Event:2"))
