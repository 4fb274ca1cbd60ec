"""Values of a Secret are parsed; one that cannot be used is named by its key."""

from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from extender.core.certificates import Broken
from extender.servers.tls import parsing
from extender.servers.tls.parsing import CertifiedKey
from tests.fakes.certificates import DAY, HOST, Replica, Secret, chain, fresh

NOW = 1_800_000_000.0
Data = dict[str, bytes]


def _ed25519(data: Data) -> Data:
    key = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {**data, "tls.key": key}


BROKEN: dict[str, tuple[Callable[[Data], Data], str, str, str]] = {
    "garbage for an authority": (lambda d: d | {"ca.crt": b"?"}, "authority", "ca.crt", "PEM"),
    "garbage for its key": (lambda d: d | {"ca.key": b"\xff"}, "authority", "ca.key", "PEM"),
    "a key alone": (lambda d: d | {"ca.crt": b""}, "authority", "ca.crt", "there is ca.key"),
    "an authority alone": (
        lambda d: {k: v for k, v in d.items() if k != "ca.key"},
        *("authority", "ca.key", "there is ca.crt"),
    ),
    "another authority's key": (
        lambda d: d | {"ca.key": fresh(NOW)["ca.key"]},
        *("authority", "ca.key", "the key of another certificate"),
    ),
    "one that may not sign": (
        lambda d: d | {"ca.crt": d["tls.crt"], "ca.key": d["tls.key"]},
        *("authority", "ca.crt", "may not sign"),
    ),
    "another server's key": (
        lambda d: d | {"tls.key": d["client.key"]},
        *("server", "tls.key", "the key of another certificate than tls.crt"),
    ),
    "a torn certificate": (
        lambda d: d | {"client.crt": d["client.crt"][:-40]},
        *("client", "client.crt", "PEM"),
    ),
    "a key of a kind we do not use": (_ed25519, "server", "tls.key", "neither ECDSA nor RSA"),
}


@pytest.mark.parametrize(("change", "which", "key", "text"), BROKEN.values(), ids=BROKEN)
def test_a_value_that_cannot_be_used_is_named_by_its_key(
    change: Callable[[Data], Data], which: str, key: str, text: str
) -> None:
    pair = getattr(parsing.parse(change(fresh(NOW))), which)
    assert isinstance(pair, Broken)
    assert (pair.key, text in pair.problem) == (key, True), pair


def test_an_empty_secret_holds_nothing() -> None:
    observed = parsing.observed(parsing.parse({"tls.crt": b""}), NOW)
    assert (observed.authority, observed.server, observed.client) == (None, None, None)


def test_a_broken_leaf_is_issued_anew_and_its_authority_stays() -> None:
    secret = Secret(fresh(NOW))
    before = dict(secret.data)
    secret.data = {**before, "tls.crt": b"garbage"}
    plan = Replica(secret).reconcile(NOW)
    assert (plan.authority, plan.server, plan.client) == (False, True, False)
    assert {k for k in before if secret.data[k] != before[k]} == {"tls.crt", "tls.key"}


def test_an_authority_near_its_end_signs_the_next_one() -> None:
    secret = Secret(fresh(NOW))
    first = chain(secret.data, "ca.crt")
    later = NOW + 81 * DAY
    Replica(secret).reconcile(later)
    both = chain(secret.data, "ca.crt")
    assert both[1:] == first
    server, link = chain(secret.data)
    assert parsing.signed(server, both[0])
    assert parsing.signed(link, first[0])
    assert parsing.same_key(link, both[0])
    Replica(secret).reconcile(later + 21 * DAY)
    assert chain(secret.data)[1:] == [link]  # it is sent along with the next one, too
    Replica(secret).reconcile(NOW + 121 * DAY)
    assert chain(secret.data, "ca.crt") == both[:1]  # the first has ended


def test_names_and_addresses_are_read_back() -> None:
    names = frozenset([HOST, "10.0.0.7", "::1"])
    server = parsing.parse(fresh(NOW, names=names)).server
    assert isinstance(server, CertifiedKey)
    assert parsing.names(server.certificate) == names
