"""The allocation of one gang while it is made: its pods by need, and what is still free.

Pods that are alike form a group. Of equal nodes the one with the highest weighted sum of the terms
is taken, then the first by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np
from msgspec import Struct

from extender.core.nodes.node_table import (
    BoolVector,
    FloatVector,
    IntMatrix,
    IntVector,
    NodeTable,
    conflicts,
    ports_open,
)
from extender.core.parameters.placement import NodePriceParameters, ScoringWeights
from extender.core.placement import scoring
from extender.core.placement.buckets import task_order_key
from extender.core.placement.scoring import Terms
from extender.core.placement.wishes import Accelerators, preference
from shared.model import HostPort, NodeName, PodShape, Uid

DIGITS: Final = 9
"""Sums nearer than this are equal, so that names decide and not the order of additions."""

_NO_LIMIT: Final = 2**32
"""Slots for pods that request nothing: more than any gang, and sums of it stay integers."""


class GangPod(Struct, frozen=True, gc=False):
    """A pod to be placed."""

    uid: Uid
    name: str
    role: str
    index: int
    shape: PodShape


@dataclass(frozen=True)
class Placed:
    """A member of the same job that is bound or has a node."""

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
        open: Those of them where no host port is taken; none if no node has a requested resource.
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
    """Pods that are alike, in the order in which they take nodes."""

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


def needs(pods: Iterable[GangPod], table: NodeTable) -> dict[PodShape, Need]:
    """Return one need a shape, in the order of first use."""
    return {shape: _need(shape, table) for shape in dict.fromkeys(p.shape for p in pods)}


def groups(pods: Sequence[GangPod], by_shape: Mapping[PodShape, Need]) -> list[Group]:
    """Return the pods as groups of equal role and need, in the order of first use."""
    collected: dict[tuple[str, Need], list[GangPod]] = {}
    last: tuple[PodShape, Need] | None = None
    for pod in pods:
        if last is None or pod.shape is not last[0]:  # hashing a shape costs more than all the rest
            last = (pod.shape, by_shape[pod.shape])
        collected.setdefault((pod.role, last[1]), []).append(pod)
    return [Group(need, role, tuple(members)) for (role, need), members in collected.items()]


def members_on_node(placed: Iterable[Placed], table: NodeTable) -> IntVector:
    """Count the placed members by node; a node that is gone holds none."""
    counts = np.zeros(len(table.nodes), dtype=np.int64)
    for member in placed:
        node = table.index.get(member.node)
        if node is not None:
            counts[node] += 1
    return counts


def _need(shape: PodShape, table: NodeTable) -> Need:
    mask = table.classes.mask(shape)
    allowed = mask
    if shape.host_ports:
        allowed = mask & ports_open(shape.host_ports, table.ports)
    request, offered = table.demand(shape), table.request(shape) is not None
    if not offered:
        allowed = np.zeros_like(mask)
    return Need(shape, request, mask, allowed, _slots(shape, request, table.free, allowed))


def _slots(shape: PodShape, request: IntVector, free: IntMatrix, allowed: BoolVector) -> IntVector:
    slots = np.full(len(free), 1 if shape.host_ports else _NO_LIMIT, dtype=np.int64)
    for column in np.flatnonzero(request):
        np.minimum(slots, free[:, column] // request[column], out=slots)
    np.maximum(slots, 0, out=slots)
    slots[~allowed] = 0
    return slots


class Preference:
    """The terms of the gang's pods on one node table, computed once a shape."""

    def __init__(
        self,
        table: NodeTable,
        members: IntVector,
        *,
        domains: Sequence[str | None] | None,
        weights: ScoringWeights,
        pricing: NodePriceParameters,
        accelerators: Accelerators = (),
    ) -> None:
        self._room, self._members, self._domains = table, members, domains
        self._weights, self._pricing = weights, pricing
        self._accelerators = accelerators
        self._terms: dict[Need, Terms] = {}
        self._totals: dict[Need, FloatVector] = {}

    def terms(self, need: Need) -> Terms:
        """Return the terms of one pod on every node, before any pod of the gang has a node."""
        if need not in self._terms:
            self._terms[need] = scoring.terms(
                need.shape,
                self._room,
                members_on_node=self._members,
                bucket_score=None,
                candidates=need.slots > 0,
                pricing=self._pricing,
                domains=self._domains,
                preference=preference(need.shape, self._room, self._accelerators),
            )
        return self._terms[need]

    def total(self, groups: Sequence[Group]) -> FloatVector:
        """Return the weighted sum of every node, mean over the pods of the groups."""
        total = np.zeros(len(self._room.nodes))
        for group in groups:
            total += self._total(group.need) * len(group)
        mean: FloatVector = (total / max(1, sum(len(group) for group in groups))).round(DIGITS)
        return mean

    def _total(self, need: Need) -> FloatVector:
        if need not in self._totals:
            self._totals[need] = self.terms(need).total(self._weights)
        return self._totals[need]


