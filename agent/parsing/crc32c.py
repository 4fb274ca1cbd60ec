"""The checksum of TFRecord files: CRC-32C, masked.

Source:
    TensorFlow, ``tsl/lib/io/record_writer.h``, ``tsl/lib/hash/crc32c.h``.
"""

from typing import Final

_POLYNOMIAL: Final = 0x82F63B78
_ALL: Final = 0xFFFFFFFF
_MASK_DELTA: Final = 0xA282EAD8


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE: Final = tuple(_entry(byte) for byte in range(256))


def masked(data: bytes) -> int:
    """Return the masked CRC-32C of ``data``."""
    crc = _ALL
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= _ALL
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL
