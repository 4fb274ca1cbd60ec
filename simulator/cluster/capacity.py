"""What is free on each machine, and how much of the cluster was taken over time."""

from collections import Counter
from collections.abc import Iterable, Mapping

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
