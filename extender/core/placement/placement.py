"""The result of placing a gang: the node of every pod, or why there is none.

A placement also names spares, the bind order, and the terms by which the nodes were chosen. Spares
are other nodes where a pod would also fit once the gang is placed. Why a gang cannot be placed is
from a closed vocabulary (docs/policies/gang.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final

import numpy as np

from extender.core.cluster.reasons import Reason
from extender.core.nodes.node_table import BoolVector, IntVector, NodeTable
from extender.core.placement.allocation import GangAllocation, GangPod, Group, Need, Preference
from extender.core.placement.buckets import Bucket, task_order_key
from extender.core.placement.domains import Domain, Places
from shared.amounts import amount, resource_name
from shared.model import NodeName, Uid


def spares(
    groups: Sequence[Group],
    allocation: GangAllocation,
    preference: Preference,
    places: Places,
    count: int,
    *,
    held: bool = False,
) -> Mapping[Uid, tuple[NodeName, ...]]:
    """Return up to ``count`` nodes for every placed pod on which one more pod like it fits.

    Nodes of the pod's own place first (where a place is more than a node), then the highest
    weighted sum, then the first name. Pods may share a spare: it is for one that lost its node.
    ``held``: only nodes of the pod's own place.
    """
    nodes = allocation.node_table.nodes

    @cache
    def best(group: Group, place: int) -> list[int]:
        usable = allocation.slots(group.need) > 0
        free = np.flatnonzero(usable & (places.of_node == place) if held else usable)
        keys = (-preference.total([group])[free], places.of_node[free] != place)
        ranked: list[int] = free[np.lexsort(keys)][: count + 1].tolist()
        return ranked

    @cache
    def nearest(group: Group, node: int) -> tuple[NodeName, ...]:
        place = -1 if places.are_nodes else int(places.of_node[node])
        return tuple(nodes[i].name for i in best(group, place) if i != node)[:count]

    return {
        pod.uid: nearest(group, allocation.nodes[pod.uid]) for group in groups for pod in group.pods
    }


@dataclass(frozen=True, eq=False)
class Placement:
    """Where every pod of a gang goes.

    Attributes:
        nodes: Node of every pod.
        order: Bind order: ps first, then bucket, then pod index.
        spares: Other nodes where the pod would fit with the whole gang placed, best first.
        rule: ``buckets``, ``one-node``, ``fewest-nodes`` or ``best-fit`` (docs/policies/gang.md),
            ``equal-domains``, ``fewest-domains``, ``equal-slices``, ``slices`` or ``pod-sets``
            (docs/policies/topology.md).
        node_table: The nodes with the gang in it.
        bucket_of: Bucket of every pod that has one.
        terms: The terms of each pod's node as they were before the gang was placed.
        domain: The domain of the topology that holds all; None if there is none, or none is needed.
        held_in: The domain that must hold a pod with others: its whole gang, its role or its slice.
    """

    nodes: Mapping[Uid, NodeName]
    order: tuple[Uid, ...]
    spares: Mapping[Uid, tuple[NodeName, ...]]
    rule: str
    node_table: NodeTable
    bucket_of: Mapping[Uid, int]
    terms: Mapping[Uid, Mapping[str, float]]
    domain: Domain | None = None
    held_in: Mapping[Uid, Domain] = field(default_factory=dict)


def placement_of(
    rule: str,
    allocation: GangAllocation,
    groups: Sequence[Group],
    buckets: Sequence[Bucket],
    *,
    preference: Preference,
    places: Places,
    spare_count: int,
    domain: Domain | None = None,
    held_in: Mapping[Uid, Domain] = MappingProxyType({}),
    in_slices: bool = False,
) -> Placement:
    """Return what a full allocation says; spares of slices are nodes of the pod's own place."""
    nodes = allocation.node_table.nodes
    bucket_of = {Uid(task.id): bucket.index for bucket in buckets for task in bucket.tasks}
    pods = [pod for group in groups for pod in group.pods]
    return Placement(
        nodes={pod.uid: nodes[allocation.nodes[pod.uid]].name for pod in pods},
        order=_bind_order(pods, bucket_of, len(buckets)),
        spares=spares(groups, allocation, preference, places, spare_count, held=in_slices),
        rule=rule,
        node_table=allocation.after(),
        bucket_of=bucket_of,
        terms=_terms(groups, allocation, preference),
        domain=domain,
        held_in=held_in,
    )


