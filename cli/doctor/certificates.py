"""Check of the certificates: valid for long enough, and from the CA that the agents trust.

Source:
    RFC 5280, 4.1: Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version, serialNumber,
    signature, issuer, validity SEQUENCE { notBefore, notAfter } … } … }; times are UTCTime (tag 23)
    or GeneralizedTime (tag 24), in UTC. Only the validity is read.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.reading import Object
from cli.doctor.site import AGENTS_NAMESPACE, SECRETS, Site, mounted
from cli.views.amounts import duration
from shared.kube import paths

CERTIFICATES: Final = "certificates"
_SECRET: Final = ("secret", "secretName")
"""Kind of a volume, and its field with the name."""
SOON: Final = 0.2
"""Part of its lifetime that is left when a certificate must have been renewed; it is at a third."""
_PAGE: Final = "docs/tls.md"
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
    """Times in seconds since the epoch."""

    not_before: float
    not_after: float


def check_certificates(site: Site) -> Iterator[Finding]:
    """Read what the agents trust, then what the listeners show, which fewer users may read."""
    settings, now = site.settings, site.reader.clock.now()
    if site.deployment is not None and not settings.of("agents", "certificate", ""):
        message = "the setting agents.certificate is empty: the agents' listener is closed"
        yield fault(CERTIFICATES, message, f"set it: {_PAGE}")
    source, trusted = _trusted(site)
    yield of_authority(source, trusted, now)
    default = str(settings.of("certificates", "secret", "shuntyard-certificates"))
    name = next(mounted(site.deployment or {}, *_SECRET), default)
    secret = site.reader.get(paths.namespaced(SECRETS, site.namespace, name))
    yield from of_secret(f"Secret {site.namespace}/{name}", secret, trusted, now)


def _trusted(site: Site) -> tuple[str, bytes]:
    """Return the source of the agents' trusted CA certificates, and its content.

    It is a Secret of their namespace if they mount one, else the ConfigMap.
    """
    for name in mounted(site.daemon_set or {}, *_SECRET):
        secret = site.reader.get(paths.namespaced(SECRETS, AGENTS_NAMESPACE, name))
        return f"Secret {AGENTS_NAMESPACE}/{name}", _text(secret or {}, "ca.crt")
    name = str(site.settings.of("certificates", "authority_config_map", "shuntyard-ca"))
    config_map = site.reader.get(paths.namespaced(paths.CONFIG_MAPS, AGENTS_NAMESPACE, name))
    text = str(((config_map or {}).get("data") or {}).get("ca.crt", ""))
    return f"ConfigMap {AGENTS_NAMESPACE}/{name}", text.encode()


def of_authority(name: str, pem: bytes, now: float) -> Finding:
    """Judge what the agents trust."""
    if not pem.strip():
        message = f"the {name} has no ca.crt: agents cannot verify the extender and do not report"
        fix = f"turn certificates.managed on, or put your CA certificate there: {_PAGE}"
        return fault(CERTIFICATES, message, fix)
    return _of_chain(f"ca.crt of the {name}", pem, now)


def of_secret(name: str, secret: Object | None, trusted: bytes, now: float) -> Iterator[Finding]:
    """Judge what the listeners show, against the CA certificates that the agents trust."""
    if secret is None:
        fix = f"normal if the certificates are mounted from elsewhere: {_PAGE}"
        yield warning(CERTIFICATES, f"there is no {name}", fix)
        return
    leaf, authority = _text(secret, "tls.crt"), _text(secret, "ca.crt")
    if not leaf.strip():
        fix = f"the extender fills it if certificates.managed is on: {_PAGE}"
        yield fault(CERTIFICATES, f"the {name} is empty", fix)
        return
    yield _of_chain(f"tls.crt of the {name}", leaf, now)
    if authority.strip() and authority.strip() not in trusted and trusted.strip():
        message = f"the agents do not trust the CA of the {name}"
        fix = f"if the extender made it, it updates the agents within a minute; else see {_PAGE}"
        yield fault(CERTIFICATES, message, fix)


def _of_chain(what: str, pem: bytes, now: float) -> Finding:
    try:
        validities = read_validities(pem)
    except ValueError as error:
        return fault(CERTIFICATES, f"the {what} cannot be read: {error}", f"renew it: {_PAGE}")
    if not validities:
        return fault(CERTIFICATES, f"the {what} holds no certificate", f"renew it: {_PAGE}")
    valid = max(validities, key=lambda each: each.not_after)  # two while the CA changes
    if now > valid.not_after:
        message = f"the {what} expired {duration(now - valid.not_after)} ago"
        return fault(CERTIFICATES, message, f"see {_PAGE}")
    if now < valid.not_before:
        message = f"the {what} is not valid for another {duration(valid.not_before - now)}"
        return fault(CERTIFICATES, f"{message}: a clock is wrong", "look at `clock`")
    left = valid.not_after - now
    message = f"the {what} is valid for {duration(left)}"
    if left < SOON * (valid.not_after - valid.not_before):
        return warning(CERTIFICATES, f"{message} only: it was not renewed", f"see {_PAGE}")
    return ok(CERTIFICATES, message)


def read_validities(pem: bytes) -> list[Validity]:
    """Return the validity of each certificate of a PEM file, in order.

    Raises:
        ValueError: One of them is not a certificate.
    """
    validities = []
    for block in _BLOCK.findall(pem):
        try:
            validities.append(_validity(base64.b64decode(block)))
        except (binascii.Error, IndexError, KeyError) as error:
            raise ValueError(f"not a certificate: {error!r}") from error
    return validities


def _validity(der: bytes) -> Validity:
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
        raise ValueError("not a certificate: it is truncated")
    return tag, data[start : start + length], data[start + length :]


def _time(tag: int, text: bytes) -> float:
    return datetime.strptime(text.decode(), _FORMATS[tag]).replace(tzinfo=UTC).timestamp()


def _text(secret: Object, key: str) -> bytes:
    try:
        return base64.b64decode((secret.get("data") or {}).get(key, ""))
    except binascii.Error:
        return b""
