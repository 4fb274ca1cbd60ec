"""What a node costs: the dual prices of OASiS, used for placement (docs/policies/pricing.md).

Prices live in log space only: U/L may span many powers of ten. The unit of value is free, because
only differences between nodes are read; it is chosen so that an idle resource costs 1 (ln L = 0).
"""

import math
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from extender.core.nodes.node_table import IntMatrix, IntVector, NodeTable
from extender.core.parameters.placement import NodePriceParameters
from shared.model import PodShape

FloatVector = NDArray[np.float64]


FloatMatrix = NDArray[np.float64]


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


def log_prices(room: NodeTable, params: NodePriceParameters) -> FloatMatrix:
    """Return ln(P/L), 0…ln κ, of every resource on every node; +inf where a node has none."""
    return log_price_rows(room.allocatable, room.used, params)


def log_price_rows(
    allocatable: IntMatrix, used: IntMatrix, params: NodePriceParameters
) -> FloatMatrix:
    """Return ``log_prices`` of some nodes alone: a node's prices depend on no other's."""
    present = allocatable > 0
    used_ratio = np.divide(used, allocatable, out=np.zeros(present.shape), where=present)
    prices = log_price(used_ratio, 0.0, math.log(params.kappa))
    return np.where(present, prices, np.inf)


def log_bills(room: NodeTable, shape: PodShape, params: NodePriceParameters) -> FloatVector:
    """Return ln of what each node charges for one pod of ``shape``.

    ``bill = Σ_r P_r(g)·ŵ_r`` over the resources asked for, with ŵ_r the amount asked for divided
    by the largest capacity any node has of r, so that the sum adds like with like.

    Returns:
        One number a node, in name order; +inf where the node lacks a resource asked for, and -inf
        everywhere for a pod that asks for nothing.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, the bill of (20) for one worker in one slot.
    """
    request = room.request(shape)
    if request is None:
        return np.full(len(room.nodes), np.inf)
    asked = np.flatnonzero(request)
    if not asked.size or not room.nodes:
        return np.full(len(room.nodes), -np.inf)
    return log_sum(log_prices(room, params)[:, asked] + log_shares(room, request, asked))


def log_shares(room: NodeTable, request: IntVector, asked: IntVector) -> FloatVector:
    """Return ln ŵ_r of ``log_bills`` for the columns ``asked``; the same on every node."""
    largest = np.maximum(room.allocatable[:, asked].max(axis=0), 1)
    shares: FloatVector = np.log(request[asked] / largest)
    return shares


def scores(bills: FloatVector) -> FloatVector:
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
