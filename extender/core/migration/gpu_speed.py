"""How fast a unit trains on GPUs, now and after a move (docs/policies/migration_gain.md).

The speed of a pod is its part of a device, where time slices or MPS share it, times the speed of
the model that its owner states in ``shuntyard.io/accelerators``. What is not known counts nothing:
models of which a speed is missing are equal, and so are links between members. The slowest pod
counts.
"""

from collections.abc import Iterable

import numpy as np

from extender.core.migration.move_unit import MoveUnit
from extender.core.nodes.gpus import gpus
from extender.core.nodes.node_table import NodeTable
from extender.core.placement import wishes
from shared.accelerators import is_gpu
from shared.model import NodeName, PodShape


def trains_on_gpus(unit: MoveUnit) -> bool:
    """Return True if a pod of the unit requests a GPU."""
    return any(is_gpu(name) for shape in unit.shapes.values() for name, _ in shape.requests)


def speeds(unit: MoveUnit, target: NodeName, table: NodeTable) -> tuple[float, float]:
    """Return the speed of a unit now and on the target, 1 on a whole device of the first model."""
    shapes, order = list(unit.shapes.values()), unit.job.spec.accelerators
    rows = [None if m.node is None else table.index.get(m.node) for m in unit.members]
    here, there = [row for row in rows if row is not None], table.index[target]
    now = min((device_share(shapes, row, table) for row in here), default=0.0)
    coming = [
        unit.shapes[m.pod.uid] for m, row in zip(unit.members, rows, strict=True) if row != there
    ]
    then = device_share(shapes, there, table, coming)
    nodes, one = [table.nodes[row] for row in {*here}], table.nodes[there]
    if all(wishes.has_speed(order, node) for node in (*nodes, one)):
        now, then = now / wishes.slowdown(order, nodes), then / wishes.slowdown(order, [one])
    return now, then


def device_share(
    shapes: Iterable[PodShape], row: int, table: NodeTable, coming: Iterable[PodShape] = ()
) -> float:
    """Return the least part of a shared device that pods of these shapes have on a node, 0 to 1.

    The device plugin spreads replicas evenly over the devices, so those in use share all of them.

    Args:
        shapes: The pods.
        row: The node.
        table: What is in use.
        coming: Pods that would be added.
    """
    found = gpus(table)
    used = table.used[row] + np.sum(
        [table.demand(shape) for shape in coming], axis=0, dtype=np.int64, initial=0
    )
    least = 1.0
    for shape in shapes:
        wanted = table.demand(shape)
        for column, devices in zip(
            found.columns.tolist(), found.devices[row].tolist(), strict=True
        ):
            if devices and wanted[column] and used[column] > devices:
                least = min(least, devices / int(used[column]))
    return least
