"""One node's row of the columns of devices: how many there are, and how many are taken."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Final

from extender.core.expressions.errors import UnsupportedError
from extender.core.nodes.claim_allocation import (
    MOST_CLAIMS,
    ClaimOnNode,
    Numbers,
    Taken,
    serve,
)
from extender.core.nodes.device_columns import Layout
from extender.core.nodes.device_sets import Mask, NodeSets
from extender.store.device_claims import ClaimedDevices
from shared.devices import DeviceId
from shared.model import Node

MOST_RESULTS: Final = 4096
"""Searches whose results are kept; beyond it all are dropped."""

Row = tuple[dict[str, int], dict[str, int]]
"""By column, how many a node has and how many are taken."""


class DeviceRows:
    """Computes rows; nodes that are alike share the searches for claims."""

    def __init__(self) -> None:
        self._results: dict[tuple[ClaimOnNode, Taken, int], tuple[int, Taken]] = {}

    def row(
        self,
        node: Node,
        found: NodeSets,
        order: Sequence[DeviceId],
        columns: Layout,
        waiting: Counter[str],
        claimed: ClaimedDevices,
    ) -> Row:
        """Return a node's row.

        Of a resource that the node itself offers its own amount counts, and no pods are counted:
        the node table knows them.

        Args:
            node: The node.
            found: What its devices mean.
            order: Which they are.
            columns: All columns.
            waiting: By column, what takes room on the node and has no allocation.
            claimed: What claims have.
        """
        alone = _places(order, claimed)
        taken, unserved = self._taken(found, order, alone, waiting, claimed)
        gone = alone | sum(1 << place for place in taken.devices)
        allocatable, used = dict[str, int](), dict[str, int]()
        for column, members in columns.members.items():
            if column in found.claims:
                allocatable[column] = most = found.claims[column].most
                free = self._serve(found.claims[column].found, taken, MOST_CLAIMS)[0]
                used[column] = most - free + unserved[column]
                continue
            devices = reduce(or_, (found.sets.get(member, 0) for member in members))
            offered = sum(node.allocatable.get(member, 0) for member in members)
            allocatable[column] = devices.bit_count() + offered
            held = (devices & gone).bit_count()
            used[column] = held + sum(waiting[member] for member in members)
        return allocatable, used

    def _taken(
        self,
        found: NodeSets,
        order: Sequence[DeviceId],
        alone: Mask,
        waiting: Counter[str],
        claimed: ClaimedDevices,
    ) -> tuple[Taken, Counter[str]]:
        """Return what claims have, and those that wait will have; and how many find nothing."""
        unserved: Counter[str] = Counter()
        if not found.claims:
            return Taken(), unserved
        taken = _of_claims(order, alone, claimed)
        for column, of_kind in sorted(found.claims.items()):
            if count := waiting[column]:
                served, taken = self._serve(of_kind.found, taken, count)
                unserved[column] = count - served
        return taken, unserved

    def _serve(self, claim: ClaimOnNode, taken: Taken, most: int) -> tuple[int, Taken]:
        key = (claim, taken, most)
        result = self._results.get(key)
        if result is None:
            if len(self._results) >= MOST_RESULTS:
                self._results.clear()
            result = self._results[key] = _served(claim, taken, most)
        return result


def _served(claim: ClaimOnNode, taken: Taken, most: int) -> tuple[int, Taken]:
    """Serve claims; where devices are taken the search may be longer than on the empty node."""
    try:
        return serve(claim, taken, most)
    except UnsupportedError:
        return 0, taken


def _places(order: Sequence[DeviceId], claimed: ClaimedDevices) -> Mask:
    """Return the devices that a claim has alone."""
    if not claimed.alone:
        return 0
    return sum(1 << place for place, device in enumerate(order) if device in claimed.alone)


def _of_claims(order: Sequence[DeviceId], alone: Mask, claimed: ClaimedDevices) -> Taken:
    shares = ((n, claimed.parts(device)) for n, device in enumerate(order))
    parts = tuple((n, _numbers(of)) for n, of in shares if of is not None)
    return Taken(frozenset(n for n in range(len(order)) if alone >> n & 1), parts)


def _numbers(amounts: Mapping[str, Fraction]) -> Numbers:
    return tuple(sorted(amounts.items()))
