"""Running jobs and heads on small tables: nodes with CPUs only."""

from collections.abc import Iterable, Mapping
from typing import Any

from extender.core.nodes.node_table import NodeTable
from extender.core.placement.placement import Placement
from extender.core.queue import backfill
from extender.core.queue.backfill import HeadReservation, PlaceHead, RunningJob
from shared.model import JobKey, NodeName, PodShape
from tests.fakes.builders import make_node, make_room, make_shape
from tests.unit.core.policies.gangs import members, place


def shape_of(cpu: int) -> PodShape:
    return make_shape(cpu=str(cpu), memory="0")


def pods_on(room: NodeTable, wanted: Mapping[str, int]) -> list[tuple[PodShape, int]]:
    """One pod a node, of so many CPUs."""
    return [(shape_of(cpu), room.index[NodeName(node)]) for node, cpu in wanted.items()]


def room_of(nodes: Mapping[str, int], taken: Iterable[Mapping[str, int]]) -> NodeTable:
    """Nodes with that many CPUs, and what pods take of them."""
    room = make_room(*(make_node(name, cpu=str(cpu)) for name, cpu in nodes.items()))
    return room.with_pods(pod for one in taken for pod in pods_on(room, one))


def tenant(room: NodeTable, row: Mapping[str, Any]) -> RunningJob:
    return RunningJob(
        job=JobKey(row["job"]),
        started_at=row.get("started_at", 0.0),
        ends_at=row.get("ends_at"),
        pods=pods_on(room, row["pods"]),
        endless=row.get("endless", False),
    )


def gang_of(count: int, cpu: int) -> PlaceHead:
    """What places a gang of ``count`` pods."""

    def after(room: NodeTable) -> NodeTable | None:
        found = place(members("worker", count, shape_of(cpu)), room)
        return found.node_table if isinstance(found, Placement) else None

    return after


def held(
    nodes: Mapping[str, int], rows: list[dict[str, Any]], place: PlaceHead, now: float
) -> tuple[NodeTable, HeadReservation | None]:
    """Return the room as it is now, and what is kept on it for the job ``holder``."""
    room = room_of(nodes, [row["pods"] for row in rows])
    tenants = [tenant(room, row) for row in rows]
    return room, backfill.reserve(JobKey("holder"), room, tenants, place, now)
