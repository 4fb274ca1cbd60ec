"""Golden cases of the room that is kept for a job: the worked examples of its page."""

from typing import Any

from extender.core.nodes.node_table import NodeTable
from extender.core.queue import backfill
from extender.core.queue.backfill import HeadReservation
from tests.unit.core.policies.reservations import gang_of, held, pods_on


def run_reservation(case: dict[str, Any]) -> Any:
    place = gang_of(case["holder"]["pods"], case["holder"]["cpu"])
    room, found = held(case["nodes"], case["tenants"], place, case["now"])
    if found is None:
        return {"reservation": None}
    kept = (found.after.used - found.before.used)[:, room.resources.index("cpu")]
    names = [node.name for node in room.nodes]
    return {
        "starts_at": found.starts_at,
        "waits_for": list(found.waits_for),
        "kept": {name: cpu / 1000 for name, cpu in zip(names, kept.tolist(), strict=True) if cpu},
        "passes": [
            how(found, room, one["pods"], one["lasts"], case["now"], place)
            for one in case["passing"]
        ],
    }


def how(
    kept: HeadReservation,
    room: NodeTable,
    wanted: dict[str, int],
    lasts: float | None,
    now: float,
    place: backfill.PlaceHead,
) -> str:
    """Say by which rule, if by any, pods with these reservations may pass."""
    if backfill.gone_in_time(kept, now, lasts):
        return "gone in time"
    pods = pods_on(room, wanted)
    free = backfill.open_nodes(kept, room).with_pods(pods).free
    if (free >= 0).all():
        return "beside its reservations"
    return "with other reservations" if backfill.beside(kept, pods, place) else "no"


RUNS = {"reservation": run_reservation}
