"""Drop releases of a long pass that changes of the cluster have made impossible.

A pass that pauses decides on the snapshot of its beginning. Meanwhile pods of others are bound,
nodes go, and pods are deleted. A gang is left out as a whole if one of its pods or planned nodes is
gone, or a node has become too full for it since. It still waits, so the next pass plans it again.

All releases of a pass are looked at in one step, while nothing else runs: what a node has room for
is computed only where there is less of it than before.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from extender.core.cluster import pod_shape
from extender.core.cluster.commands import Command, ReleaseGang
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import IntVector, NodeTable
from shared.model import NodeName


def without_overtaken(
    commands: Sequence[Command], before: Snapshot, now: Snapshot
) -> tuple[Command, ...]:
    """Return the commands that can still be carried out.

    Args:
        commands: What the pass ordered, in order.
        before: What it was decided on.
        now: The cluster as it is.
    """
    return tuple(_remaining(commands, before, now))


def _remaining(commands: Sequence[Command], before: Snapshot, now: Snapshot) -> Iterator[Command]:
    same_resources = before.node_table.resources == now.node_table.resources
    rooms = _less_room(before.node_table, now.node_table) if same_resources else {}
    planned: dict[NodeName, IntVector] = {}
    for command in commands:
        if isinstance(command, ReleaseGang):
            placed = any(release.node is not None for release in command.pods)
            if (placed and not same_resources) or not _is_there(command, now):
                continue
            taken = _taken(command, now, planned, rooms)
            if any(_crowded(demand, *rooms[node]) for node, demand in taken.items()):
                continue
            planned |= taken
        yield command


def _is_there(gang: ReleaseGang, now: Snapshot) -> bool:
    """Return True if all its pods and planned nodes are."""
    for release in gang.pods:
        pod = now.pods.get(release.pod)
        if pod is None or pod.uid != release.uid or pod.deleting:
            return False
        if release.node is not None and release.node not in now.node_table.index:
            return False
    return True


def _less_room(before: NodeTable, now: NodeTable) -> dict[NodeName, tuple[IntVector, IntVector]]:
    """Return what was free then and is now on the nodes that have less of a resource free.

    What a migration keeps for its own pods counts as taken then and now.
    """
    rows = [(before.index[name], row) for name, row in now.index.items() if name in before.index]
    if not rows:
        return {}
    then, present = np.array(rows, dtype=np.int64).T
    was, free = before.free[then], now.free[present]
    lost = np.flatnonzero((free < was).any(axis=1)).tolist()
    return {now.nodes[present[at]].name: (was[at], free[at]) for at in lost}


def _taken(
    gang: ReleaseGang,
    now: Snapshot,
    planned: Mapping[NodeName, IntVector],
    rooms: Mapping[NodeName, object],
) -> dict[NodeName, IntVector]:
    """Return what releases take with this gang on those of its nodes that have less room."""
    taken: dict[NodeName, IntVector] = {}
    for release in gang.pods:
        if release.node is not None and release.node in rooms:
            demand = now.node_table.demand(pod_shape.with_devices(now, now.pods[release.pod]))
            before = taken.get(release.node, planned.get(release.node))
            taken[release.node] = demand if before is None else before + demand
    return taken


def _crowded(demand: IntVector, was: IntVector, free: IntVector) -> bool:
    """Return True if a node lacks more for what is planned there than it did before."""
    lacked, lacks = np.maximum(demand - was, 0), np.maximum(demand - free, 0)
    return bool(((lacks > lacked) & (demand > 0)).any())