class GangAllocation:
    """A gang's nodes, as far as they are chosen.

    Attributes:
        node_table: The nodes before the gang is placed.
        free: What is left, nodes x resources.
        members: How many of the job's pods each node holds, those placed here included.
        nodes: Node index of every pod placed here.
        affinity: How good the place of a pod was among those offered to its bucket, 0…1.
    """

    def __init__(
        self,
        table: NodeTable,
        needs: Iterable[Need],
        members: IntVector,
        within: BoolVector | None = None,
        tier: Mapping[Need, BoolVector] = MappingProxyType({}),
    ) -> None:
        """Begin without placed pods; nodes outside ``within`` hold none, None: all may.

        A ``tier`` says of some needs which nodes their pods may use.
        """
        self.node_table = table
        self.free: IntMatrix = table.free
        self.members = members.copy()
        self.nodes: dict[Uid, int] = {}
        self.affinity: dict[Uid, float] = {}
        self._ports: dict[int, frozenset[HostPort]] = {}
        self._open: dict[Need, BoolVector] = {need: need.open.copy() for need in needs}
        self._slots = {need: need.slots.copy() for need in self._open}
        for need in self._open:
            for mask in (within, tier.get(need)):
                if mask is not None:
                    self._open[need] &= mask
                    self._slots[need][~mask] = 0

    def copy(self) -> "GangAllocation":
        """Return an allocation of the same pods, to try on."""
        other = GangAllocation(self.node_table, (), self.members)
        other.free = self.free.copy()
        other.nodes, other.affinity = dict(self.nodes), dict(self.affinity)
        other._ports = dict(self._ports)
        other._open = {need: mask.copy() for need, mask in self._open.items()}
        other._slots = {need: slots.copy() for need, slots in self._slots.items()}
        return other

    def slots(self, need: Need) -> IntVector:
        """Return how many more pods of ``need`` each node holds."""
        return self._slots[need]

    def fill(self, groups: Sequence[Group]) -> IntMatrix:
        """Return how many pods of each group each node would take, the first group first."""
        taken = np.zeros((len(groups), len(self.free)), dtype=np.int64)
        free = self.free
        for i, group in enumerate(groups):
            slots = self._slots[group.need]
            if i:
                before = groups[i - 1]
                free = free - taken[i - 1][:, None] * before.need.request
                slots = group.need.slots_in(free, self._open[group.need])
                for j, earlier in enumerate(groups[:i]):
                    if group.need.clashes(earlier.need):
                        slots[taken[j] > 0] = 0
            np.minimum(slots, len(group), out=taken[i])
        return taken

    def place(self, group: Group, nodes: IntVector, counts: IntVector) -> Group:
        """Give nodes on distinct ``nodes``, ``counts`` each, to the first pods of the group.

        Returns:
            The pods that are left.
        """
        placed = int(counts.sum())
        for pod, node in zip(group.pods[:placed], np.repeat(nodes, counts).tolist(), strict=True):
            self.nodes[pod.uid] = node
        rows, counts = nodes[counts > 0], counts[counts > 0]
        self.free[rows] -= counts[:, None] * group.need.request
        self.members[rows] += counts
        self._take_ports(group.need, rows)
        for need, allowed in self._open.items():
            if group.need.clashes(need):
                allowed[rows] = False
            self._slots[need][rows] = need.slots_in(self.free[rows], allowed[rows])
        return group.after(placed)

    def place_on(self, groups: Sequence[Group], taken: IntMatrix, nodes: IntVector) -> list[Group]:
        """Place on these nodes what ``fill`` says; return what is left of the groups."""
        left = [
            self.place(group, nodes, row[nodes]) if row[nodes].any() else group
            for group, row in zip(groups, taken, strict=True)
        ]
        return [group for group in left if group.pods]

    def widen(self, within: BoolVector | None = None) -> None:
        """Let all nodes, or all ``within``, hold pods too from now on."""
        for need, allowed in self._open.items():
            allowed[:] = need.open if within is None else need.open & within
            taken = [node for node, ports in self._ports.items() if conflicts(need.ports, ports)]
            allowed[taken] = False
            self._slots[need] = need.slots_in(self.free, allowed)

    def left_over(self, groups: Sequence[Group], taken: IntMatrix) -> FloatVector:
        """Return the share of each node that stays free once it took ``taken``.

        Mean over the requested goods: the pod count is a limit.
        """
        rows = [group.need.request for group in groups]
        requests = np.array(rows, dtype=np.int64).reshape(len(rows), self.free.shape[1])
        requested: BoolVector = np.any(requests > 0, axis=0) & self.node_table.goods
        capacity = self.node_table.allocatable[:, requested]
        free = self.free[:, requested] - taken.T @ requests[:, requested]
        share = np.divide(free, capacity, out=np.ones(capacity.shape), where=capacity > 0)
        return share.mean(axis=1).round(9) if requested.any() else np.zeros(len(free))

    def after(self) -> NodeTable:
        """Return the node table with the gang in it."""
        ports = list(self.node_table.ports)
        for node, taken in self._ports.items():
            ports[node] |= taken
        return self.node_table.replaced(
            used=self.node_table.allocatable - self.free, ports=tuple(ports)
        )

    def _take_ports(self, need: Need, rows: IntVector) -> None:
        if need.ports:
            for node in rows.tolist():
                self._ports[node] = self._ports.get(node, frozenset()) | frozenset(need.ports)