def joined(parts: Sequence[Placement], pods: Sequence[GangPod], rule: str) -> Placement:
    """Return the placements of the sets of one gang, made one after the other, as one.

    Spares are those that a later set left free.
    """
    after, shapes = parts[-1].node_table, {pod.uid: pod.shape for pod in pods}
    bucket_of = {uid: bucket for part in parts for uid, bucket in part.bucket_of.items()}
    return Placement(
        nodes={uid: node for part in parts for uid, node in part.nodes.items()},
        order=_bind_order(pods, bucket_of, max(bucket_of.values(), default=-1) + 1),
        spares={
            uid: tuple(n for n in names if after.feasible(shapes[uid])[after.index[n]])
            for part in parts
            for uid, names in part.spares.items()
        },
        rule=rule,
        node_table=after,
        bucket_of=bucket_of,
        terms={uid: terms for part in parts for uid, terms in part.terms.items()},
        held_in={uid: domain for part in parts for uid, domain in part.held_in.items()},
    )


def _bind_order(
    pods: Sequence[GangPod], bucket_of: Mapping[Uid, int], last: int
) -> tuple[Uid, ...]:
    """Return the bind order; pods without a bucket come after those with one."""

    def key(pod: GangPod) -> tuple[tuple[int, int, int], str, str, Uid]:
        bucket = bucket_of.get(pod.uid, last)
        return (task_order_key(pod.role, bucket, pod.index), pod.role, pod.name, pod.uid)

    return tuple(pod.uid for pod in sorted(pods, key=key))


def _terms(
    groups: Sequence[Group], allocation: GangAllocation, preference: Preference
) -> Mapping[Uid, Mapping[str, float]]:
    """Return the terms of each pod; those of a group with the same node and affinity share them."""
    terms_of: dict[Uid, Mapping[str, float]] = {}
    for group in groups:
        terms = preference.terms(group.need)
        made: dict[tuple[int, float], Mapping[str, float]] = {}
        for pod in group.pods:
            node, affinity = allocation.nodes[pod.uid], allocation.affinity.get(pod.uid, 0.0)
            held = made.get((node, affinity))
            if held is None:
                held = made[node, affinity] = {**terms.explain(node), "affinity": affinity}
            terms_of[pod.uid] = held
    return terms_of


@dataclass(frozen=True)
class Unschedulable:
    """A gang cannot be placed.

    Attributes:
        reason: ``NoSuchNode``, ``GangDoesNotFit``, ``Fragmented`` or ``TopologyPlacementFailed``.
        detail: What is missing and how much of it, for people; changes with the nodes.
    """

    reason: Reason
    detail: str


def no_such_node(groups: Iterable[Group], table: NodeTable) -> Unschedulable | None:
    """Return NoSuchNode if a pod could run on no node even if every node were empty."""
    for group in groups:
        need = group.need
        detail = _unknown_resource(need, table) or _no_node_allowed(need) or _too_large(need, table)
        if detail:
            return Unschedulable(Reason.NO_SUCH_NODE, _clause(group, f" {detail}"))
    return None


def gang_does_not_fit(groups: Sequence[Group], table: NodeTable) -> Unschedulable | None:
    """Return GangDoesNotFit if the pods together request more than is free on nodes they may use.

    The pods of each group are counted alone, and all of them together; the resource of which the
    largest share is missing is named.
    """
    worst: tuple[float, str] = (0.0, "")
    for part in [[group] for group in groups] + [list(groups)]:
        usable = np.any([group.need.mask for group in part], axis=0)
        demand = np.sum([group.need.request * len(group) for group in part], axis=0)
        worst = max(worst, _shortage(demand, usable, table), key=lambda shortage: shortage[0])
    worst = max([worst, *map(_port_shortage, groups)], key=lambda shortage: shortage[0])
    return Unschedulable(Reason.GANG_DOES_NOT_FIT, worst[1]) if worst[1] else None


