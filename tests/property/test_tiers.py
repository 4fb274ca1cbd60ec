"""Laws of the nodes that a job is tried on first."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster.accelerator_order import order_of
from extender.core.parameters.placement import GangParameters, NodePriceParameters, ScoringWeights
from extender.core.placement.placement import Placement
from extender.core.placement.single_pod import SinglePodPlacements
from shared.model import PreferredTerm, Requirement
from tests.fakes.builders import make_node, make_room, make_shape, make_term
from tests.property.test_gang import any_way, fits_one_by_one
from tests.unit.core.policies.gangs import members, place, placed

GPU = "nvidia.com/gpu"
PRODUCT = "nvidia.com/gpu.product"
PRODUCTS = {
    "": {},
    "h100": {PRODUCT: "NVIDIA-H100-80GB-HBM3"},
    "a100": {PRODUCT: "NVIDIA-A100-SXM4-40GB"},
}
DISK = "disk"

node_rows = st.fixed_dictionaries(
    {
        "cpu": st.integers(0, 6),
        "gpu": st.integers(0, 3),
        "product": st.sampled_from(sorted(PRODUCTS)),
        "disk": st.sampled_from(["", "ssd", "nvme"]),
    }
)
rows = st.lists(node_rows, min_size=2, max_size=5)


def room_of(found):
    """A room of these nodes; a node without GPUs has no product either."""
    return make_room(
        *(
            make_node(
                f"n{i}",
                cpu=str(row["cpu"]),
                allocatable={GPU: str(row["gpu"])} if row["gpu"] else {},
                labels={DISK: row["disk"], **(PRODUCTS[row["product"]] if row["gpu"] else {})},
            )
            for i, row in enumerate(found)
        )
    )


def only(room, keep):
    """The room in which only some nodes have room."""
    used = np.where(np.array(keep)[:, None], room.used, room.allocatable)
    return room.replaced(used=used, ports=room.ports)


def nodes_of(result, room):
    return [room.nodes[room.index[name]] for name in result.nodes.values()]


def prefer(shape, **weights):
    """The shape with preferred node affinity: a weight for each value of the label."""
    terms = [
        PreferredTerm(weight, make_term(Requirement(DISK, "In", (value,))))
        for value, weight in weights.items()
    ]
    return replace(shape, preferred=tuple(terms))


@given(rows, st.integers(1, 3), st.integers(1, 4))
def test_pods_without_gpus_use_gpu_nodes_only_if_the_others_do_not_hold_them(found, cpu, count):
    room, gang = room_of(found), members("worker", count, make_shape(cpu=f"{cpu}"))
    result = place(gang, room)
    assert isinstance(result, Placement) == any_way(gang, room)
    if isinstance(result, Placement):
        fits = any_way(gang, only(room, [GPU not in node.allocatable for node in room.nodes]))
        assert fits == all(GPU not in node.allocatable for node in nodes_of(result, room))


@given(rows, st.integers(1, 2), st.integers(1, 4))
def test_a_gang_is_on_the_first_model_of_its_order_that_holds_it(found, gpus, count):
    room = room_of(found)
    gang = members("worker", count, make_shape(requests={GPU: str(gpus)}))
    result = place(gang, room, accelerators=order_of("h100>a100"))
    assert isinstance(result, Placement) == any_way(gang, room)
    for model in ("H100", "A100"):
        of_model = [model in node.labels.get(PRODUCT, "") for node in room.nodes]
        if any_way(gang, only(room, of_model)):
            assert all(model in node.labels[PRODUCT] for node in nodes_of(result, room))
            break


@given(rows, st.integers(1, 3), st.integers(1, 3))
def test_a_gang_is_on_the_nodes_of_the_highest_weight_that_hold_it(found, cpu, count):
    shape = prefer(make_shape(cpu=f"{cpu}", requests={GPU: "1"}), nvme=80, ssd=20)
    room, gang = room_of(found), members("worker", count, shape)
    result = place(gang, room)
    assert isinstance(result, Placement) == any_way(gang, room)
    for values in ({"nvme"}, {"nvme", "ssd"}):
        if any_way(gang, only(room, [node.labels[DISK] in values for node in room.nodes])):
            assert {node.labels[DISK] for node in nodes_of(result, room)} <= values
            break


@given(rows, st.integers(1, 3), st.booleans(), st.integers(1, 3))
def test_a_single_pod_goes_where_the_gang_rules_put_it(found, cpu, with_gpu, history):
    room, lone = room_of(found), SinglePodPlacements()
    shape = prefer(make_shape(cpu=f"{cpu}", requests={GPU: "1"} if with_gpu else {}), ssd=5)
    weights, pricing = ScoringWeights(), NodePriceParameters()
    for _ in range(history):
        pods = members("worker", 1, shape)
        expected = place(pods, room, params=GangParameters(spares=2))
        one = lone.place(pods[0], room, spare_count=2, weights=weights, pricing=pricing)
        assert (one is None) == (not isinstance(expected, Placement))
        if one is None:
            return
        assert isinstance(expected, Placement)
        assert one.nodes == expected.nodes
        assert one.spares == expected.spares
        assert one.terms == expected.terms
        room = one.node_table


@given(rows, st.integers(1, 3), st.integers(1, 2), st.integers(0, 4))
def test_members_on_a_gpu_node_draw_the_others_to_it(found, cpu, count, home):
    room = room_of(found)
    at = home % len(room.nodes)
    gang = members("worker", count, make_shape(cpu=f"{cpu}"))
    result = place(gang, room, already=[placed("worker", 9, f"n{at}")])
    if fits_one_by_one(gang, [at] * count, room) is not None:
        assert isinstance(result, Placement)
        assert set(result.nodes.values()) == {f"n{at}"}


def test_brute_force_finds_what_it_should():
    room = room_of([{"cpu": 2, "gpu": 0, "product": "", "disk": ""}] * 2)
    gang = members("worker", 2, make_shape(cpu="2"))
    assert any_way(gang, room)
    assert not any_way(gang, only(room, [True, False]))
    assert all(fits_one_by_one(gang, choice, room) is None for choice in product([0], repeat=2))
