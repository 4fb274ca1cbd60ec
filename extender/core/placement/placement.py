"""The placement of a gang: nodes, spares, bind order, and the terms by which they were chosen.

Spares are other nodes where a pod would also fit once the gang is placed (docs/policies/gang.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from extender.core.nodes.node_table import NodeTable
from extender.core.placement.allocation import Preference, Seating
from extender.core.placement.buckets import Bucket, task_order_key
from extender.core.placement.domains import Domain, Places
from extender.core.placement.members import GangPod, Group
from shared.model import NodeName, Uid


def spares(
    groups: Sequence[Group],
    seating: Seating,
    preference: Preference,
    places: Places,
    count: int,
) -> Mapping[Uid, tuple[NodeName, ...]]:
    """Return up to ``count`` nodes for every seated pod on which one more pod like it fits.

    Nodes of the pod's own place first (where a place is more than a node), then the highest
    weighted sum, then the first name. Pods may share a spare: it is for one that lost its seat.
    """
    nodes = seating.room.nodes

    @cache
    def best(group: Group, place: int) -> list[int]:
        free = np.flatnonzero(seating.slots(group.need))
        keys = (-preference.total([group])[free], places.of_node[free] != place)
        ranked: list[int] = free[np.lexsort(keys)][: count + 1].tolist()
        return ranked

    @cache
    def nearest(group: Group, node: int) -> tuple[NodeName, ...]:
        place = -1 if places.are_nodes else int(places.of_node[node])
        return tuple(nodes[i].name for i in best(group, place) if i != node)[:count]

    return {
        pod.uid: nearest(group, seating.seats[pod.uid]) for group in groups for pod in group.pods
    }


@dataclass(frozen=True, eq=False)
class Placement:
    """Where every pod of a gang goes.

    Attributes:
        nodes: Node of every pod.
        order: Bind order: ps first, then bucket, then pod index.
        spares: Other nodes where the pod would fit with the whole gang placed, best first.
        rule: ``buckets``, ``one-node``, ``fewest-nodes`` or ``best-fit`` (docs/policies/gang.md),
            or ``fewest-domains`` (docs/policies/topology.md).
        room: The room with the gang in it.
        bucket_of: Bucket of every pod that has one.
        terms: The terms of each pod's node as they were before the gang was placed.
        domain: The domain of the topology that holds all; None if none was asked for, or found.
    """

    nodes: Mapping[Uid, NodeName]
    order: tuple[Uid, ...]
    spares: Mapping[Uid, tuple[NodeName, ...]]
    rule: str
    room: NodeTable
    bucket_of: Mapping[Uid, int]
    terms: Mapping[Uid, Mapping[str, float]]
    domain: Domain | None = None


def placement(
    rule: str,
    seating: Seating,
    groups: Sequence[Group],
    buckets: Sequence[Bucket],
    *,
    preference: Preference,
    places: Places,
    spare_count: int,
    domain: Domain | None = None,
) -> Placement:
    """Return what a full seating says."""
    nodes = seating.room.nodes
    bucket_of = {Uid(task.id): bucket.index for bucket in buckets for task in bucket.tasks}
    pods = [pod for group in groups for pod in group.pods]
    return Placement(
        nodes={pod.uid: nodes[seating.seats[pod.uid]].name for pod in pods},
        order=_bind_order(pods, bucket_of, len(buckets)),
        spares=spares(groups, seating, preference, places, spare_count),
        rule=rule,
        room=seating.after(),
        bucket_of=bucket_of,
        terms=_terms(groups, seating, preference),
        domain=domain,
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
    groups: Sequence[Group], seating: Seating, preference: Preference
) -> Mapping[Uid, Mapping[str, float]]:
    found: dict[Uid, Mapping[str, float]] = {}
    for group in groups:
        terms = preference.terms(group.need)
        for pod in group.pods:
            affinity = seating.affinity.get(pod.uid, 0.0)
            found[pod.uid] = {**terms.explain(seating.seats[pod.uid]), "affinity": affinity}
    return found
