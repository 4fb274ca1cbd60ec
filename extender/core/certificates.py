"""Which certificates must be issued: those that are missing, broken, or near their end.

A server's or client's certificate is our own and is issued anew at any time. Clients trust an
authority, so it is replaced only if its name shows that we issued it: in time, signed by the one
before, or after its end, when no client can trust it any more. Any other authority is left as it
is, with an error.
"""

from dataclasses import dataclass
from typing import Final

from shared.errors import InputError

AUTHORITY: Final = "ca.crt"
AUTHORITY_KEY: Final = "ca.key"
SERVER: Final = "tls.crt"
SERVER_KEY: Final = "tls.key"
CLIENT: Final = "client.crt"
CLIENT_KEY: Final = "client.key"

RENEWED_RATIO: Final = 1 / 3
"""Part of its life that a certificate has left when it is renewed."""

_USABLE: Final = (
    "an authority that we can sign with: put in the right pair, or delete ca.crt and ca.key from "
    "the Secret to have a new one issued (clients that trust the old one then need the new one)"
)
_VALID: Final = "a valid authority, and it is not ours to replace: put in a new one"


@dataclass(frozen=True)
class Authority:
    """The authority that signs.

    Attributes:
        ours: Whether its name is one that we give.
        begins_at: Second since the epoch from which it is valid.
        ends_at: Second since the epoch to which it is valid.
        outlived: Whether an older authority beside it has ended.
    """

    ours: bool
    begins_at: float
    ends_at: float
    outlived: bool = False


@dataclass(frozen=True)
class Leaf:
    """A server's or client's certificate with its key.

    Attributes:
        names: DNS names and addresses of a server, the common name of a client.
        begins_at: Second since the epoch from which it is valid.
        ends_at: Second since the epoch to which it is valid.
        trusted: Whether the present authority has signed it.
    """

    names: frozenset[str]
    begins_at: float
    ends_at: float
    trusted: bool


@dataclass(frozen=True)
class Broken:
    """A value of the Secret that cannot be used.

    Attributes:
        key: Key of the Secret.
        problem: What is wrong with its value.
    """

    key: str
    problem: str


@dataclass(frozen=True)
class Observed:
    """What the Secret holds; None: nothing."""

    authority: Authority | Broken | None
    server: Leaf | Broken | None
    client: Leaf | Broken | None


@dataclass(frozen=True)
class Requirements:
    """The settings.

    Attributes:
        names: DNS names and addresses of the server's certificate.
        client_name: Common name of the client's.
        valid_seconds: How long those two are valid.
        authority_valid_seconds: How long an authority is valid.
    """

    names: frozenset[str]
    client_name: str
    valid_seconds: float
    authority_valid_seconds: float


@dataclass(frozen=True)
class Plan:
    """What to issue.

    Attributes:
        authority: A new authority; everything is then signed by it.
        succeeds: The authority before is still valid and signs the new one.
        prune: Authorities that have ended are removed from the list of those to trust.
        server: A new certificate for the listeners.
        client: A new certificate for a kube-scheduler outside the cluster.
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
        """Whether nothing is due."""
        return not (self.authority or self.prune or self.server or self.client)


def plan(observed: Observed, required: Requirements, now: float) -> Plan:
    """Return what must be issued.

    Args:
        observed: What the Secret holds.
        required: The settings.
        now: Seconds since the epoch.

    Raises:
        InputError: The authority cannot be used and is not ours to replace; names the key.
    """
    why = _why_authority(observed.authority, required, now)
    if why is not None:
        usable = isinstance(observed.authority, Authority) and observed.authority.ends_at > now
        return Plan(authority=True, succeeds=usable, server=True, client=True, reasons=(why,))
    assert isinstance(observed.authority, Authority)  # noqa: S101 - anything else has a reason, or raises
    lives = _Lives(required.valid_seconds, observed.authority.ends_at, now)
    server = _why_leaf(SERVER, observed.server, required.names, lives)
    client = _why_leaf(CLIENT, observed.client, frozenset([required.client_name]), lives)
    prune = f"{AUTHORITY}: one before has ended" if observed.authority.outlived else None
    reasons = tuple(reason for reason in (server, client, prune) if reason is not None)
    return Plan(prune=bool(prune), server=bool(server), client=bool(client), reasons=reasons)


def _why_authority(
    authority: Authority | Broken | None, required: Requirements, now: float
) -> str | None:
    """Return why an authority must be issued; None if the present one is right."""
    match authority:
        case None:
            return f"{AUTHORITY}: there was none"
        case Broken():
            raise InputError(authority.key, authority.problem, _USABLE)
        case Authority(begins_at=begins_at) if begins_at > now:
            problem = f"valid in {begins_at - now:.0f} s only"
            raise InputError(AUTHORITY, problem, "valid now; is the clock of this machine right?")
        case Authority(ours=True, ends_at=ends_at):
            return _why_ending(AUTHORITY, ends_at, required.authority_valid_seconds, now)
        case Authority(ends_at=ends_at) if ends_at <= now:
            raise InputError(AUTHORITY, f"ended {now - ends_at:.0f} s ago", _VALID)
        case _:
            return None


@dataclass(frozen=True)
class _Lives:
    """How long certificates are to be valid, and their authority is; the present time."""

    valid_seconds: float
    authority_ends_at: float
    now: float


def _why_leaf(
    key: str, leaf: Leaf | Broken | None, names: frozenset[str], lives: _Lives
) -> str | None:
    """Return why a certificate must be issued; None if the present one is right."""
    match leaf:
        case None:
            return f"{key}: there was none"
        case Broken():
            return f"{leaf.key}: {leaf.problem}"
        case Leaf(trusted=False):
            return f"{key}: another authority has signed it"
        case Leaf(names=present) if present != names:
            return f"{key}: it was for {', '.join(sorted(present))}"
        case Leaf():
            return _why_now(key, leaf, lives)


def _why_now(key: str, leaf: Leaf, lives: _Lives) -> str | None:
    now = lives.now
    if leaf.begins_at > now:
        return f"{key}: it was valid in {leaf.begins_at - now:.0f} s only"
    if now < leaf.ends_at >= lives.authority_ends_at:
        return None  # a new one could not last longer
    return _why_ending(key, leaf.ends_at, lives.valid_seconds, now)


def _why_ending(key: str, ends_at: float, valid_seconds: float, now: float) -> str | None:
    left_seconds = ends_at - now
    if left_seconds <= 0:
        return f"{key}: it had ended {-left_seconds:.0f} s ago"
    if left_seconds < valid_seconds * RENEWED_RATIO:
        return f"{key}: it had {left_seconds:.0f} s left"
    return None
