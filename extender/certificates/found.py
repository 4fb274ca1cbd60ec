"""What a Secret holds of certificates, as far as it decides what must be made."""

from dataclasses import dataclass
from typing import Final

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