def fragmented(left: Sequence[Group], allocation: GangAllocation) -> Unschedulable:
    """Return Fragmented for the pods that the first try left without a node."""
    group = left[0]
    need, free = group.need, allocation.free[group.need.mask]
    requested = np.flatnonzero(need.request)
    enough = [
        int(np.count_nonzero(free[:, column] >= need.request[column])) for column in requested
    ]
    column = int(requested[np.argmin(enough)])
    resource = allocation.node_table.resources[column]
    most = max(int(free[:, column].max()), 0)
    request = int(need.request[column])
    short = (
        f"{amount(resource, request)} each, and the most left on a node is {amount(resource, most)}"
        f" ({amount(resource, request - most)} missing)"
        if most < request
        else "resources or host ports that no node has left together"
    )
    return Unschedulable(Reason.FRAGMENTED, _clause(group, f" without a node ask for {short}"))


_SINGULAR: Final = (
    (" ask for ", " asks for "),
    (" find no node that their ", " finds no node that its "),
    (" that they may use ", " that it may use "),
    (" each, and ", ", and "),
)


def _clause(group: Group, detail: str) -> str:
    """Return the sentence about the pods of a group; of one pod in the singular."""
    if len(group) == 1:
        for plural, singular in _SINGULAR:
            detail = detail.replace(plural, singular)
    return _pods(group) + detail


def _pods(group: Group) -> str:
    role = f"{group.role} " if group.role else ""
    return f"{len(group)} {role}pod{'s' if len(group) > 1 else ''}"


def _unknown_resource(need: Need, table: NodeTable) -> str | None:
    missing = [(name, value) for name, value in need.shape.requests if name not in table.resources]
    if not missing:
        return None
    return f"ask for {amount(*missing[0])} each, and no node has {missing[0][0]}"


def _no_node_allowed(need: Need) -> str | None:
    if need.mask.any():
        return None
    return "find no node that their selectors, affinity and tolerations allow"


def _too_large(need: Need, table: NodeTable) -> str | None:
    capacity = table.allocatable[need.mask]
    requested = np.flatnonzero(need.request)
    if (
        not requested.size
        or np.all(need.request[requested] <= capacity[:, requested], axis=1).any()
    ):
        return None
    largest = capacity.max(axis=0)
    for column in requested.tolist():
        request, most = int(need.request[column]), int(largest[column])
        if request > most:
            name = table.resources[column]
            return (
                f"ask for {amount(name, request)} each, and the largest node that they may use has "
                f"{amount(name, most)} ({amount(name, request - most)} missing)"
            )
    names = " and ".join(resource_name(table.resources[column]) for column in requested)
    return f"ask for more {names} than any node that they may use has together"


def _shortage(demand: IntVector, usable: BoolVector, table: NodeTable) -> tuple[float, str]:
    """Return the largest missing share and its text; (0, "") if nothing is missing."""
    free = np.maximum(table.free[usable], 0).sum(axis=0)
    missing = np.where(demand > 0, np.maximum(demand - free, 0) / np.maximum(demand, 1), 0.0)
    column = int(missing.argmax())
    if not missing[column]:
        return (0.0, "")
    name, needed, left = table.resources[column], int(demand[column]), int(free[column])
    empty = int(table.allocatable[usable][:, column].sum())
    never_enough = f", and {amount(name, empty)} if they were empty" if empty < needed else ""
    text = (
        f"{amount(name, needed)} needed, {amount(name, left)} free on the nodes that may be used"
        f"{never_enough} ({amount(name, needed - left)} missing)"
    )
    return (float(missing[column]), text)


def _port_shortage(group: Group) -> tuple[float, str]:
    nodes = int(np.count_nonzero(group.need.open))
    if not group.need.ports or len(group) <= nodes:
        return (0.0, "")
    ports = ", ".join(f"{port.protocol} {port.port}" for port in group.need.ports)
    missing = len(group) - nodes
    text = (
        f"{_pods(group)} need a node each for host port {ports}, {nodes} nodes have it free "
        f"({missing} missing)"
    )
    return (missing / len(group), text)
