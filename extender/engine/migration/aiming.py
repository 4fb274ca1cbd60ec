"""Members whose nodes are chosen already: those that a migration brings to its target."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from extender.engine.jobs import Member
from extender.engine.parameters import EngineParameters
from extender.policy.placement import Placement
from extender.policy.room import Room
from shared.model import NodeName, PodShape, Uid

MIGRATION: Final = "migration"
"""Rule of such a placement, beside those of docs/policies/gang.md."""


def place(
    members: Sequence[Member], targets: Mapping[Uid, NodeName], room: Room, params: EngineParameters
) -> Placement | None:
    """Return the placement of all members on their targets; None if one has none, or does not fit.

    Spares are, as for other pods, nodes on which one more pod like it fits afterwards; by name,
    since they are used only if the target is lost in the few moments until the pod is bound.
    """
    after = room
    for member in members:
        index = room.index.get(targets.get(member.pod.uid, NodeName("")))
        if index is None or not after.feasible(member.shape)[index]:
            return None
        after = after.with_pods([(member.shape, index)])
    nodes = {member.pod.uid: targets[member.pod.uid] for member in members}
    return Placement(
        nodes=nodes,
        order=tuple(member.pod.uid for member in members),
        spares={
            m.pod.uid: _spares(m.shape, nodes[m.pod.uid], after, params.gang.spares)
            for m in members
        },
        rule=MIGRATION,
        room=after,
        bucket_of={},
        terms={},
    )


def _spares(shape: PodShape, target: NodeName, room: Room, count: int) -> tuple[NodeName, ...]:
    free = np.flatnonzero(room.feasible(shape)).tolist()
    names = (room.nodes[i].name for i in free)
    return tuple(name for name in names if name != target)[:count]
