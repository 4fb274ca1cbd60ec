"""Placement of a gang by its slices, each in one domain (docs/policies/topology.md).

Source:
    Kueue, Topology Aware Scheduling, for slices of a pod set; the order in which domains take them
    is ours.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from extender.core.nodes.node_table import BoolVector, IntVector
from extender.core.placement.allocation import GangAllocation, Group, Preference
from extender.core.placement.domains import Domains, domain_fit
from extender.core.placement.rules import fewest_nodes
from extender.core.placement.slice_capacity import Capacity
from extender.core.placement.slice_parts import OfLayer, Slice
from shared.model import Uid


def slots(
    allocation: GangAllocation, groups: Sequence[Group], within: BoolVector | None = None
) -> IntVector:
    """Return for how many pods of the first group's need each node has room, up to all pods."""
    found = np.minimum(allocation.slots(groups[0].need), sum(len(group) for group in groups))
    return found if within is None else np.where(within, found, 0)


def _best(held: IntVector, room: IntVector, total: int) -> int | None:
    """Return where all is held and least room is left, else where most is held; None if nowhere."""
    if not held.size or not held.max():
        return None
    whole = held >= total
    keys = (room, -held, ~whole) if not whole.any() else (room, ~whole)
    return int(np.lexsort(keys)[0])


def _only(groups: Iterable[Group], uids: Collection[Uid]) -> list[Group]:
    kept = (replace(g, pods=tuple(p for p in g.pods if p.uid in uids)) for g in groups)
    return [group for group in kept if group.pods]


MOST_DOMAINS: Final = 16
"""Domains in which a slice of several shapes is tried: its pods may not fit where sums say so."""


