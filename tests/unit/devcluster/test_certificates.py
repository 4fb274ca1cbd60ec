"""The cluster's own CA: a strict client accepts its certificates, and no others."""

import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from devcluster.credentials import kubeconfigs
from devcluster.credentials.certificates import Authority, Pair, create_signing_key
from shared.kube import auth
from shared.system_clock import SystemClock


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create(tmp_path / "pki", SystemClock())


def load(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


def accepts(authority: Authority, pair: Pair, name: x509.GeneralName) -> bool:
    store = Store([load(authority.certificate)])
    verifier = PolicyBuilder().store(store).build_server_verifier(name)
    try:
        verifier.verify(load(pair.certificate), [])
    except VerificationError:
        return False
    return True


NAMES = {
    "loopback": (x509.IPAddress(ipaddress.ip_address("127.0.0.1")), True),
    "the service's address": (x509.IPAddress(ipaddress.ip_address("10.96.0.1")), True),
    "localhost": (x509.DNSName("localhost"), True),
    "the service": (x509.DNSName("kubernetes.default.svc"), True),
    "another machine": (x509.DNSName("example.com"), False),
}


@pytest.mark.parametrize(("name", "accepted"), NAMES.values(), ids=NAMES)
def test_the_servers_certificate_has_its_name(
    authority: Authority, name: x509.GeneralName, accepted: bool
) -> None:
    assert accepts(authority, authority.issue_server("server"), name) is accepted


def test_another_authority_of_the_same_name_is_not_accepted(
    authority: Authority, tmp_path: Path
) -> None:
    other = Authority.create(tmp_path / "other", SystemClock())
    pair = other.issue_server("server")
    assert not accepts(authority, pair, x509.DNSName("localhost"))


def test_user_and_groups_are_in_the_subject(authority: Authority) -> None:
    pair = authority.issue_client("someone", "jane", ("system:masters", "staff"))
    subject = load(pair.certificate).subject
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["jane"]
    organizations = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert {name.value for name in organizations} == {"system:masters", "staff"}


def test_a_client_certificate_is_no_server_certificate(authority: Authority) -> None:
    pair = authority.issue_client("someone", "localhost")
    assert not accepts(authority, pair, x509.DNSName("localhost"))


def test_keys_can_be_read_by_their_owner_only(authority: Authority) -> None:
    create_signing_key(authority.directory)
    authority.issue_server("server")
    modes = {file.name: file.stat().st_mode & 0o777 for file in authority.directory.glob("*.key")}
    assert modes == {"ca.key": 0o600, "sa.key": 0o600, "server.key": 0o600}


def test_the_signing_keys_belong_together(authority: Authority) -> None:
    pair = create_signing_key(authority.directory)
    key = load_pem_private_key(pair.key.read_bytes(), None)
    assert key.public_key() == load_pem_public_key(pair.certificate.read_bytes())


def test_our_client_reads_a_kubeconfig(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue_client("someone", "jane")
    file = kubeconfigs.write_for_certificate(
        tmp_path / "kubeconfig", "https://127.0.0.1:6443", authority.certificate, "jane", pair
    )
    credentials = auth.load(file)
    assert credentials.server == "https://127.0.0.1:6443"
    assert credentials.ssl is not None
    assert credentials.ssl.verify_mode == ssl.CERT_REQUIRED
    assert file.stat().st_mode & 0o777 == 0o600
