"""Which namespace's turn it is, and how much it may hold (docs/policies/fair_share.md).

Between namespaces only: which job of a namespace goes first is for another rule (``priority``).
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Annotated, Final, NamedTuple, TypeVar

import numpy as np
from annotated_types import Ge, Le

from extender.core.nodes.goods import dominant_share
from extender.core.nodes.node_table import IntVector
from extender.core.parameters.queue import FairShareParameters

T = TypeVar("T")


_SAME: Final = 1e-9
"""Shares nearer than this are one: quotients of integers, compared with sums of decimals."""


@dataclass(frozen=True)
class Entitlement:
    """What a namespace may expect; shares are parts of the cluster, 0…1.

    Attributes:
        weight: Its share counts divided by this; above 0.
        guaranteed: While it holds less, its jobs go before those of namespaces that hold theirs.
        borrowing: How much more than ``guaranteed`` it may hold; None: as much as there is.
    """

    weight: Annotated[float, Ge(0.001), Le(1000.0)] = 1.0
    guaranteed: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
    borrowing: Annotated[float | None, Ge(0.0), Le(1.0)] = None

    @property
    def limit(self) -> float:
        """The largest share it may hold; infinite if it has no limit."""
        return math.inf if self.borrowing is None else self.guaranteed + self.borrowing


class Turn(NamedTuple):
    """The place of a namespace among the others; the smaller goes first."""

    served: bool
    """It holds what it is guaranteed."""
    step: float
    """Its weighted share, in steps of the tolerance."""


def turn(share: float, entitled: Entitlement, params: FairShareParameters) -> Turn:
    """Return the place of a namespace that holds this dominant share.

    Source:
        Ghodsi et al., Sect. 4.3, for the weight; that a namespace below its guarantee goes
        first is Kueue's rule (what needs no borrowing before what does).
    """
    weighted = share / entitled.weight
    steps = weighted / params.tolerance + _SAME if params.tolerance > 0 else weighted
    step = float(math.floor(steps)) if params.tolerance > 0 else steps
    return Turn(served=share >= entitled.guaranteed - _SAME, step=step)


def allows(entitled: Entitlement, held: IntVector, capacity: IntVector) -> bool:
    """Return True if a namespace may hold so much."""
    return dominant_share(held, capacity) <= entitled.limit + _SAME


def within_guarantee(entitled: Entitlement, held: IntVector, capacity: IntVector) -> bool:
    """Return True if so much is no more than a namespace is guaranteed."""
    return dominant_share(held, capacity) <= entitled.guaranteed + _SAME


def has_spare(entitled: Entitlement, held: IntVector, left: IntVector, capacity: IntVector) -> bool:
    """Return True if a namespace holds more than it is guaranteed, and no less with what is left.

    Args:
        entitled: Of the namespace.
        held: What it holds.
        left: What it would hold after some of its jobs have left.
        capacity: Of the cluster.
    """
    more = not within_guarantee(entitled, held, capacity)
    return more and dominant_share(left, capacity) >= entitled.guaranteed - _SAME


def most_within(
    entitled: Entitlement, held: IntVector, more: Iterable[IntVector], capacity: IntVector
) -> int:
    """Return how many of some demands, from the first, a namespace may hold beside what it has."""
    count, total = 0, np.array(held, dtype=np.int64)
    for count, demand in enumerate(more, start=1):
        total += demand
        if not allows(entitled, total, capacity):
            return count - 1
    return count


def in_turn(waiting: Iterable[tuple[str, T]], turn_of: Callable[[str], Turn]) -> Iterator[T]:
    """Yield what waits: always the first of the namespace whose turn it is.

    Between namespaces of equal turns goes the one whose first comes first in ``waiting``; inside a
    namespace that order is kept. The turn of a namespace is computed anew after each of its own
    was yielded, so what was given to it meanwhile counts at once (progressive filling). That of
    another namespace must not change meanwhile.

    Args:
        waiting: Namespace and what waits there, in the order of jobs.
        turn_of: Returns a namespace's turn.

    Source:
        Ghodsi et al., algorithm 1; a job that does not fit is passed over instead of waited for,
        or a small namespace with a large job would stop the cluster (``reservation`` keeps room).
    """
    queues: dict[str, deque[tuple[int, T]]] = {}
    for number, (namespace, waiter) in enumerate(waiting):
        queues.setdefault(namespace, deque()).append((number, waiter))
    heads = [(turn_of(namespace), queue[0][0], namespace) for namespace, queue in queues.items()]
    heapify(heads)
    while heads:
        _, _, namespace = heappop(heads)
        queue = queues[namespace]
        yield queue.popleft()[1]
        if queue:
            heappush(heads, (turn_of(namespace), queue[0][0], namespace))
