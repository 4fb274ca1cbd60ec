"""How much of the cluster some amounts are: the one function behind sizes and shares.

With the size ``dominant`` all GPU resources are one good, counted in parts of devices, and it comes
first where the cluster has any. With ``published`` each resource is a good of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from extender.core.nodes.gpus import Gpus, gpus
from extender.core.nodes.node_table import IntVector, NodeTable
from extender.core.parameters.queue import JobSize


@dataclass(frozen=True, eq=False)
class Goods:
    """What a cluster has, as jobs and namespaces are measured by it.

    Attributes:
        resources: Columns of the node table.
        capacity: Of all nodes, by good.
        all_gpus: How GPU resources are one good; None if they are not.
    """

    resources: tuple[str, ...]
    capacity: IntVector
    all_gpus: Gpus | None

    def of(self, amounts: IntVector) -> IntVector:
        """Return amounts by resource as amounts by good."""
        return amounts if self.all_gpus is None else _folded(amounts, self.all_gpus)

    def share(self, amounts: IntVector) -> float:
        """Return the largest part of the cluster that amounts by resource are of any good."""
        return dominant_share(self.of(amounts), self.capacity)

    @property
    def gpu_parts(self) -> int:
        """Parts of GPUs that the cluster has; 0 where GPUs do not come first."""
        return 0 if self.all_gpus is None else int(self.capacity[-1])

    def size(self, requests: Mapping[str, int]) -> int:
        """Return the parts of GPUs among requests by name; 0 where GPUs do not come first."""
        if self.all_gpus is None or not self.gpu_parts:
            return 0
        return self.all_gpus.of_requests(requests, self.resources)


def goods(table: NodeTable, size: JobSize) -> Goods:
    """Return what the nodes have together, as sizes of this kind count it."""
    capacity: IntVector = table.allocatable.sum(axis=0)
    all_gpus = gpus(table) if size is JobSize.DOMINANT else None
    if all_gpus is None or not all_gpus.columns.size:
        return Goods(table.resources, capacity, None)
    folded = _folded(capacity, all_gpus)
    folded[-1] = all_gpus.on_node(table.allocatable).sum()
    return Goods(table.resources, folded, all_gpus)


def dominant_share(held: IntVector, capacity: IntVector) -> float:
    """Return the largest part of the cluster that is held of any good.

    Args:
        held: By good.
        capacity: The same of all nodes; a good that no node has counts for nothing.

    Source:
        Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, Sect. 4.
    """
    existing = capacity > 0
    parts = held[existing] / capacity[existing]
    return float(parts.max(initial=0.0))


def _folded(amounts: IntVector, all_gpus: Gpus) -> IntVector:
    """Return the amounts without those of GPUs, and these as parts of devices in the last place."""
    others = amounts.copy()
    others[all_gpus.columns] = 0
    return np.append(others, all_gpus.of(amounts))
