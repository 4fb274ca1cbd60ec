"""Other nodes where a pod would also fit once the gang is placed (docs/policies/gang.md)."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from extender.policy.members import Group
from extender.policy.places import Places
from extender.policy.preference import Preference
from extender.policy.seating import Seating
from shared.model import NodeName, Uid


def spares(
    groups: Sequence[Group],
    seating: Seating,
    preference: Preference,
    places: Places,
    count: int,
) -> Mapping[Uid, tuple[NodeName, ...]]:
    """Return up to ``count`` nodes for every seated pod on which one more pod like it fits.

    Nodes of the pod's own place first (where a place is more than a node), then the highest
    weighted sum, then the first name. Pods may share a spare: it is for one that lost its seat.
    """
    nodes = seating.room.nodes

    @cache
    def best(group: Group, place: int) -> list[int]:
        free = np.flatnonzero(seating.slots(group.need))
        keys = (-preference.total([group])[free], places.of_node[free] != place)
        ranked: list[int] = free[np.lexsort(keys)][: count + 1].tolist()
        return ranked

    @cache
    def nearest(group: Group, node: int) -> tuple[NodeName, ...]:
        place = -1 if places.are_nodes else int(places.of_node[node])
        return tuple(nodes[i].name for i in best(group, place) if i != node)[:count]

    return {
        pod.uid: nearest(group, seating.seats[pod.uid]) for group in groups for pod in group.pods
    }
