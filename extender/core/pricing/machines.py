"""The nodes as admission sees them: the share of each that belongs to jobs with a utility.

A node's pods are not counted: their number has no price. What DaemonSets and static pods use is
taken off first, since they never end.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import IntVector, NodeTable
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.pricing import slots
from extender.core.pricing.slots import FloatVector, SlotCluster
from extender.core.queue.slot_gate import priced_share
from shared.model import PODS, NodeName, PodShape

BoolVector = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Machines:
    """See the module.

    Attributes:
        node_table: The nodes, for their labels and taints.
        names: Nodes that hold workers, by row.
        server_names: Nodes that hold parameter servers, by row; the same ones unless a label tells
            them apart.
        resources: Columns of every matrix.
        units: What the largest machine has, by column.
        cluster: Capacities in those units, and the horizon.
        mark: Another text for other machines.
    """

    node_table: NodeTable
    names: tuple[NodeName, ...]
    server_names: tuple[NodeName, ...]
    resources: tuple[str, ...]
    units: FloatVector
    cluster: SlotCluster
    mark: str

    @cached_property
    def rows(self) -> Mapping[NodeName, int]:
        """Node → row among the workers' machines."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def server_rows(self) -> Mapping[NodeName, int]:
        """Node → row among the servers' machines."""
        return {name: row for row, name in enumerate(self.server_names)}

    def demand(self, shape: PodShape) -> tuple[float, ...] | None:
        """Return what a pod asks for in the units; None if no node has one of its resources."""
        asked = {name: amount for name, amount in shape.requests if name != PODS}
        if not asked.keys() <= set(self.resources):
            return None
        amounts = np.array([float(asked.get(name, 0)) for name in self.resources])
        return tuple((amounts / self.units).tolist())

    def usable(self, shape: PodShape, *, server: bool = False) -> BoolVector:
        """Return on which rows such a pod may run, by labels, taints and affinity."""
        found: BoolVector = self.node_table.classes.mask(shape)[self._columns[server]]
        return found

    @cached_property
    def _columns(self) -> tuple[IntVector, IntVector]:
        index = self.node_table.index
        return (
            np.array([index[name] for name in self.names], dtype=np.int64),
            np.array([index[name] for name in self.server_names], dtype=np.int64),
        )


def read_machines(snapshot: Snapshot, params: SlotTimeParameters) -> Machines | None:
    """Return the machines; None if no node can hold a worker."""
    room = snapshot.node_table
    theirs = priced_share(snapshot, params.share)
    columns = [i for i, name in enumerate(room.resources) if name != PODS]
    label = params.server_label
    serving = [i for i, node in enumerate(room.nodes) if label and label in node.labels]
    working = [i for i in range(len(room.nodes)) if i not in set(serving)]
    common = not serving
    if not working:
        return None
    workers = theirs[np.ix_(working, columns)].astype(np.float64)
    servers = workers if common else theirs[np.ix_(serving, columns)].astype(np.float64)
    by = slots.units(workers, servers)
    names = tuple(room.nodes[i].name for i in working)
    server_names = names if common else tuple(room.nodes[i].name for i in serving)
    return Machines(
        node_table=room,
        names=names,
        server_names=server_names,
        resources=tuple(room.resources[i] for i in columns),
        units=by,
        cluster=SlotCluster(workers / by, servers / by, params.horizon, common=common),
        mark=_mark(names, server_names, workers, servers),
    )


def _mark(
    names: tuple[NodeName, ...],
    server_names: tuple[NodeName, ...],
    workers: slots.FloatMatrix,
    servers: slots.FloatMatrix,
) -> str:
    said = "\n".join((*names, "", *server_names)).encode()
    return hashlib.sha256(said + workers.tobytes() + servers.tobytes()).hexdigest()[:16]
