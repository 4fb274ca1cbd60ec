"""How good a node is for a pod: named terms and their weights (docs/policies/scoring.md).

One function for the planner and for ``prioritize``, so that a gang is placed by the same rule by
which kube-scheduler is answered, and ``explain`` shows what was decided with.

The term ``price`` is what a node costs by the dual prices of OASiS (docs/policies/pricing.md).
Prices live in log space only: U/L may span many powers of ten. The unit of value is free, because
only differences between nodes are read; it is chosen so that an idle resource costs 1 (ln L = 0).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeVar

import numpy as np

from extender.core.nodes.gpus import has_gpu
from extender.core.nodes.node_table import (
    LIMIT,
    BoolVector,
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    NodeTable,
)
from extender.core.parameters.placement import NodePriceParameters, ScoringWeights
from shared.accelerators import is_gpu
from shared.model import PodShape

_Ratio = TypeVar("_Ratio", float, FloatMatrix)


BEST_SCORE: Final = 10.0
"""An extender's scores go from 0 to 10 (kube-scheduler ``MaxExtenderPriority``)."""


EQUAL_LOG_BILLS: Final = 1e-9
"""Bills nearer than this factor are one bill: rounding must not be stretched to 0…10."""


def log_price(used_ratio: _Ratio, log_low: float, log_high: float) -> _Ratio:
    """Return ln P of a resource of which the share ``used_ratio`` = g/c is taken.

    ``ln P = (1 - g/c)·ln L + (g/c)·ln U``: P(0) = L, P(c) = U, exponential between.

    Args:
        used_ratio: g/c; above 1 where a resource is overcommitted, and then dearer than U.
        log_low: ln L, the price of an idle resource.
        log_high: ln U, the price of a full one; above ``log_low``.

    Returns:
        ln of value per unit of the resource; strictly increasing in ``used_ratio``.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, (22).
    """
    return (1.0 - used_ratio) * log_low + used_ratio * log_high


def log_prices(table: NodeTable, params: NodePriceParameters) -> FloatMatrix:
    """Return ln(P/L), 0…ln κ, of every resource on every node; +inf where a node has none."""
    return log_price_rows(table.allocatable, table.used, params)


def log_price_rows(
    allocatable: IntMatrix, used: IntMatrix, params: NodePriceParameters
) -> FloatMatrix:
    """Return ``log_prices`` of some nodes alone: a node's prices depend on no other's."""
    present = allocatable > 0
    used_ratio = np.divide(used, allocatable, out=np.zeros(present.shape), where=present)
    prices = log_price(used_ratio, 0.0, math.log(params.kappa))
    return np.where(present, prices, np.inf)


def log_bills(table: NodeTable, shape: PodShape, params: NodePriceParameters) -> FloatVector:
    """Return ln of what each node charges for one pod of ``shape``.

    ``bill = Σ_r P_r(g)·ŵ_r`` over the requested resources, with ŵ_r the amount requested divided
    by the largest capacity any node has of r, so that the sum adds like with like.

    Returns:
        One number a node, in name order; +inf where the node lacks a requested resource, and -inf
        everywhere for a pod that requests nothing.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, the bill of (20) for one worker in one slot.
    """
    request = table.request(shape)
    if request is None:
        return np.full(len(table.nodes), np.inf)
    priced = [not name.endswith(LIMIT) for name in table.resources]
    requested = np.flatnonzero(request.astype(bool) & priced)
    if not requested.size or not table.nodes:
        return np.full(len(table.nodes), -np.inf)
    return log_sum(log_prices(table, params)[:, requested] + log_shares(table, request, requested))


def log_shares(table: NodeTable, request: IntVector, requested: IntVector) -> FloatVector:
    """Return ln ŵ_r of ``log_bills`` for the columns ``requested``; the same on every node."""
    largest = np.maximum(table.allocatable[:, requested].max(axis=0), 1)
    shares: FloatVector = np.log(request[requested] / largest)
    return shares


def price_scores(bills: FloatVector) -> FloatVector:
    """Return the log bills of the candidates as scores: the cheapest 10, the dearest 0.

    Linear in the log bill between; 10 for all where all are equal, 0 for an infinite bill beside
    a finite one. Adding a constant to every log bill changes nothing.
    """
    if not bills.size or bills.min() in {np.inf, -np.inf}:
        return np.full(bills.shape, BEST_SCORE)
    cheapest, dearest = bills.min(), bills[np.isfinite(bills)].max()
    if dearest - cheapest < EQUAL_LOG_BILLS:
        return np.where(np.isfinite(bills), BEST_SCORE, 0.0)
    position: FloatVector = np.clip((dearest - bills) / (dearest - cheapest), 0.0, 1.0)
    return BEST_SCORE * position


