"""Placement of a job of one pod, computed from that of the last pod like it.

Thousands of single pods request the same, and each takes room on one node: the terms, the fit and
the slots of all other nodes are known from the pod before, so only the nodes that changed are
computed again. The result equals that of ``gang.place`` (docs/policies/gang.md); there is none for
pods whose placement needs more than each node by itself.
"""

from typing import Final

import numpy as np

from extender.core.cluster.snapshot import Slot
from extender.core.nodes.node_table import BoolVector, FloatVector, IntVector, NodeTable
from extender.core.parameters.placement import NodePriceParameters, ScoringWeights
from extender.core.placement import scoring as prices
from extender.core.placement import wishes
from extender.core.placement.allocation import DIGITS, GangPod, Need, needs
from extender.core.placement.gang import ONE_NODE
from extender.core.placement.placement import Placement
from extender.core.placement.scoring import Terms
from extender.core.placement.tiers import possible_tiers
from shared.model import PODS, NodeName, PodShape, Uid

MOST_SHAPES: Final = 32
"""Shapes that are kept; the least recently used one goes."""


class SinglePodPlacements:
    """Nodes of pods without others, by shape. A cache: what it says depends on no earlier call."""

    def __init__(self) -> None:
        self._rankings: dict[PodShape, _Ranking] = {}

    def place(
        self,
        pod: GangPod,
        table: NodeTable,
        *,
        spare_count: int,
        weights: ScoringWeights,
        pricing: NodePriceParameters,
    ) -> Placement | None:
        """Return the placement of a job of one pod, without members, relations or topology.

        Args:
            pod: The pod.
            table: What is free.
            spare_count: How many other nodes are named.
            weights: Of the terms.
            pricing: Of the term ``price``.

        Returns:
            None where no node takes the pod, or where ``gang.place`` is needed: host ports,
            no requests.
        """
        ranking = self._ranking(pod.shape, table, weights, pricing)
        return None if ranking is None else ranking.placement(pod, spare_count, weights)

    def node(
        self,
        shape: PodShape,
        table: NodeTable,
        *,
        weights: ScoringWeights,
        pricing: NodePriceParameters,
        within: BoolVector | None = None,
    ) -> NodeName | None:
        """Return the node of such a pod alone, of those ``within``; see ``place``."""
        ranking = self._ranking(shape, table, weights, pricing)
        return None if ranking is None else ranking.node(weights, within)

    def take(
        self,
        shape: PodShape,
        table: NodeTable,
        *,
        weights: ScoringWeights,
        pricing: NodePriceParameters,
        within: BoolVector,
    ) -> tuple[NodeName, NodeTable] | None:
        """Return the node of such a pod, of those ``within``, and the table with it; see ``place``.

        The next call for the same shape looks at that node alone, if it is given that table.
        """
        ranking = self._ranking(shape, table, weights, pricing)
        return None if ranking is None else ranking.take(weights, within)

    def _ranking(
        self,
        shape: PodShape,
        table: NodeTable,
        weights: ScoringWeights,
        pricing: NodePriceParameters,
    ) -> "_Ranking | None":
        """Return the ranking of the nodes for a pod of the shape."""
        if shape.host_ports or not any(amount for name, amount in shape.requests if name != PODS):
            return None
        ranking = self._rankings.pop(shape, None)
        if ranking is None or not ranking.is_about(table, weights, pricing):
            need = needs([GangPod(Uid(""), "", "", 0, shape)], table)[shape]
            if not need.slots.any():
                return None
            ranking = _Ranking(need, table, weights, pricing)
        self._rankings[shape] = ranking
        if len(self._rankings) > MOST_SHAPES:
            del self._rankings[next(iter(self._rankings))]
        ranking.move_to(table)
        return ranking


