"""How fast a unit trains on GPUs, now and after a move (docs/policies/migration_gain.md).

The speed of a pod is its part of a device, where time slices or MPS share it, times the speed of
the model that its owner states in ``shuntyard.io/accelerators``. What is not known counts nothing:
models of which a speed is missing are equal. The slowest pod counts; what the spread of members
costs is for ``spread``.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from extender.core.migration.move_unit import MoveUnit
from extender.core.nodes.gpus import gpus
from extender.core.nodes.node_table import NodeTable
from extender.core.placement import wishes
from shared.accelerators import is_gpu
from shared.model import NodeName, PodShape, Uid


def trains_on_gpus(unit: MoveUnit) -> bool:
    """Return True if a pod of the unit requests a GPU."""
    return any(is_gpu(name) for shape in unit.shapes.values() for name, _ in shape.requests)


def speeds(
    unit: MoveUnit, targets: Mapping[Uid, NodeName], table: NodeTable
) -> tuple[float, float]:
    """Return the speed of a unit now and on its targets, 1 on a whole device of the first model.

    Args:
        unit: The pods that move.
        targets: The node to which each of them goes.
        table: The nodes.
    """
    order = unit.job.spec.accelerators
    placed = ((m.pod.uid, table.index.get(m.node)) for m in unit.members if m.node is not None)
    here = {uid: row for uid, row in placed if row is not None}
    there = {uid: table.index[node] for uid, node in targets.items()}
    shapes = list(unit.shapes.values())
    now = min((device_share(shapes, row, table) for row in here.values()), default=0.0)
    then = min(_share_there(unit, row, here, there, table) for row in {*there.values()})
    before = [table.nodes[row] for row in {*here.values()}]
    after = [table.nodes[row] for row in {*there.values()}]
    if all(wishes.has_speed(order, node) for node in (*before, *after)):
        now, then = now / wishes.slowdown(order, before), then / wishes.slowdown(order, after)
    return now, then


def _share_there(
    unit: MoveUnit, row: int, here: Mapping[Uid, int], there: Mapping[Uid, int], table: NodeTable
) -> float:
    """Return the least part of a device that those of a unit have that go to a node."""
    own = [uid for uid, target in there.items() if target == row]
    coming = [unit.shapes[uid] for uid in own if here.get(uid) != row]
    return device_share([unit.shapes[uid] for uid in own], row, table, coming)


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
