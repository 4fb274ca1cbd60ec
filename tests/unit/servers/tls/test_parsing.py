"""Values of a Secret that cannot be used are named by their key."""

from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from extender.core.certificates import Broken
from extender.servers.tls import parsing
from extender.servers.tls.parsing import CertifiedKey
from tests.fakes.certificates import DAY, HOST, Replica, Shelf, chain, fresh

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
    "one who may not sign": (
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
def test_what_cannot_be_used_is_named_by_its_key(
    change: Callable[[Data], Data], which: str, key: str, text: str
) -> None:
    found = getattr(parsing.parse(change(fresh(NOW))), which)
    assert isinstance(found, Broken)
    assert (found.key, text in found.problem) == (key, True), found


def test_an_empty_secret_holds_nothing() -> None:
    found = parsing.observed(parsing.parse({"tls.crt": b""}), NOW)
    assert (found.authority, found.server, found.client) == (None, None, None)


def test_a_broken_leaf_is_made_anew_and_its_authority_stays() -> None:
    shelf = Shelf(fresh(NOW))
    before = dict(shelf.data)
    shelf.data = {**before, "tls.crt": b"garbage"}
    plan = Replica(shelf).look(NOW)
    assert (plan.authority, plan.server, plan.client) == (False, True, False)
    assert {k for k in before if shelf.data[k] != before[k]} == {"tls.crt", "tls.key"}


def test_an_authority_nears_its_end_and_signs_the_next_one() -> None:
    shelf = Shelf(fresh(NOW))
    first = chain(shelf.data, "ca.crt")
    later = NOW + 81 * DAY
    Replica(shelf).look(later)
    both = chain(shelf.data, "ca.crt")
    assert both[1:] == first
    server, link = chain(shelf.data)
    assert parsing.signed(server, both[0])
    assert parsing.signed(link, first[0])
    assert parsing.same_key(link, both[0])
    Replica(shelf).look(later + 21 * DAY)
    assert chain(shelf.data)[1:] == [link]  # it is sent along with the next one, too
    Replica(shelf).look(NOW + 121 * DAY)
    assert chain(shelf.data, "ca.crt") == both[:1]  # the first has ended


def test_names_and_addresses_are_read_back() -> None:
    names = frozenset([HOST, "10.0.0.7", "::1"])
    held = parsing.parse(fresh(NOW, names=names)).server
    assert isinstance(held, CertifiedKey)
    assert parsing.names(held.certificate) == names
