"""Where a gang is tried in the cluster's topology, and in which order (docs/policies/topology.md).

Inside each area the rules of ``gang`` apply.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.cluster.reasons import Reason
from extender.core.nodes.node_table import BoolVector
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement.allocation import Preference, Seating
from extender.core.placement.domains import Domain, Domains, domain_fit, domains
from extender.core.placement.members import Group
from extender.core.placement.rules import fewest_domains, fewest_nodes
from extender.core.placement.unschedulable import Misfit


@dataclass(frozen=True)
class Wanted:
    """What a gang asks of the topology.

    Attributes:
        level: Index of the level.
        required: Whether one domain must hold all pods; otherwise as few as possible should.
        anchors: Nodes in the domains of members of which the domain is known, but not the node.
    """

    level: int
    required: bool
    anchors: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Area:
    """A part of the room in which a gang is tried.

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
    """Where one gang may go on one room.

    Attributes:
        wanted: What it asks for.
        params: See ``TopologyParameters``.
        groups: Its pods.
        seating: Makes an empty seating of these nodes.
        preference: Which of equal domains.
        in_buckets: Whether its pods go in buckets.
    """

    wanted: Wanted
    params: TopologyParameters
    groups: Sequence[Group]
    seating: Callable[[BoolVector | None], Seating]
    preference: Preference
    in_buckets: bool

    def areas(self) -> Iterator[Area]:
        """Yield the parts of the room in which to try the gang, the best first.

        1. The domains of the level that can hold all pods.
        2. If the level is preferred: those of the level above, and so on to the coarsest; in each
           the gang is spread over as few domains of its own level as possible.
        3. If the level is preferred: the whole room, likewise.
        """
        own = self.of_level(self.wanted.level)
        if self.wanted.required:
            yield from self._holding(own)
            return
        for area in self._holding(own):
            yield Area(area.within, area.domain, near=own)
        for level in reversed(range(self.wanted.level)):
            for area in self._holding(self.of_level(level)):
                yield from self._spread(area, own)
        yield from self._spread(EVERYWHERE, own)

    def of_level(self, level: int) -> Domains:
        """Return the domains of a level."""
        return domains(self.seating(None).room, self.params.levels[: level + 1])

    def refusal(self) -> Misfit:
        """Return why no domain of the level holds the gang: how many of its pods the best holds."""
        found, seating = self.of_level(self.wanted.level), self.seating(None)
        level, home = found.level, self._home(found, seating)
        if -1 in home or len(home) > 1:
            return _failed(f"its other members are not in one {level.name}{_named(found, home)}")
        fit = domain_fit(found, self.groups, seating, self.preference)
        best = [*home] or fit.roomiest()
        if not best:
            return _failed(f"no node has the label {level.label}, which makes a {level.name}")
        inside = self.seating(found.within(best[0]))
        fewest_nodes(inside, self.groups, self.preference)
        total = sum(len(group) for group in self.groups)
        held = f"{len(inside.seats)} of {total} pods fit in {found.all[best[0]].name}"
        if home:
            return _failed(f"{held}, where its other members are")
        alike = len({group.need for group in self.groups}) == 1
        most = f"and no other {level.name} holds more" if alike else f"the roomiest {level.name}"
        return _failed(f"{held}, {most}")

    def _holding(self, found: Domains) -> list[Area]:
        """Return the domains that may hold all pods, best first: at most ``most_tries``.

        Where members are placed, only their domain. The roomiest is always tried.
        """
        seating = self.seating(None)
        fit = domain_fit(found, self.groups, seating, self.preference)
        best = fit.best_fits()
        if home := self._home(found, seating):
            best = [index for index in best if home == {index}]
        most = self.params.most_tries
        if len(best) > most:
            best = list(dict.fromkeys([*best[: most - 1], *fit.roomiest()]))
        return [Area(found.within(index), found.all[index]) for index in best]

    def _home(self, found: Domains, seating: Seating) -> set[int]:
        """Return the domains of members that have a place; -1 for nodes without the label."""
        nodes = [*np.flatnonzero(seating.members).tolist(), *self.wanted.anchors]
        return set(found.of_node[nodes].tolist()) if nodes else set()

    def _spread(self, area: Area, own: Domains) -> Iterator[Area]:
        """Yield the area; before it, for a gang in buckets, the domains that a spread uses."""
        if self.in_buckets:
            seating = self.seating(area.within)
            fewest_domains(seating, self.groups, self.preference, own)
            used = np.unique(own.of_node[list(seating.seats.values())])
            yield Area(np.isin(own.of_node, used), area.domain, near=own)
        yield Area(area.within, area.domain, over=own, near=own)


def _named(found: Domains, home: set[int]) -> str:
    names = [found.all[index].name for index in sorted(home) if index >= 0]
    names += [f"nodes without the label {found.level.label}"] if -1 in home else []
    return f": {', '.join(names)}"


def _failed(detail: str) -> Misfit:
    return Misfit(Reason.TOPOLOGY_PLACEMENT_FAILED, detail)
