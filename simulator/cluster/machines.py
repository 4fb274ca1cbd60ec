"""What is free on each machine, and how pods share the CPU of one that is short of it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shared.model import Node, NodeName, PodShape


class Capacity:
    """Free amounts by node, and how much of the cluster was used over time.

    Attributes:
        free: Node → resource → free amount, in base units.
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
        """Return what a node lacks for one more pod; empty if the pod fits."""
        free = self.free.get(node)
        if free is None:
            return f"there is no node {node}"
        for name, amount in shape.requests:
            if free.get(name, 0) < amount:
                return f"{node} has {free.get(name, 0)} of {name} left, the pod asks for {amount}"
        return ""

    def take(self, at: float, node: NodeName, shape: PodShape, sign: int = 1) -> None:
        """Take what a pod needs from ``at`` on; with ``sign`` -1 give it back."""
        self.advance(at)
        free = self.free[node]
        for name, amount in shape.requests:
            free[name] -= sign * amount
            self._taken[name] += sign * amount

    def advance(self, at: float) -> None:
        """Count what was in use until ``at``."""
        seconds = at - self._at
        if seconds > 0:
            for name, amount in self._taken.items():
                self._busy[name] = self._busy.get(name, 0.0) + amount * seconds
            self._at = at

    def utilisation(self, since: float) -> Mapping[str, float]:
        """Return the mean share of each resource in use between ``since`` and now, 0…1."""
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
    """CPU demand of equal ``pods``: ``milli`` and ``weight`` of each."""

    pods: int
    milli: int
    weight: float


def shares(claims: Mapping[Member, Claim], capacity_milli: int) -> dict[Member, float]:
    """Return the share of its demand that each pod gets, 0…1.

    Processor sharing by weight: no pod gets more than it demands, what one leaves the others share,
    and pods that get less than they demand get the same per unit of weight.
    """
    left, weight = float(capacity_milli), sum(c.pods * c.weight for c in claims.values())
    granted_shares: dict[Member, float] = {}
    for member, claim in sorted(claims.items(), key=lambda item: _demand_by_weight(*item)):
        level = max(0.0, left) / weight  # CPU per unit of weight
        granted = min(float(claim.milli), level * claim.weight)
        granted_shares[member] = granted / claim.milli if claim.milli else 1.0
        left -= claim.pods * granted
        weight -= claim.pods * claim.weight
    return granted_shares


def _demand_by_weight(member: Member, claim: Claim) -> tuple[float, Member]:
    return claim.milli / claim.weight, member


class Processor:
    """The CPU of a machine, and the demands of its pods."""

    def __init__(self, capacity_milli: int) -> None:
        self._capacity_milli = capacity_milli
        self._claims: dict[Member, Claim] = {}
        self._demanded_milli = 0
        self._shares: dict[Member, float] | None = None

    @property
    def crowded(self) -> bool:
        """True if its pods demand more than it has."""
        return self._demanded_milli > self._capacity_milli

    @property
    def jobs(self) -> frozenset[str]:
        """Jobs with pods on this machine."""
        return frozenset(member.job for member in self._claims)

    def put(self, member: Member, claim: Claim | None) -> None:
        """Set the demand of pods; None: they left, or pause."""
        before = self._claims.pop(member, None)
        if before is not None:
            self._demanded_milli -= before.pods * before.milli
        if claim is not None:
            self._claims[member] = claim
            self._demanded_milli += claim.pods * claim.milli
        self._shares = None

    def share(self, member: Member) -> float:
        """Return the share of their demand that these pods get, 0…1."""
        if not self.crowded:
            return 1.0
        if self._shares is None:
            self._shares = shares(self._claims, self._capacity_milli)
        return self._shares[member]
