"""How fast a unit trains on GPUs, now and after a move (docs/policies/migration_gain.md).

The speed of a pod is its part of a device, where time slices or MPS share it, times the speed of
the model that its owner states in ``shuntyard.io/accelerators``. What is not known counts nothing:
models of which a speed is missing are equal. The slowest pod counts.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from extender.core.migration.move_unit import MovingPods, places_of
from extender.core.nodes.gpus import gpus
from extender.core.nodes.node_table import NodeTable
from extender.core.placement import wishes
from extender.core.records.migrations import TargetReservation, without_reservations
from shared.accelerators import is_gpu
from shared.model import Node, NodeName, PodShape


def trains_on_gpus(unit: MovingPods) -> bool:
    """Return True if a pod of the unit requests a GPU."""
    return any(is_gpu(name) for shape in unit.shapes.values() for name, _ in shape.requests)


def speeds(
    unit: MovingPods, arriving: Sequence[TargetReservation], table: NodeTable
) -> tuple[float, float]:
    """Return the speed of a unit now and in these places, 1 on a whole device of the first model.

    Args:
        unit: The pods.
        arriving: Their new places.
        table: What is in use, the unit included.
    """
    order = unit.job.spec.accelerators
    here = [place for place in places_of(unit) if place[0] in table.index]
    freed = without_reservations(table, here)
    now, then = (_device_shares(places, freed) for places in (here, arriving))
    nodes, targets = _nodes(here, table), _nodes(arriving, table)
    if all(wishes.has_speed(order, node) for node in (*nodes, *targets)):
        now, then = now / wishes.slowdown(order, nodes), then / wishes.slowdown(order, targets)
    return now, then


def best(unit: MovingPods) -> float:
    """Return the speed of a unit on whole devices of the fastest model that it states."""
    stated = [one.speed for one in unit.job.spec.accelerators if one.speed is not None]
    return max(stated) / stated[0] if stated else 1.0


def _device_shares(places: Sequence[TargetReservation], table: NodeTable) -> float:
    """Return the least part of a device that a pod has once all are in their places."""
    by_node: dict[NodeName, list[PodShape]] = {}
    for node, shape in places:
        by_node.setdefault(node, []).append(shape)
    parts = (device_share(own, table.index[node], table, own) for node, own in by_node.items())
    return min(parts, default=0.0)


def _nodes(places: Iterable[TargetReservation], table: NodeTable) -> list[Node]:
    return [table.nodes[table.index[node]] for node in sorted({node for node, _ in places})]


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