def log_sum(addends: FloatMatrix) -> FloatVector:
    """Return ln Σ exp of each row without overflow; +inf where the row holds +inf."""
    largest = addends.max(axis=1)
    finite = np.isfinite(largest)
    total = np.full(largest.shape, np.inf)
    shifted = np.exp(addends[finite] - largest[finite, None])
    total[finite] = largest[finite] + np.log(shifted.sum(axis=1))
    return total


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of one pod on every node, in name order, 0…1; 0 where it is no candidate.

    A term that says nothing about the pod is None and counts for nothing.

    Attributes:
        affinity: Bucket affinity.
        locality: Share of the job's placed members that are there.
        packing: How full the node is with the pod on it.
        price: How cheap the node is among the candidates.
        preference: How far its owner prefers the node; None if it prefers none.
        sparing: Whether the node has no GPUs; None if the pod requests one, or no node has any.
    """

    affinity: FloatVector
    locality: FloatVector
    packing: FloatVector
    price: FloatVector
    preference: FloatVector | None = None
    sparing: FloatVector | None = None

    def total(self, weights: ScoringWeights) -> FloatVector:
        """Return the weighted mean of the terms, 0…1."""
        found = [(getattr(weights, name), term) for name, term in self._named().items()]
        total: FloatVector = np.sum([w * term for w, term in found], axis=0)
        mean: FloatVector = total / sum(w for w, _ in found)
        return mean

    def explain(self, node: int) -> dict[str, float]:
        """Return every term of the node of this index, by name."""
        return {name: float(term[node]) for name, term in self._named().items()}

    def _named(self) -> dict[str, FloatVector]:
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: term for name, term in named.items() if term is not None}


def terms(
    shape: PodShape,
    table: NodeTable,
    *,
    members_on_node: IntVector,
    bucket_score: FloatVector | None,
    candidates: BoolVector,
    pricing: NodePriceParameters,
    domains: Sequence[str | None] | None = None,
    preference: FloatVector | None = None,
) -> Terms:
    """Return the terms of one more pod of ``shape`` on every node.

    Args:
        shape: What the pod requests.
        table: The nodes and what is taken on them, without this pod.
        members_on_node: How many members of the job are already placed, by node.
        bucket_score: ``buckets.node_score`` by node, any scale, may be negative; None where the
            job declares no affinity.
        candidates: The nodes that are compared; ``price`` and ``affinity`` are relative to them.
        pricing: Parameters of the price.
        domains: Each node's topology domain; None counts members by node.
        preference: How far the owner of the pod prefers each node, 0…1; None if it prefers none.

    Source:
        Ours; what each term comes from is in docs/policies/scoring.md.
    """
    price = np.zeros(len(table.nodes))
    bills = log_bills(table, shape, pricing)
    price[candidates] = price_scores(bills[candidates]) / BEST_SCORE
    return Terms(
        affinity=_affinity(bucket_score, candidates),
        locality=np.where(candidates, _locality(members_on_node, domains), 0.0),
        packing=np.where(candidates, _packing(shape, table), 0.0),
        price=price,
        preference=None if preference is None else np.where(candidates, preference, 0.0),
        sparing=sparing(shape, table, candidates),
    )


def sparing(shape: PodShape, table: NodeTable, candidates: BoolVector) -> FloatVector | None:
    """Return 1 for candidates without GPUs; None for a pod with GPUs, or where no node has any."""
    if any(is_gpu(name) for name, _ in shape.requests):
        return None
    with_gpus = has_gpu(table)
    return np.where(candidates & ~with_gpus, 1.0, 0.0) if with_gpus.any() else None


def prioritize_scores(total: FloatVector) -> IntVector:
    """Return totals as an extender's whole scores 0…10, rounded half up.

    Source:
        kube-scheduler extender v1: ``HostPriority.score``, 0 to ``MaxExtenderPriority``.
    """
    rounded = np.floor(BEST_SCORE * total + 0.5)
    return np.clip(rounded, 0, BEST_SCORE).astype(np.int64)


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
    keys = [
        name or i for i, name in enumerate(domains)
    ]  # a node without the label is a domain of its own
    inside: Counter[str | int] = Counter()
    for key, members in zip(keys, members_on_node.tolist(), strict=True):
        inside[key] += members
    return np.array([inside[key] for key in keys]) / float(placed)


def _packing(shape: PodShape, table: NodeTable) -> FloatVector:
    """Return 1 - mean free ratio with the pod on the node, over what the pod requests."""
    request = table.request(shape)
    if request is None or not (request.astype(bool) & table.goods).any():
        return np.zeros(len(table.nodes))  # nothing that could be packed
    requested = np.flatnonzero(request.astype(bool) & table.goods)
    capacity = table.allocatable[:, requested]
    left = capacity - table.used[:, requested] - request[requested]
    free_ratio = np.divide(left, capacity, out=np.ones(capacity.shape), where=capacity > 0)
    packed: FloatVector = np.clip(1.0 - free_ratio.mean(axis=1), 0.0, 1.0)
    return packed