class _Ranking:
    """The nodes ranked for one more pod of a shape, on the last node table."""

    def __init__(
        self, need: Need, table: NodeTable, weights: ScoringWeights, pricing: NodePriceParameters
    ) -> None:
        count = len(table.nodes)
        self._need, self._room, self._weights, self._pricing = need, table, weights, pricing
        self._tiers = [tier[need] for tier in possible_tiers([need], table, weights, ())]
        self._preference = wishes.preference(need.shape, table, ())
        self._sparing = prices.sparing(need.shape, table, np.ones(count, dtype=np.bool_))
        self._asked = np.flatnonzero(need.request)
        self._packed = self._asked[table.goods[self._asked]]
        self._log_shares = prices.log_shares(table, need.request, self._asked)
        self._slots: IntVector = np.zeros(count, dtype=np.int64)
        self._free_ratio: FloatVector = np.zeros(count)
        self._log_bills: FloatVector = np.zeros(count)
        self._rank(np.arange(count))

    def is_about(
        self, table: NodeTable, weights: ScoringWeights, pricing: NodePriceParameters
    ) -> bool:
        """Return True if only the used amounts may differ from the last node table."""
        own = self._room
        same = table.nodes is own.nodes and table.classes is own.classes
        same = same and table.allocatable is own.allocatable and table.resources == own.resources
        return same and (weights, pricing) == (self._weights, self._pricing)

    def move_to(self, table: NodeTable) -> None:
        """Rank the nodes anew on which other amounts are used now."""
        if table is not self._room:
            rows = np.flatnonzero((table.used != self._room.used).any(axis=1))
            self._room = table
            if rows.size:
                self._rank(rows)

    def node(self, weights: ScoringWeights, within: BoolVector | None) -> NodeName | None:
        """Return where the pod goes; the table stays as it is."""
        chosen = self._chosen(weights, within)
        return None if chosen is None else self._room.nodes[chosen].name

    def take(
        self, weights: ScoringWeights, within: BoolVector
    ) -> tuple[NodeName, NodeTable] | None:
        """Return where the pod goes, and move to the table with the pod."""
        chosen = self._chosen(weights, within)
        if chosen is None:
            return None
        self._add_to(chosen)
        return self._room.nodes[chosen].name, self._room

    def placement(
        self, pod: GangPod, spare_count: int, weights: ScoringWeights
    ) -> Placement | None:
        """Return where the pod goes, and move to the table with the pod."""
        candidates = self._slots > 0
        if not candidates.any():
            return None
        terms = self._terms(candidates)
        total = terms.total(weights).round(DIGITS)
        node = _highest(total, self._fullest(candidates))
        self._add_to(node)
        return Placement(
            nodes={pod.uid: self._room.nodes[node].name},
            order=(pod.uid,),
            spares={pod.uid: self._spares(node, total, spare_count)},
            rule=ONE_NODE,
            node_table=self._room,
            bucket_of={},
            terms={pod.uid: terms.explain(node)},
        )

    def _chosen(self, weights: ScoringWeights, within: BoolVector | None) -> int | None:
        candidates = self._slots > 0 if within is None else within & (self._slots > 0)
        if not candidates.any():
            return None
        fullest = self._fullest(candidates)
        if fullest.size == 1:  # mostly: the node of the pod before
            return int(fullest[0])
        return _highest(self._terms(candidates).total(weights).round(DIGITS), fullest)

    def _add_to(self, node: int) -> None:
        """Move to the table with a pod on the node."""
        used = self._room.used.copy()
        used[node] += self._need.request
        self._room = self._room.replaced(used=used, ports=self._room.ports)
        self._rank(np.array([node]))

    def _fullest(self, candidates: BoolVector) -> IntVector:
        """Return the nodes with the least share free with the pod on it, in order of name.

        They are of the first tier that has candidates.
        """
        tier = next((mask for mask in self._tiers if (mask & candidates).any()), None)
        nodes = np.flatnonzero(candidates if tier is None else candidates & tier)
        free_after = self._free_ratio[nodes].round(DIGITS)
        fullest: IntVector = nodes[free_after == free_after.min()]
        return fullest

    def _spares(self, node: int, total: FloatVector, count: int) -> tuple[NodeName, ...]:
        """Highest weighted sum, then the name, where one more such pod fits."""
        worth = np.where(self._slots > 0, total, -np.inf)
        worth[node] = -np.inf
        spares: list[NodeName] = []
        for _ in range(count):
            best = int(worth.argmax())
            if worth[best] == -np.inf:
                break
            spares.append(self._room.nodes[best].name)
            worth[best] = -np.inf
        return tuple(spares)

    def _terms(self, candidates: BoolVector) -> Terms:
        nothing = np.zeros(candidates.shape)
        price = np.zeros(candidates.shape)
        price[candidates] = prices.price_scores(self._log_bills[candidates]) / prices.BEST_SCORE
        packing = np.clip(1.0 - self._free_ratio, 0.0, 1.0)
        return Terms(
            affinity=nothing,
            locality=nothing,
            packing=np.where(candidates, packing, 0.0),
            price=price,
            preference=_among(candidates, self._preference),
            sparing=_among(candidates, self._sparing),
        )

    def _rank(self, rows: IntVector) -> None:
        """Compute slots, fit and price of these nodes for one more pod."""
        table, need = self._room, self._need
        allocatable, used = table.allocatable[rows], table.used[rows]
        self._slots[rows] = need.slots_in(allocatable - used, need.open[rows])
        capacity = allocatable[:, self._packed]
        left = capacity - used[:, self._packed] - need.request[self._packed]
        ratio = np.divide(left, capacity, out=np.ones(capacity.shape), where=capacity > 0)
        self._free_ratio[rows] = ratio.mean(axis=1)
        ratios = prices.log_price_rows(allocatable, used, self._pricing)[:, self._asked]
        self._log_bills[rows] = prices.log_sum(ratios + self._log_shares)


def _among(candidates: BoolVector, term: FloatVector | None) -> FloatVector | None:
    return None if term is None else np.where(candidates, term, 0.0)


def _highest(total: FloatVector, nodes: IntVector) -> int:
    """Return the node with the highest weighted sum, the first of equal ones."""
    return int(nodes[total[nodes].argmax()])


SINGLE_PODS: Final[Slot[SinglePodPlacements]] = Slot(SinglePodPlacements)
