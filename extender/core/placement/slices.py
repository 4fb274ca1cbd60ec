"""Slices of a gang: every so many pods, by index, inside one domain (docs/policies/topology.md).

Pods without an index of their own complete the slices that lack members, then make new ones in the
order of their names.

Source:
    Kueue, Topology Aware Scheduling, for slices of a pod set; the order in which domains take them
    is ours.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from extender.core.nodes.node_table import BoolVector, IntVector, NodeTable
from extender.core.placement.allocation import (
    GangAllocation,
    GangPod,
    Group,
    Placed,
    Preference,
)
from extender.core.placement.domains import Domains, domain_fit
from extender.core.placement.rules import fewest_nodes
from shared.model import Uid


@dataclass(frozen=True)
class WantedSlices:
    """Slices of one set of pods.

    Attributes:
        level: Index of the level of which one domain must hold each slice.
        size: How many pods make a slice; the last one may be smaller.
        anchors: Members of which the domain is known, but not the node, on some node of it.
    """

    level: int
    size: int
    anchors: tuple[Placed, ...] = ()


@dataclass(frozen=True)
class Slice:
    """The pods of one slice that are to be placed.

    Attributes:
        pods: These pods.
        homes: Domains of its other members; -1 for nodes without the label.
    """

    pods: tuple[GangPod, ...]
    homes: frozenset[int] = frozenset()


def slice_numbers(pods: Sequence[tuple[str, int]], size: int) -> list[tuple[str, int]] | None:
    """Return the slice of each pod by its role and index; None if two have one index."""
    if len(set(pods)) < len(pods):
        return None
    return [(role, index // size) for role, index in pods]


def slices_of(
    pods: Sequence[GangPod],
    placed: Sequence[Placed],
    wanted: WantedSlices,
    domains: Domains,
    table: NodeTable,
) -> list[Slice]:
    """Return the slices of which pods are to be placed, in the order of the pods.

    Args:
        pods: The pods of the set without a node, in order.
        placed: Members of the set that have one.
        wanted: The request.
        domains: The domains of its level.
        table: The nodes.
    """
    held = [one for one in (*placed, *wanted.anchors) if one.node in table.index]
    homes = [int(domains.of_node[table.index[one.node]]) for one in held]
    every = [*((p.role, p.index) for p in pods), *((one.role, one.index) for one in held)]
    numbers = slice_numbers(every, wanted.size)
    if numbers is None:
        return _unnumbered(pods, Counter(zip((o.role for o in held), homes, strict=True)), wanted)
    parts: defaultdict[tuple[str, int], list[GangPod]] = defaultdict(list)
    for pod, number in zip(pods, numbers, strict=False):
        parts[number].append(pod)
    homes_of: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for number, home in zip(numbers[len(pods) :], homes, strict=True):
        homes_of[number].add(home)
    return [Slice(tuple(part), frozenset(homes_of[number])) for number, part in parts.items()]


def _unnumbered(
    pods: Sequence[GangPod], held: Mapping[tuple[str, int], int], wanted: WantedSlices
) -> list[Slice]:
    by_role: defaultdict[str, list[GangPod]] = defaultdict(list)
    for pod in pods:
        by_role[pod.role].append(pod)
    made = []
    for role, waiting in by_role.items():
        left = waiting
        for (of_role, home), count in sorted(held.items()):
            lacking = -count % wanted.size
            if of_role == role and home >= 0 and lacking and left:
                made.append(Slice(tuple(left[:lacking]), frozenset({home})))
                left = left[lacking:]
        made += [
            Slice(tuple(left[at : at + wanted.size])) for at in range(0, len(left), wanted.size)
        ]
    return made


def slices_held(rooms: IntVector, sizes: Iterable[int]) -> int:
    """Return how many slices of alike pods domains hold that have room for so many pods each."""
    left, total = rooms.copy(), 0
    for size, count in sorted(Counter(sizes).items(), reverse=True):
        each = left // size
        order = np.argsort(-each, kind="stable")
        taken = np.diff(np.minimum(each[order].cumsum(), count), prepend=0)
        left[order] -= taken * size
        total += int(taken.sum())
    return total


def rooms(
    allocation: GangAllocation,
    groups: Sequence[Group],
    domains: Domains,
    within: BoolVector | None = None,
) -> IntVector:
    """Return for how many pods of the first group's need each domain has room, up to all pods."""
    slots = np.minimum(allocation.slots(groups[0].need), sum(len(group) for group in groups))
    if within is not None:
        slots = np.where(within, slots, 0)
    by_domain: IntVector = domains.sums(slots[None, :])[0]
    return by_domain


