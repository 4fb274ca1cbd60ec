"""Rooms with a topology for policy tests: nodes named by zone and rack, gangs that want a level."""

from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.placement import LEVELS, TopologyParameters
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.topology import Wanted
from shared.model import Node
from tests.fakes.builders import make_node

ZONE, BLOCK, RACK = (level.label for level in LEVELS[:3])
INDEX = {level.name: i for i, level in enumerate(LEVELS)}


def racks(cpus: dict[str, list[int]]) -> list[Node]:
    """Nodes with so many CPUs by ``rack`` or ``zone/rack``; an empty rack is no label.

    They are named ``<rack>-<i>``, those of an empty rack ``loose-<i>``.
    """
    return [
        make_node(f"{place.rpartition('/')[2] or 'loose'}-{i}", cpu=str(cpu), labels=_labels(place))
        for place, sizes in cpus.items()
        for i, cpu in enumerate(sizes)
    ]


def wants(level: str, *, required: bool = True, anchors: tuple[int, ...] = ()) -> Wanted:
    return Wanted(INDEX[level], required, anchors)


def tries(count: int) -> TopologyParameters:
    return TopologyParameters(most_tries=count)


def used(result: Placement | Unschedulable, room: NodeTable, label: str = RACK) -> dict[str, int]:
    """How many pods each domain got."""
    assert isinstance(result, Placement), result
    counts: dict[str, int] = {}
    for name in result.nodes.values():
        value = room.nodes[room.index[name]].labels.get(label, "")
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))


def _labels(place: str) -> dict[str, str]:
    zone, _, rack = place.rpartition("/")
    return {key: value for key, value in ((ZONE, zone), (RACK, rack)) if value}
