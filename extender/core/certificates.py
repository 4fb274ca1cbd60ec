"""What a Secret holds of certificates, as far as it decides what must be made."""

from dataclasses import dataclass
from typing import Final

from shared.errors import InputError

AUTHORITY: Final = "ca.crt"


AUTHORITY_KEY: Final = "ca.key"


SERVER: Final = "tls.crt"


SERVER_KEY: Final = "tls.key"


CLIENT: Final = "client.crt"


CLIENT_KEY: Final = "client.key"


@dataclass(frozen=True)
class Authority:
    """Who signs.

    Attributes:
        ours: Its name is one that we give.
        begins_at: Second since the epoch from which it is good.
        ends_at: Second since the epoch to which it is good.
        outlived: Whether an older authority is still named beside it that has ended.
    """

    ours: bool
    begins_at: float
    ends_at: float
    outlived: bool = False


@dataclass(frozen=True)
class Leaf:
    """A certificate of one who does not sign, with a key that fits it.

    Attributes:
        names: For whom it is: DNS names and addresses of a server, the common name of a client.
        begins_at: Second since the epoch from which it is good.
        ends_at: Second since the epoch to which it is good.
        trusted: Whether the authority that signs now has signed it.
    """

    names: frozenset[str]
    begins_at: float
    ends_at: float
    trusted: bool


@dataclass(frozen=True)
class Broken:
    """Something is there that cannot be used.

    Attributes:
        key: Key of the Secret.
        problem: What is wrong with its value.
    """

    key: str
    problem: str


@dataclass(frozen=True)
class Found:
    """All of it; None: nothing is there."""

    authority: Authority | Broken | None
    server: Leaf | Broken | None
    client: Leaf | Broken | None


# === Which certificates must be made: those that are missing, broken, or near their end.
#
# What a server or a client shows is our own product and is made anew without asking. An
# authority is
# trusted by others, so it is replaced only when its name says that we made it: in time, signed
# by the
# one before, or after its end, when nobody can trust it any more. Anything else is said and left.


RENEWED_RATIO: Final = 1 / 3
"""Part of its life that a certificate has left when it is made anew."""


@dataclass(frozen=True)
class Wanted:
    """What the settings ask for.

    Attributes:
        names: DNS names and addresses of the server's certificate.
        client_name: Common name of the client's.
        valid_seconds: How long those two are good.
        authority_valid_seconds: How long an authority is good.
    """

    names: frozenset[str]
    client_name: str
    valid_seconds: float
    authority_valid_seconds: float


@dataclass(frozen=True)
class Plan:
    """What to make.

    Attributes:
        authority: A new authority; everything is signed by it then.
        succeeds: The authority before is still good and signs the new one.
        prune: Authorities that have ended leave the list of those to trust.
        server: A new certificate for the listeners.
        client: A new certificate for a kube-scheduler elsewhere.
        reasons: Why, a line each.
    """

    authority: bool = False
    succeeds: bool = False
    prune: bool = False
    server: bool = False
    client: bool = False
    reasons: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether all is well."""
        return not (self.authority or self.prune or self.server or self.client)


def plan(found: Found, wanted: Wanted, now: float) -> Plan:
    """Return what must be made.

    Args:
        found: What is there.
        wanted: What the settings ask for.
        now: Seconds since the epoch.

    Raises:
        InputError: The authority cannot be used and is not ours to replace; names the key.
    """
    why = _why_authority(found.authority, wanted, now)
    if why is not None:
        usable = isinstance(found.authority, Authority) and found.authority.ends_at > now
        return Plan(authority=True, succeeds=usable, server=True, client=True, reasons=(why,))
    assert isinstance(found.authority, Authority)  # noqa: S101 - anything else has a reason, or raises
    ends_at = found.authority.ends_at
    server = _why_leaf(SERVER, found.server, wanted.names, wanted, ends_at, now)
    client_names = frozenset([wanted.client_name])
    client = _why_leaf(CLIENT, found.client, client_names, wanted, ends_at, now)
    prune = f"{AUTHORITY}: one before has ended" if found.authority.outlived else None
    reasons = tuple(reason for reason in (server, client, prune) if reason is not None)
    return Plan(prune=bool(prune), server=bool(server), client=bool(client), reasons=reasons)


def _why_authority(found: Authority | Broken | None, wanted: Wanted, now: float) -> str | None:
    """Return why an authority must be made; None if the one that is there does."""
    match found:
        case None:
            return f"{AUTHORITY}: there was none"
        case Broken():
            raise InputError(found.key, found.problem, _MENDING)
        case Authority(begins_at=begins_at) if begins_at > now:
            problem = f"good in {begins_at - now:.0f} s only"
            raise InputError(AUTHORITY, problem, "good now; is the clock of this machine right?")
        case Authority(ours=True, ends_at=ends_at):
            return _why_ending(AUTHORITY, ends_at, wanted.authority_valid_seconds, now)
        case Authority(ends_at=ends_at) if ends_at <= now:
            raise InputError(AUTHORITY, f"ended {now - ends_at:.0f} s ago", _FOREIGN)
        case _:
            return None


_MENDING: Final = (
    "an authority that we can sign with; take ca.crt and ca.key out of the Secret to have a new "
    "one made (then everybody who trusts the old one must be told), or put the right ones in"
)


_FOREIGN: Final = "an authority that is good, and it is not ours to replace: put a new one in"


def _why_leaf(
    key: str,
    found: Leaf | Broken | None,
    names: frozenset[str],
    wanted: Wanted,
    authority_ends_at: float,
    now: float,
) -> str | None:
    """Return why a certificate must be made; None if the one that is there does."""
    match found:
        case None:
            return f"{key}: there was none"
        case Broken():
            return f"{found.key}: {found.problem}"
        case Leaf(trusted=False):
            return f"{key}: another authority has signed it"
        case Leaf(names=held) if held != names:
            return f"{key}: it was for {', '.join(sorted(held))}"
        case Leaf():
            return _why_now(key, found, wanted.valid_seconds, authority_ends_at, now)


def _why_now(
    key: str, leaf: Leaf, valid_seconds: float, authority_ends_at: float, now: float
) -> str | None:
    if leaf.begins_at > now:
        return f"{key}: it was good in {leaf.begins_at - now:.0f} s only"
    if now < leaf.ends_at >= authority_ends_at:
        return None  # a new one could not last longer
    return _why_ending(key, leaf.ends_at, valid_seconds, now)


def _why_ending(key: str, ends_at: float, valid_seconds: float, now: float) -> str | None:
    left_seconds = ends_at - now
    if left_seconds <= 0:
        return f"{key}: it had ended {-left_seconds:.0f} s ago"
    if left_seconds < valid_seconds * RENEWED_RATIO:
        return f"{key}: it had {left_seconds:.0f} s left"
    return None