def _pods_held(rooms_of: IntVector, sizes: Iterable[int]) -> IntVector:
    """Return how many pods of these slices each domain would take alone."""
    left = rooms_of.copy()
    for size, count in sorted(Counter(sizes).items(), reverse=True):
        left -= np.minimum(left // size, count) * size
    held: IntVector = rooms_of - left
    return held


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
        domains: The domains of which one must hold each slice.
        over: Coarser domains of which as few as possible should hold all; None: no matter.
    """

    def __init__(
        self,
        allocation: GangAllocation,
        groups: Sequence[Group],
        preference: Preference,
        *,
        slices: Sequence[Slice],
        domains: Domains,
        over: Domains | None,
    ) -> None:
        self._allocation, self._groups, self._preference = allocation, groups, preference
        self._slices, self._domains, self._over = slices, domains, over
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
        for one in (one for one in self._slices if one.homes):
            (home, *more) = sorted(one.homes)
            if more or home < 0 or self._fill_domain([one], home):
                return self._rest()
        left = sorted((one for one in self._slices if not one.homes), key=lambda s: -len(s.pods))
        if not self._alike:
            self._place_one_by_one(left)
            return self._rest()
        for mask in self._outer(left):
            left = self._fill(left, mask)
        return self._rest()

    def _outer(self, slices: Sequence[Slice]) -> Iterator[BoolVector | None]:
        """Yield the coarser domains that the slices use, and at last all nodes."""
        unused = set() if self._over is None else set(range(len(self._over.all)))
        while self._over is not None and unused:
            left = [one for one in slices if one.pods[0].uid not in self._allocation.nodes]
            if not left:
                return
            size = max(len(one.pods) for one in left)
            masks = {index: self._over.within(index) for index in sorted(unused)}
            rooms = {index: self._rooms(mask) for index, mask in masks.items()}
            held = np.array([int((of_one // size).sum()) for of_one in rooms.values()])
            sums = np.array([int(of_one.sum()) for of_one in rooms.values()])
            best = _best(np.minimum(held, len(left)), sums, len(left))
            if best is None:
                break
            index = list(masks)[best]
            unused.discard(index)
            yield masks[index]
        yield None

    def _fill(self, left: list[Slice], within: BoolVector | None) -> list[Slice]:
        """Place slices in the domains of a part of the nodes; return those that are left."""
        while left:
            rooms, total = self._rooms(within), sum(len(one.pods) for one in left)
            held = _pods_held(rooms, [len(one.pods) for one in left])
            best = _best(held, rooms, total)
            if best is None:
                break
            chosen, rest, room = list[Slice](), list[Slice](), int(rooms[best])
            for one in left:
                fits = len(one.pods) <= room
                (chosen if fits else rest).append(one)
                room -= len(one.pods) if fits else 0
            self._fill_domain(chosen, best, within)
            left = rest
        return left

    def _rooms(self, within: BoolVector | None) -> IntVector:
        return rooms(self._allocation, self._groups, self._domains, within)

    def _place_one_by_one(self, left: Sequence[Slice]) -> None:
        """Place slices of several shapes, each in the first domain that holds it."""
        for one in left:
            groups = self._of([one])
            fit = domain_fit(self._domains, groups, self._allocation, self._preference)
            for index in fit.best_fits()[:MOST_DOMAINS]:
                trial, within = self._allocation.copy(), self._domains.within(index)
                if not fewest_nodes(trial, groups, self._preference, within=within):
                    self._fill_domain([one], index)
                    break
            else:
                return

    def _fill_domain(
        self, slices: Sequence[Slice], index: int, within: BoolVector | None = None
    ) -> list[Group]:
        mask = self._domains.within(index)
        mask = mask if within is None else mask & within
        return fewest_nodes(self._allocation, self._of(slices), self._preference, within=mask)

    def _of(self, slices: Sequence[Slice]) -> list[Group]:
        """Return the groups of the pods of these slices."""
        return _only(self._groups, {pod.uid for one in slices for pod in one.pods})

    def _rest(self) -> list[Group]:
        every = {pod.uid for group in self._groups for pod in group.pods}
        return _only(self._groups, every - self._allocation.nodes.keys())
