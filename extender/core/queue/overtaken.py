"""Drop releases of a long pass that changes of the cluster have made impossible.

A pass that pauses decides on the snapshot of its beginning. Meanwhile pods of others are bound,
nodes go, and pods are deleted. A gang is left out as a whole if one of its pods or planned nodes is
gone, or a node has become too full for it since. It still waits, so the next pass plans it again.
"""

from collections.abc import Iterator, Sequence

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
    planned: dict[NodeName, IntVector] = {}
    for command in commands:
        if isinstance(command, ReleaseGang):
            taken = _taken(command, now, planned)
            if taken is None or _crowded(taken, before.node_table, now.node_table):
                continue
            planned = taken
        yield command


def _taken(
    gang: ReleaseGang, now: Snapshot, planned: dict[NodeName, IntVector]
) -> dict[NodeName, IntVector] | None:
    """Return what releases take on each node with this gang; None if a pod or node is gone."""
    taken = dict(planned)
    for release in gang.pods:
        pod = now.pods.get(release.pod)
        if pod is None or pod.uid != release.uid or pod.deleting:
            return None
        if release.node is None:
            continue
        if release.node not in now.node_table.index:
            return None
        demand = now.node_table.demand(pod_shape.with_devices(now, pod))
        taken[release.node] = taken.get(release.node, np.zeros_like(demand)) + demand
    return taken


def _crowded(taken: dict[NodeName, IntVector], before: NodeTable, now: NodeTable) -> bool:
    """Return True if a node lacks more for what is planned there than it did before.

    What a migration keeps for its own pods counts as taken then and now.
    """
    if before.resources != now.resources:
        return True  # nodes came or went, and with them resources
    return any(
        node not in before.index
        or bool((_lacking(now, node, demand) > _lacking(before, node, demand)).any())
        for node, demand in taken.items()
    )


def _lacking(table: NodeTable, node: NodeName, demand: IntVector) -> IntVector:
    row = table.index[node]
    lacking: IntVector = np.maximum(table.used[row] + demand - table.allocatable[row], 0)
    return np.where(demand > 0, lacking, 0)
