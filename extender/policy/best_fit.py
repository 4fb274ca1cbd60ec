"""Second tries for gangs of several shapes, where one order can fail (docs/policies/gang.md)."""

from collections.abc import Sequence

import numpy as np

from extender.policy.members import Group
from extender.policy.preference import Preference
from extender.policy.room import IntVector
from extender.policy.seating import Seating


def largest_first(seating: Seating, groups: Sequence[Group], preference: Preference) -> list[Group]:
    """Seat the largest pods first, each on the node where least stays free (best fit decreasing).

    Returns:
        The groups that got no seat.

    Source:
        Johnson et al., Worst-case performance bounds for simple one-dimensional packing
        algorithms, SIAM J. Comput. 1974: best fit decreasing.
    """
    return _best_fit(seating, sorted(groups, key=lambda g: -_size(seating, g)), preference)


def most_constrained_first(
    seating: Seating, groups: Sequence[Group], preference: Preference
) -> list[Group]:
    """Seat the pods that can use the fewest nodes first, larger ones first, each by best fit.

    Returns:
        The groups that got no seat.
    """

    def key(group: Group) -> tuple[int, float]:
        return int(np.count_nonzero(seating.slots(group.need))), -_size(seating, group)

    return _best_fit(seating, sorted(groups, key=key), preference)


def _best_fit(seating: Seating, groups: Sequence[Group], preference: Preference) -> list[Group]:
    left = []
    for group in groups:
        nodes = _by_fit(seating, group, preference)
        slots = seating.slots(group.need)[nodes]
        before = slots.cumsum() - slots
        rest = seating.seat(group, nodes, np.clip(len(group) - before, 0, slots))
        if rest.pods:
            left.append(rest)
    return left


def _by_fit(seating: Seating, group: Group, preference: Preference) -> IntVector:
    """Return the nodes that hold a pod of the group, least free after one pod first."""
    slots = seating.slots(group.need)
    nodes = np.flatnonzero(slots)
    free_after = seating.left_over([group], np.minimum(slots, 1)[None, :])[nodes]
    return nodes[np.lexsort((-preference.total([group])[nodes], free_after))]


def _size(seating: Seating, group: Group) -> float:
    """Return a pod's request as a share of the cluster, summed over resources."""
    capacity = np.maximum(seating.room.allocatable.sum(axis=0), 1)
    return float((group.need.request / capacity).sum())
