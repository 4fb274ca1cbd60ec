"""The GPUs of the nodes: how many devices there are behind allocatable amounts.

The unit of a resource is not always a device. A MIG profile is a slice of one. Where devices are
shared by time slices or MPS, each is offered as several replicas. GPU feature discovery says so in
labels of the node, for ``nvidia.com/gpu`` and likewise for each MIG resource:

====================================  ==============================================================
``nvidia.com/gpu.count``              devices
``nvidia.com/gpu.replicas``           replicas of each; 0 or 1: not shared
``nvidia.com/gpu.sharing-strategy``   ``none``, ``time-slicing`` or ``mps``
``nvidia.com/gpu.product``            model, with ``-MIG-<profile>`` where the units are slices
``nvidia.com/mig.strategy``           ``single``: the units of ``nvidia.com/gpu`` are slices
====================================  ==============================================================

Source:
    NVIDIA k8s-device-plugin v0.17, ``internal/lm/resource.go`` (``baseLabeler``,
    ``getProductName``, ``getReplicas``) and ``internal/lm/mig-strategy.go``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from extender.core.nodes.device_columns import repeated
from extender.core.nodes.node_table import (
    BoolMatrix,
    BoolVector,
    IntMatrix,
    IntVector,
    NodeList,
    NodeTable,
)
from shared import accelerators
from shared.accelerators import PARTS, SHARED
from shared.model import Node

MOST_REPLICAS: Final = 1024
"""A label that says more is a mistake and counts for nothing."""

_MIG_STRATEGY: Final = "nvidia.com/mig.strategy"
_SLICE: Final = "-MIG-"


@dataclass(frozen=True, eq=False)
class Gpus:
    """The GPUs of a list of nodes; parts are of ``PARTS`` a device.

    Attributes:
        columns: Columns of the node table that are GPUs.
        parts: Nodes x these columns: parts of a device that one unit is there, rounded down.
        devices: Nodes x these columns: devices or slices whose replicas are offered; 0: not shared.
        unit: Parts of one unit by column of the table: the most on any node; 0 for other columns.
    """

    columns: IntVector
    parts: IntMatrix
    devices: IntMatrix
    unit: IntVector

    @property
    def shared(self) -> BoolMatrix:
        """Nodes x GPU columns: whether the units are replicas of devices."""
        mask: BoolMatrix = self.devices > 0
        return mask

    def on_node(self, amounts: IntMatrix) -> IntMatrix:
        """Return the parts of devices that amounts, nodes x resources, are on each node."""
        return amounts[:, self.columns] * self.parts

    def of(self, amounts: IntVector) -> int:
        """Return the parts of devices that amounts by resource are, wherever they are placed."""
        return int(amounts @ self.unit)

    def of_requests(self, requests: Mapping[str, int], resources: tuple[str, ...]) -> int:
        """Return the parts of devices that requests by name are; other names count by themselves.

        Args:
            requests: By resource.
            resources: Columns of the table.
        """
        units = dict(zip(resources, self.unit.tolist(), strict=True))
        return sum(n * units.get(name, accelerators.parts(name)) for name, n in requests.items())


def gpus(table: NodeTable) -> Gpus:
    """Return the GPUs of a node table's nodes."""
    return _gpus(NodeList(table.nodes), table.resources, repeated(table.counted_with))


def has_gpu(table: NodeTable) -> BoolVector:
    """Return the nodes that offer a GPU, a slice or a replica of one."""
    offered: BoolMatrix = table.allocatable[:, gpus(table).columns] > 0
    mask: BoolVector = np.any(offered, axis=1)
    return mask


def shared_devices(table: NodeTable) -> Mapping[int, Mapping[str, int]]:
    """Return the devices that are offered as replicas, by row of those nodes and resource."""
    found = gpus(table)
    names = [table.resources[column] for column in found.columns.tolist()]
    rows = np.flatnonzero(found.devices.any(axis=1)).tolist()
    counts = ((row, zip(names, found.devices[row].tolist(), strict=True)) for row in rows)
    return {row: {name: count for name, count in some if count} for row, some in counts}


@lru_cache(maxsize=8)
def _gpus(nodes: NodeList, resources: tuple[str, ...], again: frozenset[str]) -> Gpus:
    names = enumerate(resources)
    columns = [i for i, name in names if accelerators.is_gpu(name) and name not in again]
    shape = (len(nodes.nodes), len(columns))
    parts, devices = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, node in enumerate(nodes.nodes):
        for at, column in enumerate(columns):
            if node.allocatable.get(resources[column]):
                parts[row, at], devices[row, at] = _offered(node, resources[column])
    unit = np.zeros(len(resources), dtype=np.int64)
    for at, column in enumerate(columns):
        unit[column] = parts[:, at].max(initial=0) or accelerators.parts(resources[column])
    for array in (parts, devices, unit):
        array.setflags(write=False)
    return Gpus(np.array(columns, dtype=np.int64), parts, devices, unit)


def _offered(node: Node, resource: str) -> tuple[int, int]:
    """Return the parts of one unit on a node, and how many devices are shared; 0: none is."""
    labels, name = node.labels, resource.removesuffix(SHARED)
    parts = accelerators.parts(resource)
    if parts == PARTS and labels.get(_MIG_STRATEGY) == "single":
        profile = labels.get(f"{name}.product", "").partition(_SLICE)[2]
        parts = accelerators.profile_parts(profile.removesuffix("-SHARED").lower()) or parts
    replicas = _number(labels.get(f"{name}.replicas"))
    renamed = resource.endswith(SHARED)
    if replicas <= 1 or (not renamed and f"{resource}{SHARED}" in node.allocatable):
        return parts, 0
    count = _number(labels.get(f"{name}.count")) or node.allocatable[resource] // replicas
    return max(1, parts // replicas), max(1, count)


def _number(label: str | None) -> int:
    """Return the number that a label states; 0 where it states none that can be."""
    if label is None or not label.isascii() or not label.isdecimal():
        return 0
    return number if (number := int(label[:9])) <= MOST_REPLICAS else 0
