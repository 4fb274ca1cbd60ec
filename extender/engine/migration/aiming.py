"""Members whose nodes are chosen already: by a migration's target, or by a plan over time slots."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from extender.engine import levels
from extender.engine.jobs import Job, Member
from extender.engine.parameters import EngineParameters
from extender.policy.placement import Placement
from extender.policy.room import BoolVector, Room
from shared.model import NodeName, PodShape, Uid

MIGRATION: Final = "migration"
SLOT_PLAN: Final = "slot-plan"
"""Rules of such placements, beside those of docs/policies/gang.md."""


def place(
    job: Job,
    members: Sequence[Member],
    targets: Mapping[Uid, NodeName],
    room: Room,
    params: EngineParameters,
    rule: str = MIGRATION,
) -> Placement | None:
    """Return the placement of all members on their targets; None if one has none, or does not fit.

    Spares are, as for other pods, nodes on which one more pod like it fits afterwards; by name,
    since they are used only if the target is lost in the few moments until the pod is bound. With a
    required domain of the topology all are in the one of the members that are placed.
    """
    after, domains = room, levels.required(job, room, params.topology)
    home = None if domains is None else levels.home(job, (), room, domains)
    for member in members:
        index = room.index.get(targets.get(member.pod.uid, NodeName("")))
        if index is None or not after.feasible(member.shape)[index]:
            return None
        if domains is not None and home is not None:
            if not home[index]:
                return None
            home = home & domains.within(domains.of_node[index])
        after = after.with_pods([(member.shape, index)])
    nodes = {member.pod.uid: targets[member.pod.uid] for member in members}
    return Placement(
        nodes=nodes,
        order=tuple(member.pod.uid for member in members),
        spares={
            m.pod.uid: _spares(m.shape, nodes[m.pod.uid], after, params.gang.spares, home)
            for m in members
        },
        rule=rule,
        room=after,
        bucket_of={},
        terms={},
    )


def _spares(
    shape: PodShape, target: NodeName, room: Room, count: int, home: BoolVector | None
) -> tuple[NodeName, ...]:
    feasible = room.feasible(shape)
    free = np.flatnonzero(feasible if home is None else feasible & home).tolist()
    names = (room.nodes[i].name for i in free)
    return tuple(name for name in names if name != target)[:count]
