"""Issue certificates: ECDSA on P-256, each for one purpose, none that outlives its authority.

A new authority is signed twice: by itself, and by the one before, as long as that one is valid. The
second form is sent along with what the new one signs. So clients that still trust only the old one
and clients that trust only the new one accept the same certificate.
"""

import datetime as dt
import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from extender.core import certificates as core_certificates
from extender.core.certificates import Plan, Requirements
from extender.servers.tls import parsing
from extender.servers.tls.parsing import CertifiedKey, CertifiedKeys, Key

SLACK_SECONDS: Final = 3600.0
"""A certificate is valid so long before it is issued: clocks differ."""


def issue(
    kept: CertifiedKeys, plan: Plan, required: Requirements, now: float
) -> Mapping[str, bytes]:
    """Return the changes of the Secret: PEM by key.

    Args:
        kept: What the Secret holds.
        plan: What must be issued.
        required: The settings.
        now: Seconds since the epoch.
    """
    old = kept.authority if isinstance(kept.authority, CertifiedKey) else None
    issued: dict[str, bytes] = {}
    if plan.authority or old is None:
        before = old if plan.succeeds else None
        signing, links = _authority(before, required.authority_valid_seconds, now)
        trusted = (signing.certificate, *_still_valid(before.chain if before else (), now))
        issued |= {
            core_certificates.AUTHORITY: _pem(trusted),
            core_certificates.AUTHORITY_KEY: _key_pem(signing.key),
        }
    else:
        signing, links = old, _links(kept, old, now)
        if plan.prune:
            issued[core_certificates.AUTHORITY] = _pem(_still_valid(old.chain, now))
    if plan.server:
        hosts = sorted(required.names)
        server = _leaf(signing, hosts[0][:64], hosts, required.valid_seconds, now)
        issued |= _written(core_certificates.SERVER, core_certificates.SERVER_KEY, server, links)
    if plan.client:
        client = _leaf(signing, required.client_name, (), required.valid_seconds, now)
        issued |= _written(core_certificates.CLIENT, core_certificates.CLIENT_KEY, client, links)
    return issued


def _authority(
    before: CertifiedKey | None, valid_seconds: float, now: float
) -> tuple[CertifiedKey, tuple[x509.Certificate, ...]]:
    """Return a new authority, and the links to it from the one before."""
    key, number = ec.generate_private_key(ec.SECP256R1()), x509.random_serial_number()
    name = _name(f"{parsing.OURS}{number:040x}"[: len(parsing.OURS) + 12])
    builder = _signing(_builder(name, key, now, now + valid_seconds).serial_number(number))
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    itself = builder.issuer_name(name).add_extension(issuer, critical=False)
    authority = CertifiedKey((itself.sign(key, hashes.SHA256()),), key)
    if before is None:
        return authority, ()
    ends_at = min(now + valid_seconds, parsing.ends_at(before.certificate))
    link = _signing(_builder(name, key, now, ends_at).serial_number(x509.random_serial_number()))
    return authority, (_signed(link, before),)


def _leaf(
    authority: CertifiedKey, name: str, hosts: Sequence[str], valid_seconds: float, now: float
) -> CertifiedKey:
    """Issue a server's certificate for ``hosts``; without any, a client's."""
    key = ec.generate_private_key(ec.SECP256R1())
    ends_at = min(now + valid_seconds, parsing.ends_at(authority.certificate))
    builder = _builder(_name(name), key, now, ends_at).serial_number(x509.random_serial_number())
    alternatives = [_host(host) for host in hosts or [name]]
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    )
    return CertifiedKey((_signed(builder, authority),), key)


def _links(
    kept: CertifiedKeys, authority: CertifiedKey, now: float
) -> tuple[x509.Certificate, ...]:
    """Return the links from the authority to those before it, as they are sent along now."""
    sent = [
        certificate
        for leaf in (kept.server, kept.client)
        if isinstance(leaf, CertifiedKey)
        for certificate in leaf.chain[1:]
        if parsing.same_key(certificate, authority.certificate)
    ]
    return _still_valid(dict.fromkeys(sent), now)


def _still_valid(chain: Iterable[x509.Certificate], now: float) -> tuple[x509.Certificate, ...]:
    return tuple(certificate for certificate in chain if parsing.ends_at(certificate) > now)


def _written(
    name: str, key_name: str, leaf: CertifiedKey, links: Sequence[x509.Certificate]
) -> dict[str, bytes]:
    return {name: _pem((*leaf.chain, *links)), key_name: _key_pem(leaf.key)}


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: float, ends_at: float
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public)
        .not_valid_before(_time(now - SLACK_SECONDS))
        .not_valid_after(_time(ends_at))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _signing(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    """Allow one authority below: the next one, which this one signs."""
    constraints = x509.BasicConstraints(ca=True, path_length=1)
    builder = builder.add_extension(constraints, critical=True)
    return builder.add_extension(_usage(signs=True), critical=True)


def _signed(builder: x509.CertificateBuilder, authority: CertifiedKey) -> x509.Certificate:
    issuer = authority.certificate
    builder = builder.issuer_name(issuer.subject).add_extension(_issuer(issuer), critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _issuer(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Return the authority's key identifier; another issuer's need not be the usual hash."""
    try:
        named = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except (x509.ExtensionNotFound, ValueError):
        public = authority.public_key()
        assert isinstance(public, ec.EllipticCurvePublicKey | rsa.RSAPublicKey)  # noqa: S101 - read as such
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(public)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(named.value)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _time(second: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(second, dt.UTC)


def _pem(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(x.public_bytes(serialization.Encoding.PEM) for x in certificates)


def _key_pem(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
