"""How good a node is for a pod: four named terms and their weights (docs/policies/scoring.md).

One function for the planner and for ``prioritize``, so that a gang is placed by the same rule by
which kube-scheduler is answered, and ``explain`` shows what was decided with.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from extender.core.nodes.node_table import BoolVector, IntVector, NodeTable
from extender.core.parameters.placement import NodePriceParameters, ScoringWeights
from extender.core.placement import node_prices as prices
from extender.core.placement.node_prices import FloatVector
from shared.model import PODS, PodShape


@dataclass(frozen=True, eq=False)
class Terms:
    """The four terms of one pod on every node, in name order, 0…1; 0 where it is no candidate.

    Attributes:
        affinity: Bucket affinity.
        locality: Share of the job's placed members that are there.
        packing: How full the node is with the pod on it.
        price: How cheap the node is among the candidates.
    """

    affinity: FloatVector
    locality: FloatVector
    packing: FloatVector
    price: FloatVector

    def total(self, weights: ScoringWeights) -> FloatVector:
        """Return the weighted mean of the terms, 0…1."""
        names = [f.name for f in fields(weights)]
        weighted = [getattr(weights, name) * getattr(self, name) for name in names]
        total: FloatVector = np.sum(weighted, axis=0) / sum(getattr(weights, n) for n in names)
        return total

    def explain(self, node: int) -> dict[str, float]:
        """Return every term of the node of this index, by name."""
        return {f.name: float(getattr(self, f.name)[node]) for f in fields(self)}


def terms(
    shape: PodShape,
    room: NodeTable,
    *,
    members_on_node: IntVector,
    bucket_score: FloatVector | None,
    candidates: BoolVector,
    pricing: NodePriceParameters,
    domains: Sequence[str | None] | None = None,
) -> Terms:
    """Return the terms of one more pod of ``shape`` on every node.

    Args:
        shape: What the pod asks for.
        room: The nodes and what is taken on them, without this pod.
        members_on_node: How many members of the job are already placed, by node.
        bucket_score: ``buckets.node_score`` by node, any scale, may be negative; None where the
            job declares no affinity.
        candidates: The nodes that are compared; ``price`` and ``affinity`` are relative to them.
        pricing: Parameters of the price.
        domains: Each node's topology domain; None counts members by node.

    Source:
        Ours; what each term comes from is in docs/policies/scoring.md.
    """
    price = np.zeros(len(room.nodes))
    log_bills = prices.log_bills(room, shape, pricing)
    price[candidates] = prices.scores(log_bills[candidates]) / prices.BEST_SCORE
    return Terms(
        affinity=_affinity(bucket_score, candidates),
        locality=np.where(candidates, _locality(members_on_node, domains), 0.0),
        packing=np.where(candidates, _packing(shape, room), 0.0),
        price=price,
    )


def prioritize_scores(total: FloatVector) -> IntVector:
    """Return totals as an extender's whole scores 0…10, rounded half up.

    Source:
        kube-scheduler extender v1: ``HostPriority.score``, 0 to ``MaxExtenderPriority``.
    """
    rounded = np.floor(prices.BEST_SCORE * total + 0.5)
    return np.clip(rounded, 0, prices.BEST_SCORE).astype(np.int64)


def _affinity(bucket_score: FloatVector | None, candidates: BoolVector) -> FloatVector:
    """Bring bucket scores to 0…1; 0 counts as offered, so that proportions stay."""
    result = np.zeros(candidates.shape)
    if bucket_score is None or not candidates.any():
        return result
    offered = bucket_score[candidates]
    low, high = min(0.0, offered.min()), max(0.0, offered.max())
    if high > low:
        result[candidates] = (offered - low) / (high - low)
    return result


def _locality(members_on_node: IntVector, domains: Sequence[str | None] | None) -> FloatVector:
    """Return the share of the placed members on each node, or in each node's domain."""
    placed = members_on_node.sum()
    if not placed:
        return np.zeros(members_on_node.shape)
    if domains is None:
        return np.asarray(members_on_node / placed)
    keys = [name or i for i, name in enumerate(domains)]  # a node without the label stands alone
    inside: Counter[str | int] = Counter()
    for key, members in zip(keys, members_on_node.tolist(), strict=True):
        inside[key] += members
    return np.array([inside[key] for key in keys]) / float(placed)


def _packing(shape: PodShape, room: NodeTable) -> FloatVector:
    """Return 1 - mean free ratio with the pod on the node, over what the pod asks for."""
    request = room.request(shape)
    asked = [] if request is None else [i for i in np.flatnonzero(request) if i != _pods(room)]
    if request is None or not asked:  # nothing that could be packed: the pod count is a limit only
        return np.zeros(len(room.nodes))
    capacity = room.allocatable[:, asked]
    left = capacity - room.used[:, asked] - request[asked]
    free_ratio = np.divide(left, capacity, out=np.ones(capacity.shape), where=capacity > 0)
    packed: FloatVector = np.clip(1.0 - free_ratio.mean(axis=1), 0.0, 1.0)
    return packed


def _pods(room: NodeTable) -> int:
    return room.resources.index(PODS)
