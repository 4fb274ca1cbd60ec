"""Which certificates are issued and why, and which errors leave them as they are."""

from dataclasses import replace
from typing import Any

import pytest

from extender.core import certificates
from extender.core.certificates import Authority, Broken, Leaf, Observed, Plan, Requirements
from shared.errors import InputError

NOW = 1000.0
REQUIRED = Requirements(
    frozenset(["a", "b"]), "me", valid_seconds=300.0, authority_valid_seconds=3000.0
)
AUTHORITY = Authority(ours=True, begins_at=0.0, ends_at=4000.0)
SERVER = Leaf(frozenset(["a", "b"]), begins_at=0.0, ends_at=1300.0, trusted=True)
CLIENT = replace(SERVER, names=frozenset(["me"]))
COMPLETE = Observed(AUTHORITY, SERVER, CLIENT)
BOTH = ("server", "client")


def authority(**changes: Any) -> Observed:
    return replace(COMPLETE, authority=replace(AUTHORITY, **changes))


def server(**changes: Any) -> Observed:
    return replace(COMPLETE, server=replace(SERVER, **changes))


def client(**changes: Any) -> Observed:
    return replace(COMPLETE, client=replace(CLIENT, **changes))


PLANS: dict[str, tuple[Observed, tuple[str, ...], str]] = {
    "an empty Secret": (Observed(None, None, None), ("authority", *BOTH), "ca.crt"),
    "nothing due": (COMPLETE, (), ""),
    "at two thirds of its life": (server(ends_at=1099.0), ("server",), "tls.crt: it had 99 s left"),
    "shortly before": (server(ends_at=1100.0), (), ""),
    "the client's is renewed alone": (
        client(ends_at=1001.0),
        ("client",),
        "client.crt: it had 1 s left",
    ),
    "other names": (server(names=frozenset("a")), ("server",), "tls.crt: it was for a"),
    "one name too many": (
        server(names=frozenset("abc")),
        ("server",),
        "tls.crt: it was for a, b, c",
    ),
    "another client": (client(names=frozenset("you")), ("client",), "client.crt: it was for"),
    "ended": (server(ends_at=990.0), ("server",), "tls.crt: it had ended 10 s ago"),
    "to come": (server(begins_at=1010.0), ("server",), "tls.crt: it was valid in 10 s only"),
    "of another authority": (server(trusted=False), ("server",), "tls.crt: another authority"),
    "garbage": (
        replace(COMPLETE, server=Broken("tls.key", "no key")),
        ("server",),
        "tls.key: no key",
    ),
    "no server": (replace(COMPLETE, server=None), ("server",), "tls.crt: there was none"),
    "as long as its authority, and no longer": (
        Observed(
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
    "another issuer's authority near its end": (authority(ours=False, ends_at=1999.0), (), ""),
    "one before has ended": (authority(outlived=True), ("prune",), "ca.crt: one before has ended"),
}


@pytest.mark.parametrize(("observed", "due", "reason"), PLANS.values(), ids=PLANS)
def test_what_is_issued_and_why(observed: Observed, due: tuple[str, ...], reason: str) -> None:
    plan = certificates.plan(observed, REQUIRED, NOW)
    assert plan == Plan(**dict.fromkeys(due, True), reasons=plan.reasons)  # type: ignore[arg-type]
    assert [line for line in plan.reasons if reason in line] == [*plan.reasons]
    assert plan.nothing == (not due)


REFUSED = {
    "garbage": (Broken("ca.crt", "no certificates in PEM"), "ca.crt: 'no certificates in PEM'"),
    "another's key": (Broken("ca.key", "the key of another"), "ca.key: 'the key of another"),
    "another issuer's, ended": (replace(AUTHORITY, ours=False, ends_at=990.0), "ca.crt: 'ended 10"),
    "to come": (replace(AUTHORITY, begins_at=1060.0), "is the clock of this machine right"),
}


@pytest.mark.parametrize(("authority", "text"), REFUSED.values(), ids=REFUSED)
def test_an_authority_that_is_not_ours_to_replace_is_an_error(
    authority: Authority | Broken, text: str
) -> None:
    with pytest.raises(InputError) as caught:
        certificates.plan(replace(COMPLETE, authority=authority), REQUIRED, NOW)
    assert text in str(caught.value)
