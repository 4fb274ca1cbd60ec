"""A single pod gets the node that the gang rules give it, whatever came before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.placement import GangParameters, NodePriceParameters, ScoringWeights
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.single_pod import SinglePodPlacements
from tests.property.test_gang import rooms, shapes
from tests.unit.core.policies.gangs import members, place

WEIGHTS = st.sampled_from(
    [ScoringWeights(), ScoringWeights(packing=0.0), ScoringWeights(price=9.0)]
)


@st.composite
def histories(draw):
    """A node table, some shapes, and single pods of them; each is placed, or is not."""
    kinds = draw(st.lists(shapes, min_size=1, max_size=3))
    asked = st.tuples(st.sampled_from(kinds), st.booleans(), st.booleans())
    return draw(rooms), draw(st.lists(asked, min_size=1, max_size=12))


def same(one: Placement, other: Placement) -> None:
    for name in ("nodes", "order", "spares", "rule", "bucket_of", "terms", "domain"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.node_table.used.tolist() == other.node_table.used.tolist()
    assert one.node_table.ports == other.node_table.ports


def elsewhere(room: NodeTable, shape) -> NodeTable:
    """Return the table after a foreign pod took room on the first node that has some."""
    fitting = room.feasible(shape).nonzero()[0].tolist()
    return room.with_pods([(shape, fitting[0])]) if fitting else room


def counts_only(shape) -> bool:
    """True if it asks for nothing but to be one more pod."""
    return all(amount == 0 for name, amount in shape.requests if name != "pods")


@given(histories(), WEIGHTS, st.integers(0, 3))
def test_a_single_pod_goes_where_the_gang_rules_put_it(history, weights, spares):
    room, asked = history
    lone, params = SinglePodPlacements(), GangParameters(spares=spares)
    for shape, stays, disturbed in asked:
        pods = members("worker", 1, shape)
        expected = place(pods, room, params=params, weights=weights)
        found = lone.place(
            pods[0], room, spare_count=spares, weights=weights, pricing=NodePriceParameters()
        )
        if found is not None:
            assert isinstance(expected, Placement)
            same(found, expected)
            room = found.node_table if stays else room
        else:
            assert isinstance(expected, Unschedulable) or shape.host_ports or counts_only(shape)
        room = elsewhere(room, shape) if disturbed else room


@given(rooms, shapes, st.data())
def test_only_offered_nodes_take_the_pod(room, shape, data):
    names = data.draw(st.sets(st.sampled_from([node.name for node in room.nodes])))
    within = room.feasible(shape)
    within &= [node.name in names for node in room.nodes]
    lone, rules = (
        SinglePodPlacements(),
        {"weights": ScoringWeights(), "pricing": NodePriceParameters()},
    )
    found = lone.node(shape, room, within=within, **rules)
    if found is None:
        assert not within.any() or shape.host_ports or counts_only(shape)
    else:
        assert found in names
    pod = members("worker", 1, shape)[0]
    after, fresh = (
        one.place(pod, room, spare_count=2, **rules) for one in (lone, SinglePodPlacements())
    )
    assert (after is None) == (fresh is None)
    if after is not None and fresh is not None:
        same(after, fresh)
        assert lone.node(shape, room, **rules) == fresh.nodes[pod.uid]


@given(rooms, st.lists(shapes, min_size=1, max_size=2), st.data())
def test_pods_taken_one_after_the_other_go_where_each_alone_would(room, kinds, data):
    names = data.draw(st.sets(st.sampled_from([node.name for node in room.nodes])))
    within = np.array([node.name in names for node in room.nodes])
    lone = SinglePodPlacements()
    rules = {"weights": ScoringWeights(), "pricing": NodePriceParameters(), "within": within}
    for shape in data.draw(st.lists(st.sampled_from(kinds), max_size=6)):
        alone = SinglePodPlacements().node(shape, room, **rules)
        taken = lone.take(shape, room, **rules)
        assert (alone is None) == (taken is None)
        if taken is not None:
            node, after = taken
            assert node == alone
            expected = room.with_pods([(shape, room.index[node])])
            assert after.used.tolist() == expected.used.tolist()
            assert after.ports == expected.ports
            room = after
