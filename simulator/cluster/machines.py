"""What is free on each machine, and how pods share the CPU of one that is short of it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shared.model import Node, NodeName, PodShape


class Capacity:
    """Amounts in base units by node and resource.

    Attributes:
        free: Node → resource → amount that nobody has.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.free: dict[NodeName, dict[str, int]] = {n.name: dict(n.allocatable) for n in nodes}
        self._totals: Counter[str] = Counter()
        for amounts in self.free.values():
            self._totals.update(amounts)
        self._taken: Counter[str] = Counter()
        self._busy: dict[str, float] = {}
        self._at = 0.0

    def lacks(self, node: NodeName, shape: PodShape) -> str:
        """Say what a node lacks for one more pod; empty if it has room."""
        free = self.free.get(node)
        if free is None:
            return f"there is no node {node}"
        for name, amount in shape.requests:
            if free.get(name, 0) < amount:
                return f"{node} has {free.get(name, 0)} of {name} left, the pod asks for {amount}"
        return ""

    def take(self, at: float, node: NodeName, shape: PodShape, sign: int = 1) -> None:
        """A pod takes room from ``at`` on; ``sign`` -1: it gives it back."""
        self.advance(at)
        free = self.free[node]
        for name, amount in shape.requests:
            free[name] -= sign * amount
            self._taken[name] += sign * amount

    def advance(self, at: float) -> None:
        """Count what was taken until ``at``."""
        seconds = at - self._at
        if seconds > 0:
            for name, amount in self._taken.items():
                self._busy[name] = self._busy.get(name, 0.0) + amount * seconds
            self._at = at

    def utilisation(self, since: float) -> Mapping[str, float]:
        """Return which part of each resource was taken between ``since`` and now, 0…1."""
        seconds = self._at - since
        return {
            name: self._busy.get(name, 0.0) / (total * seconds)
            for name, total in sorted(self._totals.items())
            if total and seconds > 0
        }


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
