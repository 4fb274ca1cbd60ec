"""Gangs in equal parts: 16 + 16 pods in two domains, not 18 + 14 (docs/policies/topology.md).

A ring is as fast as its smallest part. Parts are of pods, or of slices of pods. By default they are
equal where the fewest domains that could hold the gang can take them so, and may differ by one. A
job may also require them: then any number of domains will do, all take the same number, and the job
waits otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from extender.core.nodes.node_table import IntVector
from extender.core.placement.allocation import GangAllocation, Group, Preference
from extender.core.placement.domains import Domains
from extender.core.placement.rules import fewest_nodes
from extender.core.placement.slice_capacity import Capacity
from extender.core.placement.slice_parts import OfLayer, Slice
from extender.core.placement.slices import SlicePlacement, slots

Part = tuple[int, int]
"""A domain, and how many pods or slices it takes."""


def nearly_equal(holds: IntVector, count: int) -> list[Part] | None:
    """Return parts that differ by at most one, in as few domains as could hold the sum.

    The larger parts are placed first. A part goes to the domain that holds least of those that hold
    it. None if these domains cannot take equal parts, or all together hold less.
    """
    enough = np.flatnonzero(np.sort(holds)[::-1].cumsum() >= count)
    if not enough.size:
        return None
    parts = int(enough[0]) + 1
    sizes = [count // parts + (part < count % parts) for part in range(parts)]
    return _of_sizes(holds, sizes)


def exactly_equal(holds: IntVector, held: IntVector, count: int) -> list[Part] | None:
    """Return what domains take so that all that then have any have the same number; None if none.

    As few domains as possible; a part goes to the domain that holds least of those that hold it.

    Args:
        holds: How many each domain has room for.
        held: How many each has already.
        count: How many are to be placed.
    """
    total, started = count + int(held.sum()), np.flatnonzero(held)
    for parts in range(max(1, len(started)), total + 1):
        if total % parts:
            continue
        size = total // parts
        lacking = size - held[started]
        if (lacking < 0).any() or (holds[started] < lacking).any():
            continue
        unused = np.where(held > 0, 0, holds)
        more = _of_sizes(unused, [size] * (parts - len(started)))
        if more is not None:
            own = zip(started.tolist(), lacking.tolist(), strict=True)
            return [*((domain, number) for domain, number in own if number), *more]
    return None


def _of_sizes(holds: IntVector, sizes: Sequence[int]) -> list[Part] | None:
    """Return a domain for each size, the one that holds least of those that hold enough."""
    order, chosen = np.argsort(holds, kind="stable").tolist(), dict[int, int]()
    for size in sizes:
        index = next((i for i in order if holds[i] >= size and i not in chosen), None)
        if index is None:
            return None
        chosen[index] = size
    return list(chosen.items())


@dataclass(frozen=True, eq=False)
class EqualParts:
    """The rule, for one gang.

    Attributes:
        groups: Its pods.
        preference: Which of equal nodes.
        domains: Those that take parts.
        exact: All parts have to be equal.
        held: How many members of the set each node holds.
    """

    groups: Sequence[Group]
    preference: Preference
    domains: Domains
    exact: bool
    held: IntVector

    def of_pods(self, allocation: GangAllocation) -> list[Group]:
        """Place pods that are alike in equal parts.

        Returns:
            The groups that got no node: all, if pods differ or there are no such parts.
        """
        holds = self._sums(slots(allocation, self.groups))
        parts = self._parts(holds, self._sums(self.held), sum(len(group) for group in self.groups))
        left = list(self.groups)
        for index, size in parts or ():
            part, left = _first(left, size)
            within = self.domains.within(index)
            left = [*fewest_nodes(allocation, part, self.preference, within=within), *left]
        return left

    def of_slices(
        self, allocation: GangAllocation, slices: Sequence[Slice], layers: Sequence[OfLayer]
    ) -> list[Group]:
        """Place slices of pods that are alike in equal numbers; a smaller one counts as a whole.

        Slices with members are completed first.

        Args:
            allocation: What is free; changed.
            slices: The pods by slice.
            layers: Sizes and domains of the slices.

        Returns:
            The groups that got no node: if pods differ, or there are no such parts.
        """
        left = self._placed(allocation, [one for one in slices if one.homes], layers)
        completed = np.fromiter(allocation.nodes.values(), dtype=np.intp)
        held = self.held + np.bincount(completed, minlength=len(self.held))
        size = layers[0][0]
        held = -(-self._sums(held) // size)
        capacity = Capacity(slots(allocation, self.groups), [(size, self.domains), *layers])
        new = sorted((one for one in slices if not one.homes), key=lambda one: -len(one.pods))
        parts = self._parts(capacity.whole, held, len(new))
        for index, number in parts or ():
            chosen, new = new[:number], new[number:]
            left = self._placed(allocation, chosen, layers, index)
        return left

    def _parts(self, holds: IntVector, held: IntVector, count: int) -> list[Part] | None:
        if len({group.need for group in self.groups}) != 1:
            return None
        holds = np.minimum(holds, count)
        if self.exact:
            return exactly_equal(holds, held, count)
        return None if held.any() or self.held.any() else nearly_equal(holds, count)

    def _placed(
        self,
        allocation: GangAllocation,
        slices: Sequence[Slice],
        layers: Sequence[OfLayer],
        index: int | None = None,
    ) -> list[Group]:
        within = None if index is None else self.domains.within(index)
        placement = SlicePlacement(
            allocation, self.groups, self.preference, slices=slices, layers=layers, within=within
        )
        return placement.place()

    def _sums(self, by_node: IntVector) -> IntVector:
        sums: IntVector = self.domains.sums(by_node[None, :])[0]
        return sums


def _first(groups: Sequence[Group], count: int) -> tuple[list[Group], list[Group]]:
    """Split the first pods off."""
    first, rest = list[Group](), list[Group]()
    for group in groups:
        taken = min(count, len(group))
        count -= taken
        first += [group.first(taken)] if taken else []
        rest += [group.after(taken)] if taken < len(group) else []
    return first, rest
