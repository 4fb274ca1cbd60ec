"""Parse the values of a Secret: PEM in, facts for the plan out. No certificate is trusted here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from extender.core import certificates as core_certificates
from extender.core.certificates import Authority, Broken, Leaf, Observed

OURS: Final = "shuntyard-authority-"
"""Prefix of the common names of our authorities."""

Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_UNREADABLE: Final = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion)


@dataclass(frozen=True)
class CertifiedKey:
    """A certificate and its key.

    Attributes:
        chain: The certificate itself, then those that link it to an authority; for an authority
            the one that signs, then those before it.
    """

    chain: tuple[x509.Certificate, ...]
    key: Key

    @property
    def certificate(self) -> x509.Certificate:
        """The certificate of the key."""
        return self.chain[0]


@dataclass(frozen=True)
class CertifiedKeys:
    """The pairs of a Secret; one that cannot be used is ``Broken``, one that is missing None."""

    authority: CertifiedKey | Broken | None
    server: CertifiedKey | Broken | None
    client: CertifiedKey | Broken | None


def parse(data: Mapping[str, bytes]) -> CertifiedKeys:
    """Parse the values of a Secret."""
    authority = _pair(data, core_certificates.AUTHORITY, core_certificates.AUTHORITY_KEY)
    if isinstance(authority, CertifiedKey) and not _signs(authority.certificate):
        authority = Broken(core_certificates.AUTHORITY, "a certificate that may not sign others")
    return CertifiedKeys(
        authority,
        _pair(data, core_certificates.SERVER, core_certificates.SERVER_KEY),
        _pair(data, core_certificates.CLIENT, core_certificates.CLIENT_KEY),
    )


def observed(kept: CertifiedKeys, now: float) -> Observed:
    """Return the facts that the plan needs, at ``now`` in seconds since the epoch."""
    authority = kept.authority
    by = authority.certificate if isinstance(authority, CertifiedKey) else None
    return Observed(
        _authority(authority, now) if isinstance(authority, CertifiedKey) else authority,
        _leaf(kept.server, by, names) if isinstance(kept.server, CertifiedKey) else kept.server,
        _leaf(kept.client, by, common_names)
        if isinstance(kept.client, CertifiedKey)
        else kept.client,
    )


def begins_at(certificate: x509.Certificate) -> float:
    """Return the second since the epoch from which a certificate is valid."""
    return certificate.not_valid_before_utc.timestamp()


def ends_at(certificate: x509.Certificate) -> float:
    """Return the second since the epoch to which a certificate is valid."""
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
    attributes = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return frozenset(str(attribute.value) for attribute in attributes)


def signed(certificate: x509.Certificate, by: x509.Certificate) -> bool:
    """True if ``by`` has signed a certificate."""
    try:
        certificate.verify_directly_issued_by(by)
    except (*_UNREADABLE, InvalidSignature):
        return False
    return True


def same_key(first: x509.Certificate, second: x509.Certificate) -> bool:
    """True if two certificates are of one key."""
    return _public_key_info(first.public_key()) == _public_key_info(second.public_key())


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
    return _matched(chain, key, name, key_name)


def _matched(
    chain: Sequence[x509.Certificate], key: Key, name: str, key_name: str
) -> CertifiedKey | Broken:
    """Return the pair; the authority that signs may be anywhere in its chain."""
    public = _public_key_info(key.public_key())
    try:
        matching = [x for x in chain if _public_key_info(x.public_key()) == public]
    except _UNREADABLE as error:
        return Broken(name, f"a certificate of an unknown kind ({error})")
    is_authority = name == core_certificates.AUTHORITY
    first = matching[:1] if is_authority else [x for x in matching if x is chain[0]]
    if not first:
        return Broken(key_name, f"the key of another certificate than {name}")
    return CertifiedKey((*first, *(x for x in chain if x is not first[0])), key)


def _authority(pair: CertifiedKey, now: float) -> Authority:
    certificate = pair.certificate
    return Authority(
        ours=any(name.startswith(OURS) for name in common_names(certificate)),
        begins_at=begins_at(certificate),
        ends_at=ends_at(certificate),
        outlived=any(ends_at(older) <= now for older in pair.chain[1:]),
    )


def _leaf(
    pair: CertifiedKey,
    by: x509.Certificate | None,
    named: Callable[[x509.Certificate], frozenset[str]],
) -> Leaf:
    certificate = pair.certificate
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


def _public_key_info(key: object) -> bytes:
    if not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
        raise UnsupportedAlgorithm("neither ECDSA nor RSA")
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
