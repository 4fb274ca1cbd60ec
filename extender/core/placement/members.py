"""The pods of a gang, grouped by what they need of the nodes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from extender.core.nodes.node_table import (
    BoolVector,
    IntMatrix,
    IntVector,
    NodeTable,
    conflicts,
    ports_open,
)
from extender.core.placement.buckets import task_order_key
from shared.model import HostPort, NodeName, PodShape, Uid

_NO_LIMIT: Final = 2**32
"""Slots for pods that ask for nothing: more than any gang, and sums of it stay integers."""


@dataclass(frozen=True)
class GangPod:
    """A pod to be placed."""

    uid: Uid
    name: str
    role: str
    index: int
    shape: PodShape


@dataclass(frozen=True)
class Placed:
    """A member of the same job that is bound or has a seat."""

    role: str
    index: int
    node: NodeName


@dataclass(frozen=True, eq=False)
class Need:
    """What the pods of one shape need; one object a shape, so that it can be a key.

    Attributes:
        shape: The shape.
        request: Amounts by column; a resource that no node has is left out.
        mask: Nodes that static features allow.
        open: Those of them where no host port is taken; none if no node has a resource asked for.
        slots: How many pods of this shape each node holds.
    """

    shape: PodShape
    request: IntVector
    mask: BoolVector
    open: BoolVector
    slots: IntVector

    @property
    def ports(self) -> tuple[HostPort, ...]:
        """Host ports; a node holds one pod that has any."""
        return self.shape.host_ports

    def slots_in(self, free: IntMatrix, allowed: BoolVector) -> IntVector:
        """Return how many pods of this shape each row of ``free`` holds; 0 where not allowed."""
        return _slots(self.shape, self.request, free, allowed)

    def clashes(self, other: "Need") -> bool:
        """Return True if a pod of this and one of the other cannot share a node for a host port."""
        return conflicts(self.ports, other.ports)


@dataclass(frozen=True, eq=False)
class Group:
    """Pods that are alike, in the order in which they take seats."""

    need: Need
    role: str
    pods: tuple[GangPod, ...]

    def __len__(self) -> int:
        return len(self.pods)

    def first(self, count: int) -> "Group":
        """Return the group of the first pods."""
        return replace(self, pods=self.pods[:count])

    def after(self, count: int) -> "Group":
        """Return the group without the first pods."""
        return replace(self, pods=self.pods[count:])


def in_order(pods: Iterable[GangPod]) -> tuple[GangPod, ...]:
    """Return the pods in an order that does not depend on the input's: ps, role, index, name."""
    return tuple(
        sorted(pods, key=lambda p: (task_order_key(p.role, 0, 0), p.role, p.index, p.name, p.uid))
    )


def needs(pods: Iterable[GangPod], room: NodeTable) -> dict[PodShape, Need]:
    """Return one need a shape, in the order of first use."""
    return {shape: _need(shape, room) for shape in dict.fromkeys(p.shape for p in pods)}


def groups(pods: Sequence[GangPod], by_shape: Mapping[PodShape, Need]) -> list[Group]:
    """Return the pods as groups of equal role and need, in the order of first use."""
    collected: dict[tuple[str, Need], list[GangPod]] = {}
    last: tuple[PodShape, Need] | None = None
    for pod in pods:
        if last is None or pod.shape is not last[0]:  # hashing a shape costs more than all the rest
            last = (pod.shape, by_shape[pod.shape])
        collected.setdefault((pod.role, last[1]), []).append(pod)
    return [Group(need, role, tuple(members)) for (role, need), members in collected.items()]


def members_on_node(placed: Iterable[Placed], room: NodeTable) -> IntVector:
    """Count the placed members by node; a node that is gone holds none."""
    counts = np.zeros(len(room.nodes), dtype=np.int64)
    for member in placed:
        node = room.index.get(member.node)
        if node is not None:
            counts[node] += 1
    return counts


def _need(shape: PodShape, room: NodeTable) -> Need:
    mask = room.classes.mask(shape)
    allowed = mask
    if shape.host_ports:
        allowed = mask & ports_open(shape.host_ports, room.ports)
    request, known = room.demand(shape), room.request(shape) is not None
    if not known:
        allowed = np.zeros_like(mask)
    return Need(shape, request, mask, allowed, _slots(shape, request, room.free, allowed))


def _slots(shape: PodShape, request: IntVector, free: IntMatrix, allowed: BoolVector) -> IntVector:
    slots = np.full(len(free), 1 if shape.host_ports else _NO_LIMIT, dtype=np.int64)
    for column in np.flatnonzero(request):
        np.minimum(slots, free[:, column] // request[column], out=slots)
    np.maximum(slots, 0, out=slots)
    slots[~allowed] = 0
    return slots
