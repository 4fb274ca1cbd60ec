"""Gangs for policy tests: members by role, and ``place`` with the defaults."""

from collections.abc import Sequence
from typing import Any

from extender.core.cluster.accelerator_order import Accelerator
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.placement import (
    GangParameters,
    NodePriceParameters,
    ScoringWeights,
    TopologyParameters,
)
from extender.core.placement import gang
from extender.core.placement.allocation import GangPod, Placed
from extender.core.placement.buckets import Relations
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.topology import Wanted
from shared.model import Node, NodeName, PodShape, Uid
from tests.fakes.builders import make_node, make_shape

PS_AND_WORKERS = Relations.parse("ps,worker", "ps")


def nodes(**cpus: int) -> list[Node]:
    """Nodes by name, with that many CPUs."""
    return [make_node(name, cpu=str(cpu)) for name, cpu in cpus.items()]


def members(role: str, count: int, shape: PodShape | None = None, **shaped: Any) -> list[GangPod]:
    """Pods ``<role>-<i>`` of one shape; their uids are their names."""
    shape = shape or make_shape(**shaped)
    return [GangPod(Uid(f"{role}-{i}"), f"{role}-{i}", role, i, shape) for i in range(count)]


def placed(role: str, index: int, node: str) -> Placed:
    return Placed(role, index, NodeName(node))


def place(
    pods: Sequence[GangPod],
    room: NodeTable,
    *,
    already: Sequence[Placed] = (),
    relations: Relations | None = None,
    topology_key: str = "",
    topology: Wanted | None = None,
    levels: TopologyParameters | None = None,
    params: GangParameters | None = None,
    weights: ScoringWeights | None = None,
    accelerators: Sequence[Accelerator] = (),
) -> Placement | Unschedulable:
    return gang.place(
        pods,
        already,
        room,
        relations=relations,
        topology_key=topology_key,
        topology=topology,
        levels=levels,
        params=params or GangParameters(),
        weights=weights or ScoringWeights(),
        pricing=NodePriceParameters(),
        accelerators=accelerators,
    )


def place_gang(pods: Sequence[GangPod], room: NodeTable, **options: Any) -> Placement:
    """The placement of a gang that must fit."""
    result = place(pods, room, **options)
    assert isinstance(result, Placement), result
    return result


def refused(pods: Sequence[GangPod], room: NodeTable, **options: Any) -> Unschedulable:
    """The reason of a gang that must not fit."""
    result = place(pods, room, **options)
    assert isinstance(result, Unschedulable), dict(result.nodes)
    return result


def by_node(placement: Placement) -> dict[str, list[str]]:
    """Pods of every used node."""
    found: dict[str, list[str]] = {}
    for uid, node in sorted(placement.nodes.items()):
        found.setdefault(node, []).append(uid)
    return dict(sorted(found.items()))
