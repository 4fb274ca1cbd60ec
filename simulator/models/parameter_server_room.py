"""The fluid's cluster as the room that the extender's policies read."""

import numpy as np

from extender.policy.room import Room
from extender.state.classes import MaskCache
from shared.model import Node, NodeName, PodShape, Uid
from simulator.models.parameter_server import Amounts, Site

RESOURCES = ("cpu", "memory", "pods")
MOST_PODS = 110


class Rooms:
    """Makes rooms of one cluster; its nodes do not change."""

    def __init__(self, site: Site) -> None:
        self._nodes = tuple(
            Node(
                name=NodeName(name),
                uid=Uid(name),
                allocatable=dict(zip(RESOURCES, (*amounts, MOST_PODS), strict=True)),
            )
            for name, amounts in sorted(site.capacity.items())
        )
        self._classes = MaskCache(self._nodes)
        self._allocatable = np.array(
            [[node.allocatable[name] for name in RESOURCES] for node in self._nodes], dtype=np.int64
        )
        self._index = {node.name: i for i, node in enumerate(self._nodes)}

    def of(self, site: Site) -> Room:
        """Return the room as it is now; how many pods there are is not counted."""
        free = np.array([(*site.free[node.name], MOST_PODS) for node in self._nodes], np.int64)
        return Room(
            nodes=self._nodes,
            resources=RESOURCES,
            allocatable=self._allocatable,
            used=self._allocatable - free,
            ports=(frozenset(),) * len(self._nodes),
            classes=self._classes,
            index=self._index,
        )


def shape(amounts: Amounts) -> PodShape:
    """Return what a pod of these amounts looks like to the policies."""
    return PodShape(requests=(("cpu", amounts[0]), ("memory", amounts[1]), ("pods", 1)))
