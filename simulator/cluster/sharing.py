"""The CPU of one machine among the pods that want more of it than there is.

Processor sharing by weight: nobody gets more than it wants, what one leaves the others share, and
those that get less than they want get the same for each unit of weight.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Member(NamedTuple):
    """The pods of one job and role on a machine."""

    job: str
    role: str


class Claim(NamedTuple):
    """What so many equal ``pods`` want: ``milli`` of CPU each, with a weight each."""

    pods: int
    milli: int
    weight: float


def shares(claims: Mapping[Member, Claim], capacity_milli: int) -> dict[Member, float]:
    """Return which part of what it wants each pod gets, 0…1."""
    left, weight = float(capacity_milli), sum(c.pods * c.weight for c in claims.values())
    found: dict[Member, float] = {}
    for member, claim in sorted(claims.items(), key=lambda item: _eagerness(*item)):
        level = max(0.0, left) / weight  # what a unit of weight gets
        granted = min(float(claim.milli), level * claim.weight)
        found[member] = granted / claim.milli if claim.milli else 1.0
        left -= claim.pods * granted
        weight -= claim.pods * claim.weight
    return found


def _eagerness(member: Member, claim: Claim) -> tuple[float, Member]:
    return claim.milli / claim.weight, member


class Processor:
    """The CPU of a machine, and who wants it."""

    def __init__(self, capacity_milli: int) -> None:
        self._capacity_milli = capacity_milli
        self._claims: dict[Member, Claim] = {}
        self._wanted_milli = 0
        self._shares: dict[Member, float] | None = None

    @property
    def crowded(self) -> bool:
        """Its pods want more than it has."""
        return self._wanted_milli > self._capacity_milli

    @property
    def jobs(self) -> frozenset[str]:
        """Whose pods are here."""
        return frozenset(member.job for member in self._claims)

    def put(self, member: Member, claim: Claim | None) -> None:
        """Set what pods want; None: they are gone, or want nothing for a while."""
        before = self._claims.pop(member, None)
        if before is not None:
            self._wanted_milli -= before.pods * before.milli
        if claim is not None:
            self._claims[member] = claim
            self._wanted_milli += claim.pods * claim.milli
        self._shares = None

    def share(self, member: Member) -> float:
        """Return which part of what they want these pods get, 0…1."""
        if not self.crowded:
            return 1.0
        if self._shares is None:
            self._shares = shares(self._claims, self._capacity_milli)
        return self._shares[member]
