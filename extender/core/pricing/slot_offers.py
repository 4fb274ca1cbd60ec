"""Offers of the slots to a job: machines by rising price, and how many pods each has room for."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extender.core.pricing.slots import Allocation, FloatMatrix, FloatVector, IntVector, Pool
from extender.core.pricing.training_job import ROUNDING

IntMatrix = NDArray[np.int64]
_NONE: Final = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Offers:
    """The offers of slots in a row, to one kind of pod.

    Attributes:
        first: The slot of row 0.
        order: Machines of each slot by rising price, equal ones by their row, (S, M).
        counts: Pods that each has room for in that order, up to ``most`` in a slot, (S, M).
        costs: Price of the first 0, 1, …, ``most`` pods together, (S, most + 1); +inf beyond room.
    """

    first: int
    order: IntMatrix
    counts: IntMatrix
    costs: FloatMatrix

    def cheapest(self, row: int, pods: int) -> tuple[IntVector, IntVector]:
        """Return machines and counts of the ``pods`` cheapest in the slot of ``row``."""
        counts = self.counts[row]
        before = counts.cumsum() - counts
        taken = np.clip(pods - before, 0, counts)
        used = taken > 0
        return self.order[row][used], taken[used]


def prices(
    used: FloatMatrix, capacity: FloatVector, log_low: float, log_high: float
) -> FloatMatrix:
    """Return P of one resource, (22), for amounts ``used`` (S, M) of ``capacity`` (M,).

    The exponential of ``pricing.log_price``, with the slope taken once a machine.
    """
    slope = (log_high - log_low) / np.where(capacity > 0, capacity, 1.0)
    price: FloatMatrix = used * slope
    price += log_low
    return np.exp(price, out=price)


def unit_prices(
    pool: Pool, rows: slice, demand: tuple[float, ...], lows: FloatVector, highs: FloatVector
) -> FloatMatrix:
    """Return the price of one pod on every machine in the slots of ``rows``, (S, M).

    Added up resource by resource, so that equal machines cost the same to the last bit.
    """
    price = np.zeros(pool.used[0, rows].shape)
    for r, amount in enumerate(demand):
        if amount > 0:
            each = prices(pool.used[r, rows], pool.capacity[r], lows[r], highs[r])
            price += amount * each
    return price


def free_pods(pool: Pool, rows: slice, demand: tuple[float, ...], most: int) -> FloatMatrix:
    """Return how many pods each machine can take in the slots of ``rows``, (S, M), ≤ ``most``.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, (30), (31); resources that are not requested do not count.
    """
    room = np.full(pool.used[0, rows].shape, float(most))
    for r, amount in enumerate(demand):
        if amount > 0:
            np.minimum(room, (pool.capacity[r] - pool.used[r, rows]) * (1.0 / amount), out=room)
    room += ROUNDING
    np.floor(room, out=room)
    np.maximum(room, 0.0, out=room)
    return room


def offers_of(
    pool: Pool,
    rows: slice,
    demand: tuple[float, ...],
    lows: FloatVector,
    highs: FloatVector,
    *,
    most: int,
) -> Offers:
    """Return the offers of the slots of ``rows`` to up to ``most`` pods of ``demand`` a slot."""
    price = unit_prices(pool, rows, demand, lows, highs)
    return arranged(rows.start + 1, price, free_pods(pool, rows, demand, most), most)


def arranged(first: int, price: FloatMatrix, room: FloatMatrix, most: int) -> Offers:
    """Return the offers of slots whose machines have these prices and rooms, both (S, M)."""
    slots, machines = price.shape
    order = price.argsort(axis=1, kind="stable")
    at = order + np.arange(0, slots * machines, max(1, machines))[:slots, None]
    upto = np.minimum(room.take(at).cumsum(axis=1), most)
    # Each pod costs its machine's price: first nothing, in the end a pod without room.
    each = np.empty((slots, machines + 2))
    each[:, 0], each[:, 1:-1], each[:, -1] = 0.0, price.take(at), np.inf
    times = np.ones(each.shape, dtype=np.int64)
    times[:, 1:-1], times[:, -1] = upto, most
    times[:, 2:] -= times[:, 1:-1]
    marginal = each.ravel().repeat(times.ravel()).reshape(slots, most + 1)
    return Offers(first, order, times[:, 1:-1], marginal.cumsum(axis=1))


def cheapest_allocation(offers: list[Offers], counts: IntVector) -> Allocation:
    """Return the cheapest machines for ``counts`` pods in each slot from the first offer's on."""
    slots, machines, each = [_NONE], [_NONE], [_NONE]
    left = iter(counts.tolist())
    for offer in offers:
        for row, count in zip(range(len(offer.costs)), left, strict=False):
            if count:
                there, taken = offer.cheapest(row, count)
                slots.append(np.full(len(there), offer.first + row, dtype=np.int64))
                machines.append(there)
                each.append(taken)
    return Allocation(np.concatenate(slots), np.concatenate(machines), np.concatenate(each))
