"""The machines of admission: the share of each node that belongs to jobs with a utility.

The resource ``pods`` has no price and is left out. The requests of DaemonSets and static pods are
subtracted first, since these never end.
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
        units: Amounts of the largest machine, by column.
        cluster: Capacities in those units, and the horizon.
        mark: A digest of names and capacities.
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
        """Return a pod's requests in the units; None if no node has one of its resources."""
        requests = {name: amount for name, amount in shape.requests if name != PODS}
        if not requests.keys() <= set(self.resources):
            return None
        amounts = np.array([float(requests.get(name, 0)) for name in self.resources])
        return tuple((amounts / self.units).tolist())

    def usable(self, shape: PodShape, *, server: bool = False) -> BoolVector:
        """Return the rows on which such a pod may run, by labels, taints and affinity."""
        mask: BoolVector = self.node_table.classes.mask(shape)[self._columns[server]]
        return mask

    @cached_property
    def _columns(self) -> tuple[IntVector, IntVector]:
        index = self.node_table.index
        return (
            np.array([index[name] for name in self.names], dtype=np.int64),
            np.array([index[name] for name in self.server_names], dtype=np.int64),
        )


def read_machines(snapshot: Snapshot, params: SlotTimeParameters) -> Machines | None:
    """Return the machines; None if no node can hold a worker."""
    table = snapshot.node_table
    shares = priced_share(snapshot, params.share)
    columns = [i for i, name in enumerate(table.resources) if name != PODS]
    label = params.server_label
    server_rows = [i for i, node in enumerate(table.nodes) if label and label in node.labels]
    worker_rows = [i for i in range(len(table.nodes)) if i not in set(server_rows)]
    common = not server_rows
    if not worker_rows:
        return None
    workers = shares[np.ix_(worker_rows, columns)].astype(np.float64)
    servers = workers if common else shares[np.ix_(server_rows, columns)].astype(np.float64)
    by = slots.units(workers, servers)
    names = tuple(table.nodes[i].name for i in worker_rows)
    server_names = names if common else tuple(table.nodes[i].name for i in server_rows)
    return Machines(
        node_table=table,
        names=names,
        server_names=server_names,
        resources=tuple(table.resources[i] for i in columns),
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
    names_text = "\n".join((*names, "", *server_names)).encode()
    return hashlib.sha256(names_text + workers.tobytes() + servers.tobytes()).hexdigest()[:16]
