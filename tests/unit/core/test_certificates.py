"""What is made anew, what is left alone, and what is only said."""

from dataclasses import replace
from typing import Any

import pytest

from extender.core import certificates
from extender.core.certificates import Authority, Broken, Found, Leaf, Plan, Wanted
from shared.errors import InputError

NOW = 1000.0
WANTED = Wanted(frozenset(["a", "b"]), "me", valid_seconds=300.0, authority_valid_seconds=3000.0)
AUTHORITY = Authority(ours=True, begins_at=0.0, ends_at=4000.0)
SERVER = Leaf(frozenset(["a", "b"]), begins_at=0.0, ends_at=1300.0, trusted=True)
CLIENT = replace(SERVER, names=frozenset(["me"]))
WELL = Found(AUTHORITY, SERVER, CLIENT)
BOTH = ("server", "client")


def authority(**changes: Any) -> Found:
    return replace(WELL, authority=replace(AUTHORITY, **changes))


def server(**changes: Any) -> Found:
    return replace(WELL, server=replace(SERVER, **changes))


def client(**changes: Any) -> Found:
    return replace(WELL, client=replace(CLIENT, **changes))


PLANS: dict[str, tuple[Found, tuple[str, ...], str]] = {
    "nothing is there": (Found(None, None, None), ("authority", *BOTH), "ca.crt"),
    "all is well": (WELL, (), ""),
    "at two thirds of its life": (server(ends_at=1099.0), ("server",), "tls.crt: it had 99 s left"),
    "shortly before": (server(ends_at=1100.0), (), ""),
    "the client's is renewed alone": (
        client(ends_at=1001.0),
        ("client",),
        "client.crt: it had 1 s left",
    ),
    "other names": (server(names=frozenset("a")), ("server",), "tls.crt: it was for a"),
    "one name more than wanted": (
        server(names=frozenset("abc")),
        ("server",),
        "tls.crt: it was for a, b, c",
    ),
    "another client": (client(names=frozenset("you")), ("client",), "client.crt: it was for"),
    "ended": (server(ends_at=990.0), ("server",), "tls.crt: it had ended 10 s ago"),
    "to come": (server(begins_at=1010.0), ("server",), "tls.crt: it was good in 10 s only"),
    "of another authority": (server(trusted=False), ("server",), "tls.crt: another authority"),
    "garbage": (replace(WELL, server=Broken("tls.key", "no key")), ("server",), "tls.key: no key"),
    "no server": (replace(WELL, server=None), ("server",), "tls.crt: there was none"),
    "as long as its authority, and no longer": (
        Found(
            replace(AUTHORITY, ours=False, ends_at=1050.0),
            replace(SERVER, ends_at=1050.0),
            replace(CLIENT, ends_at=1050.0),
        ),
        (),
        "",
    ),
    "our authority near its end": (
        authority(ends_at=1999.0),
        ("authority", "succeeds", *BOTH),
        "ca.crt: it had 999 s left",
    ),
    "our authority after its end": (
        authority(ends_at=999.0),
        ("authority", *BOTH),
        "ca.crt: it had ended 1 s ago",
    ),
    "somebody else's near its end": (authority(ours=False, ends_at=1999.0), (), ""),
    "one before has ended": (authority(outlived=True), ("prune",), "ca.crt: one before has ended"),
}


@pytest.mark.parametrize(("found", "wanted", "reason"), PLANS.values(), ids=PLANS)
def test_what_is_made_and_why(found: Found, wanted: tuple[str, ...], reason: str) -> None:
    plan = certificates.plan(found, WANTED, NOW)
    assert plan == Plan(**dict.fromkeys(wanted, True), reasons=plan.reasons)  # type: ignore[arg-type]
    assert [one for one in plan.reasons if reason in one] == [*plan.reasons]
    assert plan.nothing == (not wanted)


REFUSED = {
    "garbage": (Broken("ca.crt", "no certificates in PEM"), "ca.crt: 'no certificates in PEM'"),
    "another's key": (Broken("ca.key", "the key of another"), "ca.key: 'the key of another"),
    "somebody else's, ended": (replace(AUTHORITY, ours=False, ends_at=990.0), "ca.crt: 'ended 10"),
    "to come": (replace(AUTHORITY, begins_at=1060.0), "is the clock of this machine right"),
}


@pytest.mark.parametrize(("found", "text"), REFUSED.values(), ids=REFUSED)
def test_an_authority_that_is_not_ours_to_replace_is_left_and_said(
    found: Authority | Broken, text: str
) -> None:
    with pytest.raises(InputError) as caught:
        certificates.plan(replace(WELL, authority=found), WANTED, NOW)
    assert text in str(caught.value)
