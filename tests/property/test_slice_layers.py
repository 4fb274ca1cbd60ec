"""Laws of slices that are divided again, against brute force on small clusters."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from extender.core.nodes.node_table import NodeTable
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.slice_parts import Layer, WantedSlices
from extender.core.placement.topology import Wanted
from shared.model import PodShape
from tests.property.test_topology import domain, mixed, node_lists, room_of, shapes
from tests.unit.core.policies.gangs import members, place, placed
from tests.unit.core.policies.racks import INDEX

LAYERS = st.sampled_from(
    [
        (("zone", 4), ("rack", 2)),
        (("zone", 2), ("rack", 1)),
        (("zone", 6), ("rack", 3)),
        (("rack", 4), ("hostname", 2)),
        (("rack", 3), ("hostname", 1)),
        (("zone", 4), ("hostname", 2)),
        (("zone", 4), ("rack", 2), ("hostname", 1)),
        (("zone", 4), ("rack", 4), ("hostname", 2)),
    ]
)
OfLayers = tuple[tuple[str, int], ...]


def wanted(layers: OfLayers) -> Wanted:
    slices = WantedSlices(tuple(Layer(INDEX[level], size) for level, size in layers))
    return Wanted(INDEX[layers[0][0]], required=False, slices=slices)


def slots(shape: PodShape, room: NodeTable, count: int) -> list[int]:
    """Return how many pods each node holds, found by placing them."""
    found = []
    for index in range(len(room.nodes)):
        here, held = room, 0
        while held < count and here.feasible(shape)[index]:
            here, held = here.with_pods([(shape, index)]), held + 1
        found.append(held)
    return found


def by_hand(of_nodes: Sequence[int], homes: Sequence[tuple[object, ...]], count: int,
            sizes: Sequence[int]) -> bool:  # fmt: skip
    """Return whether pods 0 to ``count`` - 1 find nodes, each slice in one domain of its layer.

    Args:
        of_nodes: How many pods each node holds.
        homes: The domain of each node by layer, None for none.
        count: How many pods.
        sizes: Of the slices, by layer.
    """

    def fits(pod: int, left: tuple[int, ...], at: tuple[tuple[object, ...], ...]) -> bool:
        if pod == count:
            return True
        for node, room in enumerate(left):
            same = all(
                pod % size == 0 or at[pod - 1][layer] == homes[node][layer]
                for layer, size in enumerate(sizes)
            )
            if room and same and None not in homes[node]:
                after = (*left[:node], room - 1, *left[node + 1 :])
                if fits(pod + 1, after, (*at, homes[node])):
                    return True
        return False

    return fits(0, tuple(of_nodes), ())


@given(node_lists, shapes, st.integers(1, 6), LAYERS)
def test_pods_alike_are_placed_if_and_only_if_every_slice_of_every_layer_finds_a_domain(
    rows: list[dict[str, object]], shape: PodShape, count: int, layers: OfLayers
) -> None:
    room = room_of(rows)
    names = [level for level, _ in layers]
    homes = [tuple(domain(room, node.name, level) for level in names) for node in room.nodes]
    result = place(members("worker", count, shape), room, topology=wanted(layers))
    possible = by_hand(slots(shape, room, count), homes, count, [size for _, size in layers])
    assert isinstance(result, Placement) == possible
    if isinstance(result, Placement):
        holds(result, room, layers, count)


def holds(result: Placement, room: NodeTable, layers: OfLayers, count: int) -> None:
    """Check that each slice of each layer is in one domain, with its spares."""
    for level, size in layers:
        for at in range(0, count, size):
            pods = [f"worker-{i}" for i in range(at, min(count, at + size))]
            nodes = [node for pod in pods for node in (result.nodes[pod], *result.spares[pod])]
            found = {domain(room, node, level) for node in nodes}
            assert len(found) == 1
            assert None not in found


@given(node_lists, shapes, st.integers(1, 6), LAYERS, st.data())
def test_pods_that_come_again_go_where_their_slices_are(
    rows: list[dict[str, object]],
    shape: PodShape,
    count: int,
    layers: OfLayers,
    data: st.DataObject,
) -> None:
    room = room_of(rows)
    whole = place(members("worker", count, shape), room, topology=wanted(layers))
    if isinstance(whole, Unschedulable):
        return
    gone = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    staying = [i for i in range(count) if i not in gone]
    here = room.with_pods([(shape, room.index[whole.nodes[f"worker-{i}"]]) for i in staying])
    already = [placed("worker", i, whole.nodes[f"worker-{i}"]) for i in staying]
    again = [pod for pod in members("worker", count, shape) if pod.index in gone]
    result = place(again, here, already=already, topology=wanted(layers))
    assert isinstance(result, Placement), result
    nodes = {i: result.nodes[f"worker-{i}"] if i in gone else whole.nodes[f"worker-{i}"]
             for i in range(count)}  # fmt: skip
    for level, size in layers:
        for number in range(-(-count // size)):
            found = {domain(room, nodes[i], level) for i in nodes if i // size == number}
            assert len(found) == 1


@given(node_lists, mixed(), LAYERS)
def test_slices_of_several_shapes_are_whole_in_every_layer(
    rows: list[dict[str, object]], gang: list, layers: OfLayers
) -> None:
    room = room_of(rows)
    result = place(gang, room, topology=wanted(layers))
    if isinstance(result, Unschedulable):
        return
    for level, size in layers:
        parts: dict[tuple[str, int], set[object]] = {}
        for pod in gang:
            found = domain(room, result.nodes[pod.uid], level)
            parts.setdefault((pod.role, pod.index // size), set()).add(found)
        assert all(len(found) == 1 and None not in found for found in parts.values())
