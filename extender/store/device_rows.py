"""One node's row of the columns of devices: how many there are, and how many are taken."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import repeat
from operator import or_
from typing import Final, NamedTuple

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
from extender.store.device_holders import NOTHING_WAITS, Waiting
from shared.model import Node
from shared.objects.devices import DeviceId

MOST_RESULTS: Final = 4096
"""Searches whose results are kept; beyond it all are dropped."""

MOST_ROWS: Final = 8192
"""Different rows of one layout that are kept, likewise."""

Row = tuple[list[int], list[int]]
"""By column, how many a node has and how many are taken."""


class Load(NamedTuple):
    """What is taken of a node's devices.

    Attributes:
        alone: Those that a claim has alone.
        parts: Of shared devices how much of each capacity.
        waiting: What has no devices yet.
    """

    alone: Mask = 0
    parts: tuple[tuple[int, Numbers], ...] = ()
    waiting: Waiting = NOTHING_WAITS


NOTHING_TAKEN: Final = Load()


def load(order: Sequence[DeviceId], claimed: ClaimedDevices, waiting: Waiting) -> Load:
    """Return what is taken of the devices of a node, which are ``order``."""
    alone, parts = claimed.alone, list[tuple[int, Numbers]]()
    for place, device in enumerate(order if claimed.divided else ()):
        if (of_device := claimed.parts(device)) is not None:
            parts.append((place, tuple(sorted(of_device.items()))))
    if alone.isdisjoint(order) and not parts and waiting is NOTHING_WAITS:
        return NOTHING_TAKEN
    mask = sum(1 << place for place, device in enumerate(order) if device in alone)
    return Load(mask, tuple(parts), waiting)


class DeviceRows:
    """Computes rows; nodes that are alike share them, and the searches for claims."""

    def __init__(self) -> None:
        self._results: dict[tuple[ClaimOnNode, Taken, int], tuple[int, Taken]] = {}
        self._layout = Layout()
        self._members: tuple[str, ...] = ()
        self._kept: dict[tuple[int, Load, tuple[int, ...]], tuple[NodeSets, Row]] = {}

    def row(self, node: Node, found: NodeSets, on_node: Load, columns: Layout) -> Row:
        """Return a node's row.

        Of a resource that the node itself offers its own amount counts, and no pods are counted:
        the node table knows them.

        Args:
            node: The node.
            found: What its devices mean.
            on_node: What is taken of them.
            columns: All columns.
        """
        if columns is not self._layout:
            self._layout, self._kept = columns, {}
            self._members = tuple(
                {m: None for members in columns.members.values() for m in members}
            )
        offered = tuple(map(node.allocatable.get, self._members, repeat(0)))
        key = (id(found), on_node, offered)
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MOST_ROWS:
                self._kept.clear()
            of_members = dict(zip(self._members, offered, strict=True))
            kept = self._kept[key] = (found, self._row(found, on_node, of_members))
        return kept[1]

    def _row(self, found: NodeSets, on_node: Load, offered: Mapping[str, int]) -> Row:
        waiting = on_node.waiting.columns(self._layout.demands)
        taken, unserved = self._taken(found, on_node, waiting)
        gone = on_node.alone | sum(1 << place for place in taken.devices - _of(on_node.alone))
        allocatable, used = list[int](), list[int]()
        for column, members in self._layout.members.items():
            if column in found.claims:
                most = found.claims[column].most
                free = self._serve(found.claims[column].found, taken, MOST_CLAIMS)[0]
                allocatable.append(most)
                used.append(most - free + unserved[column])
                continue
            devices = reduce(or_, (found.sets.get(member, 0) for member in members))
            allocatable.append(devices.bit_count() + sum(offered[member] for member in members))
            used.append((devices & gone).bit_count() + sum(waiting[member] for member in members))
        return allocatable, used

    def _taken(
        self, found: NodeSets, on_node: Load, waiting: Counter[str]
    ) -> tuple[Taken, Counter[str]]:
        """Return what claims have, and those that wait will have; and how many find nothing."""
        unserved: Counter[str] = Counter()
        if not found.claims:
            return Taken(), unserved
        taken = Taken(_of(on_node.alone), on_node.parts)
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


def _of(mask: Mask) -> frozenset[int]:
    return frozenset(place for place in range(mask.bit_length()) if mask >> place & 1)
