"""From when until when a certificate is good, read from its DER; nothing else of it is read.

Source:
    RFC 5280, 4.1: Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version, serialNumber,
    signature, issuer, validity SEQUENCE { notBefore, notAfter } … } … }; times are UTCTime (tag 23)
    or GeneralizedTime (tag 24), in UTC.
"""

import base64
import binascii
import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

_BLOCK: Final = re.compile(
    rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----"
)
_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
_BEFORE_VALIDITY: Final = 3
"""serialNumber, signature, issuer."""
_FORMATS: Final = {23: "%y%m%d%H%M%SZ", 24: "%Y%m%d%H%M%SZ"}
_LONG: Final = 0x80


class Validity(NamedTuple):
    """Seconds since the epoch."""

    not_before: float
    not_after: float


def of_all(pem: bytes) -> list[Validity]:
    """Return the validity of each certificate of a PEM file, in order.

    Raises:
        ValueError: One of them is no certificate.
    """
    found = []
    for block in _BLOCK.findall(pem):
        try:
            found.append(_of(base64.b64decode(block)))
        except (binascii.Error, IndexError, KeyError) as error:
            raise ValueError(f"not a certificate: {error!r}") from error
    return found


def _of(der: bytes) -> Validity:
    _, certificate, _ = _next(der, _SEQUENCE)
    _, rest, _ = _next(certificate, _SEQUENCE)
    if rest[0] == _VERSION:
        _, _, rest = _next(rest)
    for _ in range(_BEFORE_VALIDITY):
        _, _, rest = _next(rest)
    _, times, _ = _next(rest, _SEQUENCE)
    first, start, times = _next(times)
    second, end, _ = _next(times)
    return Validity(_time(first, start), _time(second, end))


def _next(data: bytes, expected: int | None = None) -> tuple[int, bytes, bytes]:
    """Return tag and content of the first value, and what follows it."""
    tag, length, start = data[0], data[1], 2
    if expected is not None and tag != expected:
        raise ValueError(f"not a certificate: tag {tag}, expected {expected}")
    if length & _LONG:
        count = length & ~_LONG
        length, start = int.from_bytes(data[2 : 2 + count]), 2 + count
    if start + length > len(data):
        raise ValueError("not a certificate: it is cut")
    return tag, data[start : start + length], data[start + length :]


def _time(tag: int, text: bytes) -> float:
    return datetime.strptime(text.decode(), _FORMATS[tag]).replace(tzinfo=UTC).timestamp()
