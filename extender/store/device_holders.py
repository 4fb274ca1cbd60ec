"""What takes room on nodes and has no devices yet, though it will get some."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from extender.core.nodes.device_catalog import is_claim
from extender.core.nodes.device_columns import Demand
from extender.store.device_claims import ClaimedDevices
from extender.store.device_names import Named, of_claims
from shared.model import Node, NodeName, PodClaim, PodShape, Uid
from shared.objects.devices import EXTENDED


@dataclass(frozen=True)
class Holder:
    """What takes room on a node: a pod, or a placeholder.

    Attributes:
        requests: Of extended resources, and of columns.
        claims: Each with its name in the pod, and what it names.
    """

    requests: tuple[tuple[str, int], ...] = ()
    claims: Named = ()


class Waiting(NamedTuple):
    """What has no devices yet on a node.

    Attributes:
        amounts: Of extended resources.
        claims: How many of each template, and the claims that exist by themselves.
    """

    amounts: tuple[tuple[str, int], ...] = ()
    claims: tuple[tuple[str, int], ...] = ()

    def columns(self, demands: Mapping[str, Demand]) -> Counter[str]:
        """Return how much of each column it will take."""
        found = Counter(dict(self.amounts))
        for name, number in self.claims:
            if name in demands:
                found.update({column: number * n for column, n in demands[name].columns})
        return found


NOTHING_WAITS: Final = Waiting()


class DeviceHolders:
    """By node.

    Args:
        claimed: What claims hold.
        allocated: Names of claims that have devices and that pods may name.
    """

    def __init__(self, claimed: ClaimedDevices, allocated: Container[str]) -> None:
        self._claimed, self._allocated = claimed, allocated
        self._holders: dict[NodeName, dict[Uid, Holder]] = {}
        self.node_of: dict[Uid, NodeName] = {}

    def hold(
        self, node: NodeName, uid: Uid, shape: PodShape, claims: Iterable[PodClaim], namespace: str
    ) -> bool:
        """Something takes room on a node; return False if devices do not matter to it."""
        requests = tuple(pair for pair in shape.requests if "/" in pair[0])
        named = of_claims(namespace, tuple(claims))
        if not requests and not named:
            return False
        self._holders.setdefault(node, {})[uid] = Holder(requests, named)
        self.node_of[uid] = node
        return True

    def release(self, node: NodeName, uid: Uid) -> bool:
        """Something leaves its node; return False if it was not there."""
        if self.node_of.get(uid) != node:
            return False
        del self.node_of[uid], self._holders[node][uid]
        if not self._holders[node]:
            del self._holders[node]
        return True

    def waiting(self, node: Node) -> Waiting:
        """Return what those that take room on a node will get devices for, and have none yet.

        A claim that several of a node's pods name counts once.
        """
        holders = self._holders.get(node.name)
        if holders is None:
            return NOTHING_WAITS
        amounts, claims = Counter[str](), Counter[str]()
        for uid, holder in holders.items():
            if holder.requests and not self._claimed.has(uid, EXTENDED):
                of_node = node.allocatable
                amounts.update({n: a for n, a in holder.requests if not of_node.get(n)})
            for name, named in holder.claims:
                if is_claim(named):
                    claims[named] = int(named not in self._allocated)
                elif not self._claimed.has(uid, name):
                    claims[named] += 1
        return Waiting(tuple(sorted(amounts.items())), tuple(sorted((+claims).items())))
