"""Speeds and loss curves of the jobs of traces, as tables or formulas."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


def between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Return the value at ``x``, linear between neighbours, constant beyond the ends.

    Args:
        xs: Rising positions.
        ys: Value at each of ``xs``.
        x: Position of the result.
    """
    if x <= xs[0]:
        return ys[0]
    if x >= xs[-1]:
        return ys[-1]
    high = bisect_right(xs, x)
    low = high - 1
    return ys[low] + (x - xs[low]) / (xs[high] - xs[low]) * (ys[high] - ys[low])


@dataclass(frozen=True)
class Proportional:
    """Each worker adds the same speed; each further node costs a share of it.

    Attributes:
        locality: Factor for each node beyond the fewest that could hold the workers; 1: none.
        per_node: Workers that one node can hold; 0: any number.
    """

    locality: float = 1.0
    per_node: int = 0

    def rate(self, workers: int, nodes: int) -> float:
        """Return worker-seconds per second; see ``workload.Speed``."""
        fewest = math.ceil(workers / self.per_node) if self.per_node else 1
        return workers * self.locality ** max(0, nodes - fewest)


@dataclass(frozen=True)
class Measured:
    """Speed by number of workers, as a table: linear between entries, constant beyond them.

    Attributes:
        workers: Rising; the speed of no workers is 0.
        rates: Units of work per second, one for each.
        locality: Factor for each node beyond the first.
    """

    workers: tuple[float, ...]
    rates: tuple[float, ...]
    locality: float = 1.0

    def rate(self, workers: int, nodes: int) -> float:
        """Return units of work per second; see ``workload.Speed``."""
        if workers <= 0:
            return 0.0
        return between(self.workers, self.rates, workers) * self.locality ** max(0, nodes - 1)


@dataclass(frozen=True)
class Located:
    """A fixed number of workers whose speed depends on their number of nodes.

    Attributes:
        factors: Nodes → speed relative to the fewest nodes that could hold them.
        fewest: How many nodes that is.
    """

    factors: Mapping[int, float]
    fewest: int = 1

    def rate(self, workers: int, nodes: int) -> float:
        """Return worker-seconds per second; see ``workload.Speed``."""
        extra = max(1, nodes - self.fewest + 1)
        measured = sorted(self.factors)
        return workers * between(measured, [self.factors[n] for n in measured], extra)


@dataclass(frozen=True)
class Exponential:
    """A loss that falls like exp(-speed·share) from 1 to ``floor``.

    Attributes:
        speed: k; a larger one converges earlier.
        floor: Loss at the end, relative to the start.
    """

    speed: float
    floor: float = 0.1

    def loss(self, share: float) -> float:
        """Return the loss at a share of the work; see ``workload.Curve``."""
        left = math.exp(-self.speed * share) - math.exp(-self.speed)
        return self.floor + (1.0 - self.floor) * left / (1.0 - math.exp(-self.speed))


@dataclass(frozen=True)
class Points:
    """A measured curve: linear between points, extrapolated before the first.

    Attributes:
        shares: Of the work, 0…1, rising.
        losses: Value at each share; a rising metric is given as its distance from the maximum.
    """

    shares: tuple[float, ...]
    losses: tuple[float, ...]

    def loss(self, share: float) -> float:
        """Return the loss at a share of the work; see ``workload.Curve``."""
        if share >= self.shares[0] or len(self.shares) == 1:
            return between(self.shares, self.losses, share)
        slope = (self.losses[1] - self.losses[0]) / (self.shares[1] - self.shares[0])
        return self.losses[0] + slope * (share - self.shares[0])
