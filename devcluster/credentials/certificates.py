"""The cluster's own certificate authority, which signs all its certificates."""

import datetime as dt
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from devcluster.real_nodes.network import GATEWAY
from shared.clock import Clock

SERVER_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
SERVER_ADDRESSES: Final = ("127.0.0.1", "10.96.0.1", GATEWAY)
"""Loopback, the first address of the service range (``kubernetes`` for pods), and this machine for
real nodes."""

_VALID: Final = dt.timedelta(days=3650)
_SLACK: Final = dt.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files in PEM."""

    certificate: Path
    key: Path


class Authority:
    """The CA, kept in a directory as ``ca.crt`` and ``ca.key``."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self.directory = directory
        self._clock = clock
        self._certificate = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        key = serialization.load_pem_private_key((directory / "ca.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)  # noqa: S101 - `create` made it so
        self._key = key

    @property
    def certificate(self) -> Path:
        """The CA certificate, PEM."""
        return self.directory / "ca.crt"

    @classmethod
    def create(cls, directory: Path, clock: Clock) -> "Authority":
        """Create a new CA in ``directory``."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("shuntyard-devcluster-ca")
        builder = _builder(name, name, key, key, clock)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(_usage(signs_certificates=True), True)
        _write_pair(directory / "ca", builder.sign(key, hashes.SHA256()), key)
        return cls(directory, clock)

    def issue_server(
        self,
        name: str,
        names: Sequence[str] = SERVER_NAMES,
        addresses: Sequence[str] = SERVER_ADDRESSES,
    ) -> Pair:
        """Issue a server certificate, by default for the servers on this machine.

        It is also a client certificate, because etcd's peers use one for both.
        """
        hosts = [x509.DNSName(text) for text in names]
        places = [x509.IPAddress(ipaddress.ip_address(text)) for text in addresses]
        purposes = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
        return self._issue(name, _name(name), purposes, [*hosts, *places])

    def issue_client(self, file: str, user: str, groups: Sequence[str] = ()) -> Pair:
        """Issue a client certificate: Kubernetes reads user and groups from its subject.

        Source:
            https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
        """
        return self._issue(file, _name(user, groups), (ExtendedKeyUsageOID.CLIENT_AUTH,), [])

    def _issue(
        self,
        file: str,
        subject: x509.Name,
        purposes: Sequence[x509.ObjectIdentifier],
        names: Sequence[x509.GeneralName],
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self._certificate.subject, key, self._key, self._clock)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_usage(signs_certificates=False), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        return _write_pair(self.directory / file, builder.sign(self._key, hashes.SHA256()), key)


def create_signing_key(directory: Path) -> Pair:
    """Create the key pair that signs service-account tokens: ``sa.key`` and ``sa.pub``."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    pair = Pair(directory / "sa.pub", directory / "sa.key")
    pair.certificate.write_bytes(public)
    _write_secret(pair.key, _pem(key))
    return pair


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    clock: Clock,
) -> x509.CertificateBuilder:
    now = dt.datetime.fromtimestamp(clock.now(), dt.UTC)
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SLACK)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), False
        )
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write_pair(stem: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    pair = Pair(stem.with_name(f"{stem.name}.crt"), stem.with_name(f"{stem.name}.key"))
    _write_secret(pair.key, _pem(key))
    pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return pair


def _write_secret(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
