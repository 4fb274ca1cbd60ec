"""The parts of the nodes in which a gang with a topology request is tried, the best first.

Inside each area the rules of ``gang`` apply (docs/policies/topology.md).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from extender.core.cluster.reasons import Reason
from extender.core.nodes.node_table import BoolVector, IntVector
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement.allocation import GangAllocation, Group, Preference
from extender.core.placement.domains import Domain, Domains, domain_fit, domains
from extender.core.placement.placement import Unschedulable
from extender.core.placement.rules import fewest_domains, fewest_nodes
from extender.core.placement.slice_capacity import Capacity
from extender.core.placement.slice_parts import OfLayer, Slice
from extender.core.placement.slices import slots
from extender.core.placement.topology import Wanted


@dataclass(frozen=True, eq=False)
class Area:
    """A part of the nodes in which a gang is tried.

    Attributes:
        within: Its nodes; None for all.
        domain: The domain that it is; None if it is none.
        over: The domains over which the gang is spread in it, as few as possible; None: no matter.
        near: Of a preferred level: its domains. Spares may lie outside the area, those of the pod's
            own domain come first.
    """

    within: BoolVector | None = None
    domain: Domain | None = None
    over: Domains | None = None
    near: Domains | None = None


EVERYWHERE: Final = Area()


@dataclass(frozen=True, eq=False)
class Search:
    """The areas in which one gang is tried.

    Attributes:
        wanted: What it requests.
        params: See ``TopologyParameters``.
        groups: Its pods.
        allocation: Makes an empty allocation of these nodes.
        preference: Which of equal domains.
        in_buckets: Whether its pods go in buckets.
        home_nodes: How many members of its set each node holds.
        slices: Its slices; empty if it has none.
    """

    wanted: Wanted
    params: TopologyParameters
    groups: Sequence[Group]
    allocation: Callable[[BoolVector | None], GangAllocation]
    preference: Preference
    in_buckets: bool
    home_nodes: IntVector
    slices: Sequence[Slice] = ()

    def areas(self) -> Iterator[Area]:
        """Yield the parts of the nodes in which to try the gang, the best first.

        1. The domains of the level that can hold all pods. If the level is required, that is all;
           inside it the gang is spread over as few domains of a finer level as possible.
        2. If the level is preferred: those of the level above, and so on to the coarsest; in each
           the gang is spread over as few domains of its own level as possible.
        3. If the level is preferred: all nodes, likewise.
        """
        own = self.of_level(self.wanted.level)
        if self.wanted.required:
            over = None if self.wanted.inside is None else self.of_level(self.wanted.inside)
            for area in self._holding(own):
                yield replace(area, over=over)
            return
        for area in self._holding(own):
            yield Area(area.within, area.domain, near=own)
        for level in reversed(range(self.wanted.level)):
            for area in self._holding(self.of_level(level)):
                yield from self._spread(area, own)
        yield from self._spread(EVERYWHERE, own)

    def of_level(self, level: int) -> Domains:
        """Return the domains of a level."""
        return domains(self.allocation(None).node_table, self.params.levels[: level + 1])

    @property
    def required(self) -> bool:
        """Whether the gang waits if no domains hold it as it requires."""
        return self.wanted.required or self.wanted.slices is not None or self.wanted.equal

    @cached_property
    def layers(self) -> Sequence[OfLayer]:
        """Sizes of its slices and the domains that must hold them; empty if it has none."""
        wanted = self.wanted.slices
        layers = () if wanted is None else wanted.layers
        return [(layer.size, self.of_level(layer.level)) for layer in layers]

    @property
    def part_domains(self) -> Domains:
        """The domains of which each may take a part of the gang."""
        wanted = self.wanted
        if not wanted.required:
            return self.of_level(wanted.level)
        if wanted.inside is not None:
            return self.of_level(wanted.inside)
        return self.layers[0][1] if self.layers else self.of_level(wanted.level)

    def refusal(self) -> Unschedulable:
        """Return why no domain of the level holds the gang: how many of its pods the best holds."""
        own, allocation = self.of_level(self.wanted.level), self.allocation(None)
        level, home = own.level, self._home(own)
        if self.wanted.required and (-1 in home or len(home) > 1):
            return _failed(f"its other members are not in one {level.name}{_named(own, home)}")
        fit = domain_fit(own, self.groups, allocation, self.preference)
        if self.layers and (not self.wanted.required or fit.holds_all.any()):
            return self._slices_refused(own, self.layers[0][1])
        if self.wanted.equal and (not self.wanted.required or fit.holds_all.any()):
            return self._parts_refused()
        best = [*home] or fit.roomiest()
        if not best:
            return _failed(f"no node has the label {level.label}, which makes a {level.name}")
        inside = self.allocation(own.within(best[0]))
        fewest_nodes(inside, self.groups, self.preference)
        total = sum(len(group) for group in self.groups)
        held = f"{len(inside.nodes)} of {total} {self._pods} fit in {own.all[best[0]].name}"
        if home:
            return _failed(f"{held}, where its other members are")
        alike = len({group.need for group in self.groups}) == 1
        most = f"and no other {level.name} holds more" if alike else f"the roomiest {level.name}"
        return _failed(f"{held}, {most}")

    def _holding(self, level_domains: Domains) -> list[Area]:
        """Return the domains that may hold all pods, best first: at most ``most_tries``.

        Where members are placed, only their domain. The roomiest is always tried.
        """
        allocation = self.allocation(None)
        fit = domain_fit(level_domains, self.groups, allocation, self.preference)
        best = [i for i in fit.best_fits() if self._may_hold_slices(level_domains.within(i))]
        if home := self._home(level_domains):
            best = [index for index in best if home == {index}]
        most = self.params.most_tries
        if len(best) > most:
            best = list(dict.fromkeys([*best[: most - 1], *fit.roomiest()]))
        return [Area(level_domains.within(index), level_domains.all[index]) for index in best]

    def _may_hold_slices(self, within: BoolVector) -> bool:
        """Return False if a part of the nodes cannot hold all slices; exact for pods alike."""
        return self._slices_held(within) == len(self.slices)

    def _slices_held(self, within: BoolVector | None) -> int:
        """Return how many slices a part of the nodes holds, for pods alike; for others all."""
        if not self.layers or len({group.need for group in self.groups}) > 1:
            return len(self.slices)
        free = slots(self.allocation(None), self.groups, within)
        held, of_node = 0, self.layers[0][1].of_node
        for one in self.slices:
            home = next(iter(one.homes), -1)
            if len(one.homes) != 1 or home < 0:
                continue
            at = np.flatnonzero(of_node == home)
            if free[at].sum() < len(one.pods):
                continue
            held += 1
            if len(self.layers) == 1:  # else it depends on the parts what is left
                before = free[at].cumsum() - free[at]
                free[at] -= np.clip(len(one.pods) - before, 0, free[at])
        left = sorted((len(one.pods) for one in self.slices if not one.homes), reverse=True)
        return held + Capacity(free, self.layers).slices_held(left)

    def _slices_refused(self, own: Domains, of_slices: Domains) -> Unschedulable:
        """Return why the slices have no domains: how many of them fit in the best domain."""
        level, size, total = of_slices.level.name, self.layers[0][0], len(self.slices)
        for one in self.slices:
            if -1 in one.homes or len(one.homes) > 1:
                where = _named(of_slices, set(one.homes))
                return _failed(f"other members of a slice are not in one {level}{where}")
        absent = next((of.level for _, of in self.layers if not of.all), None)
        if absent is not None:
            return _failed(f"no node has the label {absent.label}, which makes a {absent.name}")
        parts: list[tuple[str, BoolVector | None]] = [("", None)]
        if self.wanted.required:
            home = self._home(own) or range(len(own.all))
            parts = [(f" in {own.all[index].name}", own.within(index)) for index in home]
        held, name = max(
            ((self._slices_held(mask), name) for name, mask in parts), key=lambda part: part[0]
        )
        if held == total and self.wanted.equal:
            return self._parts_refused()
        if held == total:
            return _failed(f"its slices of {size} {self._pods} differ, and find no {level} each")
        fit = f"{held} of {total} slices of {size} {self._pods} fit{name}"
        inner = (f"{count} in one {of.level.name}" for count, of in self.layers[1:])
        return _failed(", ".join([f"{fit}, each in one {level}", *inner]))

    def _parts_refused(self) -> Unschedulable:
        """Return that no domains take equal parts of the gang."""
        own = self.part_domains.level
        if not self.part_domains.all:
            return _failed(f"no node has the label {own.label}, which makes a {own.name}")
        if len({group.need for group in self.groups}) > 1:
            return _failed(f"its {self._pods} differ, so there are no equal parts of them")
        what = f"{sum(len(group) for group in self.groups)} {self._pods}"
        if self.layers:
            what = f"{len(self.slices)} slices of {self.layers[0][0]} {self._pods}"
        return _failed(f"no number of domains ({own.name}) takes equal parts of its {what}")

    @property
    def _pods(self) -> str:
        """The pods in messages, with their role where it is a set of its own."""
        roles = sorted(self.wanted.roles)
        return f"{' and '.join(roles)} pods" if roles and all(roles) else "pods"

    def _home(self, level_domains: Domains) -> set[int]:
        """Return the domains of members that have a place; -1 for nodes without the label."""
        nodes = [*np.flatnonzero(self.home_nodes).tolist(), *self.wanted.anchors]
        return set(level_domains.of_node[nodes].tolist()) if nodes else set()

    def _spread(self, area: Area, own: Domains) -> Iterator[Area]:
        """Yield the area; before it, for a gang in buckets, the domains that a spread uses."""
        if self.in_buckets and not self.wanted.equal:
            allocation = self.allocation(area.within)
            fewest_domains(allocation, self.groups, self.preference, own)
            used = np.unique(own.of_node[list(allocation.nodes.values())])
            yield Area(np.isin(own.of_node, used), area.domain, near=own)
        yield Area(area.within, area.domain, over=own, near=own)


def _named(level_domains: Domains, home: set[int]) -> str:
    names = [level_domains.all[index].name for index in sorted(home) if index >= 0]
    names += [f"nodes without the label {level_domains.level.label}"] if -1 in home else []
    return f": {', '.join(names)}"


def _failed(detail: str) -> Unschedulable:
    return Unschedulable(Reason.TOPOLOGY_PLACEMENT_FAILED, detail)
