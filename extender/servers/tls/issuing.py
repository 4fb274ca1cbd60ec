"""Certificates are made: ECDSA on P-256, each for one purpose, none that outlives its authority.

A new authority is signed twice: by itself, and by the one before, as long as that one is good. The
second form is sent along with what the new one signs. So whoever still trusts only the old one, and
whoever trusts only the new one, accepts the same certificate.
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
from extender.core.certificates import Plan, Wanted
from extender.servers.tls import parsing
from extender.servers.tls.parsing import CertifiedKey, CertifiedKeys, Key

SLACK_SECONDS: Final = 3600.0
"""A certificate is good so long before it is made: clocks differ."""


def issue(held: CertifiedKeys, plan: Plan, wanted: Wanted, now: float) -> Mapping[str, bytes]:
    """Return the keys of the Secret that get another value, with those values, PEM.

    Args:
        held: What is there.
        plan: What must be made.
        wanted: What the settings ask for.
        now: Seconds since the epoch.
    """
    old = held.authority if isinstance(held.authority, CertifiedKey) else None
    made: dict[str, bytes] = {}
    if plan.authority or old is None:
        before = old if plan.succeeds else None
        signing, links = _authority(before, wanted.authority_valid_seconds, now)
        trusted = (signing.certificate, *_still_good(before.chain if before else (), now))
        made |= {
            core_certificates.AUTHORITY: _pem(trusted),
            core_certificates.AUTHORITY_KEY: _key_pem(signing.key),
        }
    else:
        signing, links = old, _links(held, old, now)
        if plan.prune:
            made[core_certificates.AUTHORITY] = _pem(_still_good(old.chain, now))
    if plan.server:
        hosts = sorted(wanted.names)
        server = _leaf(signing, hosts[0][:64], hosts, wanted.valid_seconds, now)
        made |= _written(core_certificates.SERVER, core_certificates.SERVER_KEY, server, links)
    if plan.client:
        client = _leaf(signing, wanted.client_name, (), wanted.valid_seconds, now)
        made |= _written(core_certificates.CLIENT, core_certificates.CLIENT_KEY, client, links)
    return made


def _authority(
    before: CertifiedKey | None, valid_seconds: float, now: float
) -> tuple[CertifiedKey, tuple[x509.Certificate, ...]]:
    """Return a new authority, and the links to it from the one before."""
    key, number = ec.generate_private_key(ec.SECP256R1()), x509.random_serial_number()
    name = _name(f"{parsing.OURS}{number:040x}"[: len(parsing.OURS) + 12])
    builder = _signing(_builder(name, key, now, now + valid_seconds).serial_number(number))
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    itself = builder.issuer_name(name).add_extension(issuer, critical=False)
    held = CertifiedKey((itself.sign(key, hashes.SHA256()),), key)
    if before is None:
        return held, ()
    ends_at = min(now + valid_seconds, parsing.ends_at(before.certificate))
    link = _signing(_builder(name, key, now, ends_at).serial_number(x509.random_serial_number()))
    return held, (_signed(link, before),)


def _leaf(
    authority: CertifiedKey, name: str, hosts: Sequence[str], valid_seconds: float, now: float
) -> CertifiedKey:
    """Return a server's certificate for ``hosts``, or without any a client's."""
    key = ec.generate_private_key(ec.SECP256R1())
    ends_at = min(now + valid_seconds, parsing.ends_at(authority.certificate))
    builder = _builder(_name(name), key, now, ends_at).serial_number(x509.random_serial_number())
    alternatives = [_host(one) for one in hosts or [name]]
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    )
    return CertifiedKey((_signed(builder, authority),), key)


def _links(
    held: CertifiedKeys, authority: CertifiedKey, now: float
) -> tuple[x509.Certificate, ...]:
    """Return what leads from the authority to one before it: it was sent along until now."""
    sent = [
        one
        for pair in (held.server, held.client)
        if isinstance(pair, CertifiedKey)
        for one in pair.chain[1:]
        if parsing.same_key(one, authority.certificate)
    ]
    return _still_good(dict.fromkeys(sent), now)


def _still_good(chain: Iterable[x509.Certificate], now: float) -> tuple[x509.Certificate, ...]:
    return tuple(one for one in chain if parsing.ends_at(one) > now)


def _written(
    name: str, key_name: str, held: CertifiedKey, links: Sequence[x509.Certificate]
) -> dict[str, bytes]:
    return {name: _pem((*held.chain, *links)), key_name: _key_pem(held.key)}


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
    """One authority below is allowed: the next one, which this one signs."""
    constraints = x509.BasicConstraints(ca=True, path_length=1)
    builder = builder.add_extension(constraints, critical=True)
    return builder.add_extension(_usage(signs=True), critical=True)


def _signed(builder: x509.CertificateBuilder, authority: CertifiedKey) -> x509.Certificate:
    issuer = authority.certificate
    builder = builder.issuer_name(issuer.subject).add_extension(_issuer(issuer), critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _issuer(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Return the authority's name for its key; one of somebody else's may be no usual hash."""
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
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in certificates)


def _key_pem(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
