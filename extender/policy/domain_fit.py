"""How well each domain of a level suits the pods that are left (docs/policies/topology.md)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from extender.policy.domains import Domains
from extender.policy.members import Group, Need
from extender.policy.preference import Preference
from extender.policy.pricing import FloatVector
from extender.policy.room import BoolVector, IntMatrix, IntVector
from extender.policy.seating import Seating
from shared.model import PODS

_DIGITS = 9
"""Numbers nearer than this are equal, so that names decide and not the order of additions."""


@dataclass(frozen=True, eq=False)
class DomainFit:
    """Of each domain, in the order of their names.

    Attributes:
        holds: How many of the pods it holds; for pods of several shapes at most so many.
        holds_all: Whether it may hold all of them; for pods of one shape it does.
        left_over: What stays free of it with them, as a part of the whole cluster: mean over the
            resources asked for, without the pod count.
        wish: The highest weighted sum of its usable nodes.
        members: How many members of the job it has.
    """

    holds: IntVector
    holds_all: BoolVector
    left_over: FloatVector
    wish: FloatVector
    members: IntVector

    def best_fits(self) -> list[int]:
        """Return the domains that may hold all pods: those with most members, then least left."""
        keys = (-self.wish, self.left_over, -self.members)
        return [int(i) for i in np.lexsort(keys) if self.holds_all[i]]

    def fullest_first(self) -> list[int]:
        """Return the domains that hold any: those with most members, then that hold most."""
        keys = (-self.wish, -self.holds, -self.members)
        return [int(i) for i in np.lexsort(keys) if self.holds[i]]

    def roomiest(self) -> list[int]:
        """Return the domain that holds most pods, of these where most is left; none if none is."""
        keys = (-self.wish, -self.left_over, ~self.holds_all, -self.holds)
        return [int(i) for i in np.lexsort(keys)[:1]]


def domain_fit(
    found: Domains, groups: Sequence[Group], seating: Seating, preference: Preference
) -> DomainFit:
    """Compare the domains as the seating leaves them."""
    pods: Counter[Need] = Counter()
    for group in groups:
        pods[group.need] += len(group)
    wanted = np.array(list(pods.values()), dtype=np.int64)[:, None]
    slots = found.sums(np.array([seating.slots(need) for need in pods], dtype=np.int64))
    enough, left_over = _amounts(found, pods, seating)
    usable = np.any([seating.slots(need) > 0 for need in pods], axis=0)
    wish = found.places.best(preference.total(groups), usable)[: len(found.all)]
    return DomainFit(
        holds=np.minimum(slots, wanted).sum(axis=0),
        holds_all=np.all(slots >= wanted, axis=0) & enough,
        left_over=left_over,
        wish=wish,
        members=found.sums(seating.members[None, :])[0],
    )


def _amounts(
    found: Domains, pods: Counter[Need], seating: Seating
) -> tuple[BoolVector, FloatVector]:
    """Return where the pods ask for no more than is free in total, and what they would leave."""
    demand = np.sum([need.request * count for need, count in pods.items()], axis=0)
    asked = np.flatnonzero(demand)
    usable = np.any([need.mask for need in pods], axis=0)
    by_node: IntMatrix = np.where(usable, np.maximum(seating.free[:, asked].T, 0), 0)
    left = found.sums(by_node) - demand[asked][:, None]
    enough: BoolVector = np.all(left >= 0, axis=0)
    counted = asked != seating.room.resources.index(PODS)
    capacity = np.maximum(seating.room.allocatable[:, asked].sum(axis=0), 1)[:, None]
    shares = (left / capacity)[counted]
    return enough, shares.mean(axis=0).round(_DIGITS) if len(shares) else np.zeros(len(found.all))
