"""The values of a Secret, understood: PEM in, what decides out. Nothing here believes anything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from extender.core import certificates as what
from extender.core.certificates import Authority, Broken, Found, Leaf

OURS: Final = "shuntyard-authority-"
"""What the common names of our authorities begin with."""

Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_UNREADABLE: Final = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion)


@dataclass(frozen=True)
class CertifiedKey:
    """A certificate and its key.

    Attributes:
        chain: The certificate itself, then those that lead from it to an authority; for an
            authority the one that signs, then those before it.
    """

    chain: tuple[x509.Certificate, ...]
    key: Key

    @property
    def certificate(self) -> x509.Certificate:
        """The certificate that the key is of."""
        return self.chain[0]


@dataclass(frozen=True)
class CertifiedKeys:
    """What could be read; a pair that could not is ``Broken``."""

    authority: CertifiedKey | Broken | None
    server: CertifiedKey | Broken | None
    client: CertifiedKey | Broken | None


def parse(data: Mapping[str, bytes]) -> CertifiedKeys:
    """Return the pairs of a Secret."""
    authority = _pair(data, what.AUTHORITY, what.AUTHORITY_KEY)
    if isinstance(authority, CertifiedKey) and not _signs(authority.certificate):
        authority = Broken(what.AUTHORITY, "a certificate that may not sign others")
    return CertifiedKeys(
        authority,
        _pair(data, what.SERVER, what.SERVER_KEY),
        _pair(data, what.CLIENT, what.CLIENT_KEY),
    )


def observed(held: CertifiedKeys, now: float) -> Found:
    """Return what decides; ``now``, in seconds since the epoch, says which authorities ended."""
    by = held.authority.certificate if isinstance(held.authority, CertifiedKey) else None
    authority = held.authority
    return Found(
        _authority(authority, now) if isinstance(authority, CertifiedKey) else authority,
        _leaf(held.server, by, names) if isinstance(held.server, CertifiedKey) else held.server,
        _leaf(held.client, by, common_names)
        if isinstance(held.client, CertifiedKey)
        else held.client,
    )


def begins_at(certificate: x509.Certificate) -> float:
    """Return the second since the epoch from which a certificate is good."""
    return certificate.not_valid_before_utc.timestamp()


def ends_at(certificate: x509.Certificate) -> float:
    """Return the second since the epoch to which a certificate is good."""
    return certificate.not_valid_after_utc.timestamp()


def names(certificate: x509.Certificate) -> frozenset[str]:
    """Return the DNS names and addresses that a certificate is for."""
    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return frozenset()
    hosts = alternatives.value.get_values_for_type(x509.DNSName)
    addresses = alternatives.value.get_values_for_type(x509.IPAddress)
    return frozenset([*hosts, *map(str, addresses)])


def common_names(certificate: x509.Certificate) -> frozenset[str]:
    """Return the common names of a certificate's subject."""
    found = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return frozenset(str(attribute.value) for attribute in found)


def signed(certificate: x509.Certificate, by: x509.Certificate) -> bool:
    """Say whether ``by`` has signed a certificate."""
    try:
        certificate.verify_directly_issued_by(by)
    except (*_UNREADABLE, InvalidSignature):
        return False
    return True


def same_key(one: x509.Certificate, other: x509.Certificate) -> bool:
    """Say whether two certificates are of one key."""
    return _spki(one.public_key()) == _spki(other.public_key())


def _pair(data: Mapping[str, bytes], name: str, key_name: str) -> CertifiedKey | Broken | None:
    text, key_text = data.get(name, b""), data.get(key_name, b"")
    if not text and not key_text:
        return None
    if not text or not key_text:
        missing, there = (key_name, name) if text else (name, key_name)
        return Broken(missing, f"nothing, but there is {there}")
    try:
        chain = tuple(x509.load_pem_x509_certificates(text))
    except _UNREADABLE as error:
        return Broken(name, f"no certificates in PEM ({error})")
    try:
        key = serialization.load_pem_private_key(key_text, None)
    except _UNREADABLE as error:
        return Broken(key_name, f"no private key in PEM without a password ({error})")
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        return Broken(key_name, "a key that is neither ECDSA nor RSA")
    return _fitting(chain, key, name, key_name)


def _fitting(
    chain: Sequence[x509.Certificate], key: Key, name: str, key_name: str
) -> CertifiedKey | Broken:
    """Return the pair; the authority that signs may stand anywhere among those to trust."""
    public = _spki(key.public_key())
    try:
        fitting = [one for one in chain if _spki(one.public_key()) == public]
    except _UNREADABLE as error:
        return Broken(name, f"a certificate of an unknown kind ({error})")
    first = fitting[:1] if name == what.AUTHORITY else [one for one in fitting if one is chain[0]]
    if not first:
        return Broken(key_name, f"the key of another certificate than {name}")
    return CertifiedKey((*first, *(one for one in chain if one is not first[0])), key)


def _authority(held: CertifiedKey, now: float) -> Authority:
    certificate = held.certificate
    return Authority(
        ours=any(name.startswith(OURS) for name in common_names(certificate)),
        begins_at=begins_at(certificate),
        ends_at=ends_at(certificate),
        outlived=any(ends_at(one) <= now for one in held.chain[1:]),
    )


def _leaf(
    held: CertifiedKey,
    by: x509.Certificate | None,
    named: Callable[[x509.Certificate], frozenset[str]],
) -> Leaf:
    certificate = held.certificate
    return Leaf(
        names=named(certificate),
        begins_at=begins_at(certificate),
        ends_at=ends_at(certificate),
        trusted=by is not None and signed(certificate, by),
    )


def _signs(certificate: x509.Certificate) -> bool:
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    except (x509.ExtensionNotFound, ValueError):
        return False
    return constraints.value.ca


def _spki(key: object) -> bytes:
    if not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
        raise UnsupportedAlgorithm("neither ECDSA nor RSA")
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
