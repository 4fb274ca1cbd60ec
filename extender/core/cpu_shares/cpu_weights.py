"""More CPU for containers that are near their end (docs/policies/cpu_weights.md).

Ours: least remaining work first, by CPU requests, which are the weights by which the kernel shares
a busy node. What the containers of a node were given together stays what it was.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.parameters.cpu_shares import CpuShareParameters
from shared.model import Uid

LEAST_CORE_SECONDS: Final = 1.0
"""A container that is all but done counts as this far from its end: no weight is infinite."""


@dataclass(frozen=True)
class Sharer:
    """A container whose CPU request may change.

    Attributes:
        uid: Its pod.
        given_milli: The request that its owner gave, in milli-CPU.
        remaining_core_seconds: Predicted CPU time to its end: the predicted remaining time by the
            cores it used meanwhile; None if not predictable. Not the remaining time itself: that
            falls as the share grows, and a weight made of it would feed itself.
        converged: Its training has converged.
        most_milli: Its request may not be above this (its CPU limit); None: no limit.
    """

    uid: Uid
    given_milli: int
    remaining_core_seconds: float | None
    converged: bool = False
    most_milli: int | None = None


def requests(sharers: Sequence[Sharer], params: CpuShareParameters) -> Mapping[Uid, int]:
    """Return the CPU request of every container of one node, in milli-CPU.

    ``weight = given * remaining^-exponent``, times ``converged_ratio`` if it is converged; the sum
    of what they were given is shared by weight, between floor and limit, in whole milli-CPU. A
    container without a prediction keeps what it was given, unless ``exponent`` is 0.

    The sum is never above what was given, and equal to it where no limit is in the way. Equal
    remaining work gives every container what its owner asked for.

    Args:
        sharers: The containers that take part.
        params: Exponent, ratio and floor; ``enabled`` is not read.

    Source:
        As ``WeightParameters``.
    """
    weighed = sorted(
        (s for s in sharers if params.exponent == 0 or _is_known(s.remaining_core_seconds)),
        key=lambda s: s.uid,  # of equal fractions the first uid is rounded up
    )
    total = sum(sharer.given_milli for sharer in weighed)
    bounds = [_bounds(sharer, params.floor_milli, total) for sharer in weighed]
    shares = _shared(total, _weights(weighed, params), bounds)
    whole = _rounded(min(total, sum(most for _, most in bounds)), shares, bounds)
    given = {sharer.uid: sharer.given_milli for sharer in sharers}
    return given | {sharer.uid: milli for sharer, milli in zip(weighed, whole, strict=True)}


def _is_known(remaining: float | None) -> bool:
    return remaining is not None and math.isfinite(remaining)


def _bounds(sharer: Sharer, floor_milli: int, total: int) -> tuple[int, int]:
    """Return the least and the most that the container may request."""
    most = total if sharer.most_milli is None else sharer.most_milli
    return min(floor_milli, sharer.given_milli, most), most


def _weights(sharers: Sequence[Sharer], params: CpuShareParameters) -> list[float]:
    """Return the weights, relative to the container nearest its end: none overflows."""
    left = [max(LEAST_CORE_SECONDS, s.remaining_core_seconds or 0.0) for s in sharers]
    given = [sharer.given_milli for sharer in sharers]
    nearest = min((x for x, milli in zip(left, given, strict=True) if milli), default=1.0)
    return [
        s.given_milli
        * (1.0 if not params.exponent else min(1.0, nearest / x) ** params.exponent)
        * (params.converged_ratio if s.converged else 1.0)
        for s, x in zip(sharers, left, strict=True)
    ]


def _shared(total: int, weights: Sequence[float], bounds: Sequence[tuple[int, int]]) -> list[float]:
    """Return ``total`` in proportion to the weights, within the bounds.

    Each round holds those that are beyond the bound which costs most, and shares what is left among
    the others, as CSS shares out flexible lengths.
    """
    shares = [0.0] * len(weights)
    free = set(range(len(weights)))
    left = float(total)
    while free:
        weight = sum(weights[i] for i in free)
        ideal = {i: left * weights[i] / weight if weight else 0.0 for i in free}
        held = {i: float(min(max(ideal[i], bounds[i][0]), bounds[i][1])) for i in free}
        beyond = sum(held[i] - ideal[i] for i in sorted(free))
        settled = {i for i in free if beyond == 0 or (held[i] - ideal[i]) * beyond > 0}
        for i in settled:
            shares[i] = held[i]
        left -= sum(held[i] for i in settled)
        free -= settled
    return shares


def _rounded(total: int, shares: Sequence[float], bounds: Sequence[tuple[int, int]]) -> list[int]:
    """Return whole shares that add up to ``total``: the largest fractions are rounded up."""
    whole = [math.floor(share) for share in shares]
    missing = total - sum(whole)
    for i in sorted(range(len(shares)), key=lambda i: (whole[i] - shares[i], i)):
        if missing > 0 and whole[i] < bounds[i][1]:
            whole[i] += 1
            missing -= 1
    return whole