class SlicePlacement:
    """One try to place a gang by its slices.

    Args:
        allocation: What is free; changed.
        groups: The pods.
        preference: Which of equal domains and nodes.
        slices: The pods by slice.
        layers: The domains of which one must hold each slice, and each part of one.
        over: Coarser domains of which as few as possible should hold all; None: no matter.
        within: The nodes that may be used; None for all.
    """

    def __init__(
        self,
        allocation: GangAllocation,
        groups: Sequence[Group],
        preference: Preference,
        *,
        slices: Sequence[Slice],
        layers: Sequence[OfLayer],
        over: Domains | None = None,
        within: BoolVector | None = None,
    ) -> None:
        self._allocation, self._groups, self._preference = allocation, groups, preference
        self._slices, self._layers, self._over, self._within = slices, layers, over, within
        self._domains = layers[0][1]
        self._alike = len({group.need for group in groups}) == 1

    def place(self) -> list[Group]:
        """Place slices with members in their domain, then the others, the largest first.

        1. If a domain holds all slices that are left: the one with the least room.
        2. Otherwise the one that holds most pods of them. Then again from 1.

        With ``over``, the coarser domains are chosen likewise first. For pods that are alike, of
        which no slice has a member, all slices are placed if any choice places them.

        Returns:
            The groups that got no node.
        """
        if not self._complete():
            return self._rest()
        left = sorted((one for one in self._slices if not one.homes), key=lambda s: -len(s.pods))
        if not self._alike:
            self._place_one_by_one(left)
            return self._rest()
        for mask in self._outer(left):
            left = self._fill(left, mask)
        return self._rest()

    def _complete(self) -> bool:
        """Place the pods of slices with members, of the finest layer first; return False if not."""
        for depth in reversed(range(len(self._layers))):
            for one, mask in self._with_members(depth):
                if mask is None:
                    return False
                groups = self._waiting([one])
                finer = self._layers[depth + 1 :]
                if finer and groups:
                    parts = [part for part in one.parts if self._waiting([part])]
                    placement = SlicePlacement(
                        self._allocation,
                        groups,
                        self._preference,
                        slices=[replace(part, homes=frozenset()) for part in parts],
                        layers=finer,
                        within=mask,
                    )
                    left = placement.place()
                else:
                    left = fewest_nodes(self._allocation, groups, self._preference, within=mask)
                if left:
                    return False
        return True

    def _with_members(self, depth: int) -> Iterator[tuple[Slice, BoolVector | None]]:
        """Yield the slices of a layer that have members, with the nodes where they may be.

        None for these where the members are in no domain, or in several.
        """
        every = self._domains.of_node >= 0
        found = [(one, every if self._within is None else self._within) for one in self._slices]
        for layer, (_, domains) in enumerate(self._layers[: depth + 1]):
            here = list[tuple[Slice, BoolVector]]()
            for one, mask in ((one, mask) for one, mask in found if one.homes):
                (home, *more) = sorted(one.homes)
                if more or home < 0:
                    yield one, None
                here.append((one, mask & domains.within(home)))
            if layer == depth:
                yield from here
            found = [(part, mask) for one, mask in here for part in one.parts]

    def _outer(self, slices: Sequence[Slice]) -> Iterator[BoolVector | None]:
        """Yield the coarser domains that the slices use, and at last all nodes."""
        unused = set() if self._over is None else set(range(len(self._over.all)))
        while self._over is not None and unused:
            left = [one for one in slices if one.pods[0].uid not in self._allocation.nodes]
            if not left:
                return
            masks = {index: self._over.within(index) for index in sorted(unused)}
            rooms = [self._capacity(mask) for mask in masks.values()]
            size = max(len(one.pods) for one in left)
            held = np.array([int((of_one.rooms // size).sum()) for of_one in rooms])
            sums = np.array([int(of_one.rooms.sum()) for of_one in rooms])
            best = _best(np.minimum(held, len(left)), sums, len(left))
            if best is None:
                break
            index = list(masks)[best]
            unused.discard(index)
            yield masks[index]
        yield self._within

    def _fill(self, left: list[Slice], within: BoolVector | None) -> list[Slice]:
        """Place slices in the domains of a part of the nodes; return those that are left."""
        while left:
            capacity, sizes = self._capacity(within), [len(one.pods) for one in left]
            best = _best(capacity.pods_held(sizes), capacity.rooms, sum(sizes))
            if best is None:
                break
            taken = capacity.taken_by(best, sizes)
            self._fill_domain([s for s, t in zip(left, taken, strict=True) if t], best, within)
            left = [s for s, t in zip(left, taken, strict=True) if not t]
        return left

    def _capacity(self, within: BoolVector | None) -> Capacity:
        return Capacity(slots(self._allocation, self._groups, within), self._layers)

    def _place_one_by_one(self, left: Sequence[Slice]) -> None:
        """Place slices of several shapes, each in the first domain that holds it."""
        inside = None if self._within is None else set(self._domains.of_node[self._within].tolist())
        for one in left:
            fit = domain_fit(self._domains, self._of([one]), self._allocation, self._preference)
            best = [index for index in fit.best_fits() if inside is None or index in inside]
            for index in best[:MOST_DOMAINS]:
                trial = self._allocation.copy()
                if not self._fill_domain([one], index, self._within, trial):
                    self._fill_domain([one], index, self._within)
                    break
            else:
                return

    def _fill_domain(
        self,
        slices: Sequence[Slice],
        index: int,
        within: BoolVector | None,
        allocation: GangAllocation | None = None,
    ) -> list[Group]:
        """Place slices in a domain; return the groups that got no node."""
        mask = self._domains.within(index)
        mask = mask if within is None else mask & within
        groups, allocation = self._of(slices), allocation or self._allocation
        finer = self._layers[1:]
        if not finer:
            return fewest_nodes(allocation, groups, self._preference, within=mask)
        parts = [part for one in slices for part in one.parts]
        inside = SlicePlacement(
            allocation, groups, self._preference, slices=parts, layers=finer, within=mask
        )
        return inside.place()

    def _waiting(self, slices: Sequence[Slice]) -> list[Group]:
        """Return the groups of the pods of these slices that have no node yet."""
        pods = {pod.uid for one in slices for pod in one.pods}
        return _only(self._groups, pods - self._allocation.nodes.keys())

    def _of(self, slices: Sequence[Slice]) -> list[Group]:
        """Return the groups of the pods of these slices."""
        return _only(self._groups, {pod.uid for one in slices for pod in one.pods})

    def _rest(self) -> list[Group]:
        every = {pod.uid for group in self._groups for pod in group.pods}
        return _only(self._groups, every - self._allocation.nodes.keys())
